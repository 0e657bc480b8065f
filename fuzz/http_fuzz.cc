// The HTTP parsers on any bytes. The first byte chooses the parser and how the rest is cut; the requests seen must not
// depend on the cut, and what they hold must be within the limits.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "wire/http_parser.h"

namespace {

using namespace tidemark;

constexpr HttpLimits kLimits{.header_bytes = 600, .target_bytes = 200, .body_bytes = 300};

std::string described(const HttpRequest& request) {
  TM_CHECK(request.target.size() <= kLimits.target_bytes, "target is too large");
  TM_CHECK(request.body.size() <= kLimits.body_bytes, "body is too large");
  TM_CHECK(request.path.starts_with('/') && valid_utf8(request.path), "path is not clean");
  TM_CHECK(request.path.find('\0') == std::string::npos, "path holds NUL");
  std::string text = request.method + " " + request.path;
  for (const std::string& segment : request.segments) text += " /" + segment;
  for (const auto& [name, value] : request.query) {
    TM_CHECK(valid_utf8(name) && valid_utf8(value), "query is not UTF-8");
    text += " ?" + name + "=" + value;
  }
  for (const auto& [name, value] : request.headers.all()) text += "\n" + name + ": " + value;
  return text + "\n" + request.body + (request.keep_alive ? "k" : "c") + (request.is_upgrade ? "u\n" : "\n");
}

/// All requests up to the first refusal. When a header that is wrong but not complete is refused does depend on the
/// cut: Beast looks at once at the first piece, then again at the end of the header.
std::string requests(std::string_view bytes, std::size_t chunk_bytes) {
  HttpParser parser(kLimits);
  std::string seen;
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    const std::string chunk(bytes.substr(at, chunk_bytes));  // a buffer of its own, so that the sanitizer sees its end
    std::string_view input = chunk;
    while (!input.empty()) {
      const HttpProgress progress = parser.feed(input);
      if (progress == HttpProgress::ready) seen += described(parser.take());
      if (progress == HttpProgress::refused) return seen;
      TM_CHECK(progress == HttpProgress::ready || input.empty(), "input was left");
    }
  }
  return seen;
}

void responses(std::string_view bytes, std::size_t chunk_bytes, HttpResponseParser::AnswerTo answer_to) {
  HttpResponseParser parser(answer_to, kLimits);
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    const std::string chunk(bytes.substr(at, chunk_bytes));
    std::string_view input = chunk;
    while (!input.empty())
      if (parser.feed(input) == HttpProgress::ready) TM_CHECK(parser.take().body.size() <= kLimits.body_bytes, "body");
  }
  if (parser.finish() == HttpProgress::ready) (void)parser.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t chunk_bytes = 1 + (data[0] >> 2);
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] & 1) {
    responses(bytes, chunk_bytes,
              data[0] & 2 ? HttpResponseParser::AnswerTo::head : HttpResponseParser::AnswerTo::other);
  } else {
    const std::string cut = requests(bytes, chunk_bytes), whole = requests(bytes, bytes.size() + 1);
    TM_CHECK(cut == whole, "the cut changes the outcome");
  }
  return 0;
}
