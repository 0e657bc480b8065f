// The check of Body.data, the JSON text that is kept and returned byte for byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// Is this a JSON text (RFC 8259) that may be kept? MALFORMED: it is none, is not UTF-8, has a lone surrogate or a NUL,
/// or a key twice in one object (compared as characters, not as written). TOO_DEEP: nested deeper than max_depth
/// (objects and arrays together, at most 64) or more than max_keys keys in all. Numbers may be of any size: they are
/// never converted. The field of every error is "body.data". Linear time, constant stack; thread-safe.
Result<void> check_data(std::string_view json, int max_depth = 32, std::uint32_t max_keys = 1000);

}  // namespace tidemark
