#include "wire/http_parser_target.h"

#include <cstdint>

#include "base/utf8.h"

namespace tidemark {
namespace {

enum class Plus : std::uint8_t { is_plus, is_space };

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> percent_decode(std::string_view text, std::string_view field, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return fail(ErrorCode::MALFORMED, std::string(field), "'%' must be followed by two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::is_space) {
      c = ' ';
    }
    if (c == '\0') return fail(ErrorCode::MALFORMED, std::string(field), "NUL is not allowed");
    out.push_back(c);
  }
  if (!valid_utf8(out)) return fail(ErrorCode::MALFORMED, std::string(field), "not valid UTF-8 once decoded");
  return out;
}

/// Cuts the front up to the separator, which is dropped, off the text.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view front = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return front;
}

Result<void> read_path(std::string_view path, HttpRequest& request) {
  path.remove_prefix(1);
  request.path = "/";
  if (path.empty()) return {};
  for (;;) {
    const bool last = path.find('/') == std::string_view::npos;
    TM_ASSIGN(std::string segment, percent_decode(cut(path, '/'), "path", Plus::is_plus));
    request.path += segment;
    request.segments.push_back(std::move(segment));
    if (last) return {};
    request.path += '/';
  }
}

Result<void> read_query(std::string_view query, HttpRequest& request) {
  while (!query.empty()) {
    std::string_view value = cut(query, '&');
    if (value.empty()) continue;
    TM_ASSIGN(std::string name, percent_decode(cut(value, '='), "query", Plus::is_space));
    TM_ASSIGN(std::string decoded, percent_decode(value, name, Plus::is_space));
    request.query.emplace_back(std::move(name), std::move(decoded));
  }
  return {};
}

}  // namespace

Result<void> read_target(std::string_view target, HttpRequest& request) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    target = path == std::string_view::npos ? "/" : target.substr(path);
    if (target.front() == '?') {
      request.path = "/";
      return read_query(target.substr(1), request);
    }
    break;
  }
  if (target.empty() || target.front() != '/' || target.find('#') != std::string_view::npos)
    return fail(ErrorCode::MALFORMED, "path", "give a path that begins with '/' and has no '#'");
  const std::string_view path = cut(target, '?');
  TM_TRY(read_path(path, request));
  return read_query(target, request);
}

}  // namespace tidemark
