// A message of the schema to JSON text.
#pragma once

#include <string>
#include <string_view>

#include "wire/dialect_fwd.h"

namespace tidemark {

/// Appends the message as one JSON object on one line, in the schema's order: every field even when 0, false, "" or
/// [], an absent message as null, a oneof's member only when it is set; enums as words (a number the schema does not
/// name as that number); bytes as base64; 64-bit integers as numbers, beyond 2^53 as strings.
/// REQUIRES: strings are valid UTF-8. Thread-safe.
void write_json(const google::protobuf::Message& message, std::string& out);

/// Appends the fields numbered first_number to last_number alone, as `"name":value,"name":value` without braces, so
/// that an object can be put together from parts.
void write_json_fields(const google::protobuf::Message& message, int first_number, int last_number, std::string& out);

/// Appends text as a JSON string: only quotes, backslashes and control characters below U+0020 are escaped.
void write_json_string(std::string_view text, std::string& out);

}  // namespace tidemark
