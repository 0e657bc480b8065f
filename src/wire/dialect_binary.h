// Checks of the binary dialect that protobuf's parser does not make, so that a fault is told as the JSON reader tells
// it. Part of dialect.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "wire/json_schema.h"

namespace tidemark {

/// The first string that holds NUL (MALFORMED) or enum outside the schema (OUT_OF_RANGE), with its path.
/// `look_for_nul` false: there is no NUL byte in the encoded form, so none in a string.
Result<void> check_parsed(const google::protobuf::Message& message, bool look_for_nul);

/// What is wrong with bytes that protobuf refused for this message: MALFORMED with the path of the string that is no
/// UTF-8, or of the field that is cut or badly formed.
Error explain_binary_fault(std::string_view bytes, const MessagePlan& plan);

/// The bytes with each Message that does not parse left empty, so that what surrounds it can be read; nothing when the
/// fault lies elsewhere.
std::optional<std::string> without_broken_entries(std::string_view bytes, const MessagePlan& plan);

/// The frame's id in bytes that do not parse, as far as it comes before the fault; otherwise 0.
std::uint64_t find_binary_id(std::string_view bytes);

}  // namespace tidemark
