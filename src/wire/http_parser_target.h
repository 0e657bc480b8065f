// The request target: its path and query, decoded. Part of the HTTP parser.
#pragma once

#include <string_view>

#include "base/error.h"
#include "wire/http_parser.h"

namespace tidemark {

/// Fills path, segments and query from a target in origin form ("/path?query") or absolute form ("http://host/path").
/// In queries '+' is a space, as HTML forms write it. MALFORMED, with the field "path" or the parameter's name, for bad
/// escapes, invalid UTF-8, NUL and other forms.
Result<void> read_target(std::string_view target, HttpRequest& request);

}  // namespace tidemark
