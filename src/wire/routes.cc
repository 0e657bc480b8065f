#include "wire/routes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace tidemark {
namespace {

/// Cuts the next segment off a path template.
std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

bool fits(std::string_view path, PathSegments segments) {
  for (const std::string& segment : segments) {
    if (path.empty()) return false;
    const std::string_view wanted = next_segment(path);
    if (wanted.starts_with('{') ? segment.empty() : wanted != segment) return false;
  }
  return path.empty();
}

}  // namespace

std::expected<const Route*, RouteMiss> match_route(std::string_view method, PathSegments path) {
  std::string allow;
  for (const Route& route : routes()) {
    if (!fits(route.path, path)) continue;
    if (route.method == method) return &route;
    if (!allow.empty()) allow += ", ";
    allow += route.method;
  }
  if (allow.empty()) return std::unexpected(RouteMiss{Error{ErrorCode::NOT_FOUND}, {}});
  Error error{ErrorCode::METHOD_NOT_ALLOWED, {}, "It takes " + allow + "."};
  return std::unexpected(RouteMiss{std::move(error), std::move(allow)});
}

std::optional<std::string_view> query_param(QueryParams query, std::string_view name) {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

}  // namespace tidemark
