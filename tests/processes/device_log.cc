#include "processes/device_log.h"

#include <cstdlib>
#include <sstream>

namespace tidemark::testing {

const std::string& LogLine::word(std::size_t number) const {
  static const std::string nothing;
  return number < words.size() ? words[number] : nothing;
}

std::uint64_t LogLine::number(std::size_t number) const {
  return std::strtoull(word(number).c_str(), nullptr, 10);
}

LogLine parse_log_line(const std::string& text) {
  LogLine line{text, {}};
  std::istringstream words(text);
  std::string word;
  words >> word;  // the time
  while (words >> word) line.words.push_back(word);
  if (line.words.empty()) line.words.emplace_back();
  return line;
}

std::vector<LogLine> DeviceLog::read_on() {
  if (!in_.is_open()) in_.open(path_);
  if (!in_.is_open()) return {};
  in_.clear();
  std::vector<LogLine> lines;
  for (std::string text; std::getline(in_, text);) {
    rest_ += text;
    if (in_.eof()) break;  // its end is yet to come
    lines.push_back(parse_log_line(rest_));
    rest_.clear();
  }
  return lines;
}

}  // namespace tidemark::testing
