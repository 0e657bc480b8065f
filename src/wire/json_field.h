// Values as they come in text (JSON, paths, query parameters) put into a message's fields, with exact ranges.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "wire/json_schema.h"

namespace tidemark {

// Each sets the field, or appends to it when it is repeated. Errors come without a field name. REQUIRES: the field is
// of the message and of a fitting kind.

/// A whole number in decimal, sign and digits alone. MALFORMED for anything else ("1e3", "007", ""), OUT_OF_RANGE when
/// it does not fit the field's type, however long it is.
Result<void> store_whole(google::protobuf::Message& message, const FieldPlan& field, std::string_view digits);
/// OUT_OF_RANGE for a word that the enum lacks; the detail lists the words.
Result<void> store_word(google::protobuf::Message& message, const FieldPlan& field, std::string_view word);
/// Base64, see json_base64.h. MALFORMED.
Result<void> store_bytes(google::protobuf::Message& message, const FieldPlan& field, std::string_view base64);
void store_text(google::protobuf::Message& message, const FieldPlan& field, std::string text);
void store_flag(google::protobuf::Message& message, const FieldPlan& field, bool value);

/// By the field's kind, from text without quotes: a path segment or a query parameter. Errors as above.
Result<void> store_plain(google::protobuf::Message& message, const FieldPlan& field, std::string_view text);

/// The value of a decimal number of the form above within [least, most]; errors as store_whole.
Result<std::uint64_t> parse_whole(std::string_view digits, std::uint64_t least, std::uint64_t most);

}  // namespace tidemark
