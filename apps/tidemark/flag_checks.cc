#include "apps/tidemark/flag_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace tidemark {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

std::string join(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : between).append(word);
  return out;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[=](const std::string& text) {
            std::uint64_t number = 0;
            const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
            const bool whole = failed == std::errc() && end == text.data() + text.size();
            if (whole && number >= least && number <= most) return std::string();
            // That it must not be above the largest there is helps only who came near it.
            const bool open = most == kLargest && failed != std::errc::result_out_of_range;
            const std::string range =
                open ? fmt::format("of {} or more", least) : fmt::format("from {} to {}", least, most);
            return fmt::format("must be a whole number {}, not \"{}\"", range, text);
          },
          ""};
}

CLI::Validator not_empty() {
  return {[](const std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, ""};
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  return {[=](const std::string& text) {
            if (std::ranges::find(words, text) != words.end()) return std::string();
            return fmt::format("must be one of {}, not \"{}\"", join(words, ", "), text);
          },
          "{" + join(words, ",") + "}"};
}

}  // namespace tidemark
