// Header fields, and the bytes of messages to send.
#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "wire/http_parser.h"

namespace tidemark {
namespace {

constexpr std::string_view kEndOfLine = "\r\n";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

void put_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  const std::size_t start = out.size();
  out.append(value);
  // A line break here would let a value invent fields of its own.
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(start), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  out.append(kEndOfLine);
}

void put_fields(std::string& out, std::span<const HttpHeaderView> fields) {
  for (const auto& [name, value] : fields) put_field(out, name, value);
}

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

}  // namespace

void HttpHeaders::add(std::string_view name, std::string_view value) {
  for (auto& [known, joined] : fields_) {
    if (!equal_ignoring_case(known, name)) continue;
    joined.append(", ").append(value);
    return;
  }
  fields_.emplace_back(name, value);
}

std::optional<std::string_view> HttpHeaders::get(std::string_view name) const {
  for (const auto& [known, value] : fields_)
    if (equal_ignoring_case(known, name)) return value;
  return std::nullopt;
}

bool HttpHeaders::has_token(std::string_view name, std::string_view token) const {
  std::string_view list = get(name).value_or("");
  for (std::string_view element = next_list_element(list); !element.empty(); element = next_list_element(list))
    if (equal_ignoring_case(element, token)) return true;
  return false;
}

std::optional<std::string_view> HttpRequest::param(std::string_view name) const {
  for (const auto& [known, value] : query)
    if (known == name) return value;
  return std::nullopt;
}

std::string http_response(const HttpReply& reply) {
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(reply.status));
  out.append(reason.data(), reason.size()).append(kEndOfLine);
  put_fields(out, reply.headers);
  if (may_have_body(reply.status)) {
    if (!reply.content_type.empty()) put_field(out, "Content-Type", reply.content_type);
    put_field(out, "Content-Length", std::to_string(reply.body.size()));
  }
  if (reply.status != 101) put_field(out, "Connection", reply.keep_alive ? "keep-alive" : "close");
  out.append(kEndOfLine);
  if (may_have_body(reply.status) && !reply.to_head) out.append(reply.body);
  return out;
}

std::string http_request(const HttpCall& call) {
  std::string out;
  out.append(call.method).append(" ").append(call.target).append(" HTTP/1.1\r\n");
  put_field(out, "Host", call.host);
  put_fields(out, call.headers);
  if (!call.content_type.empty()) put_field(out, "Content-Type", call.content_type);
  const bool body_is_usual = call.method != "GET" && call.method != "HEAD";
  if (body_is_usual || !call.body.empty()) put_field(out, "Content-Length", std::to_string(call.body.size()));
  if (!call.keep_alive) put_field(out, "Connection", "close");
  out.append(kEndOfLine).append(call.body);
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view next_list_element(std::string_view& list) {
  const std::size_t start = list.find_first_not_of(", \t");
  if (start == std::string_view::npos) {
    list = {};
    return {};
  }
  list.remove_prefix(start);
  std::string_view element = list.substr(0, list.find(','));
  list.remove_prefix(element.size());
  element.remove_suffix(element.size() - 1 - element.find_last_not_of(" \t"));
  return element;
}

}  // namespace tidemark
