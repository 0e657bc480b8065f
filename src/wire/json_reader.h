// JSON text to a message of the schema, strictly.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "wire/dialect_fwd.h"

namespace tidemark {

/// What to do with a name or a word that the schema does not know.
enum class Unknown : std::uint8_t { refuse, ignore };

struct JsonReadOptions {
  Unknown fields = Unknown::refuse;   // ignored ones must still be JSON
  Unknown words = Unknown::refuse;    // of enums; an ignored one leaves the field unset
  Unknown entries = Unknown::refuse;  // a Message with a fault in it; an ignored one is left empty, and must be JSON
  int max_depth = 16;                 // objects and arrays inside each other, at most 64
};

/// Replaces the message by what the text says. Null means absent; 64-bit integers come as numbers or decimal strings;
/// the schema's rules are those of proto/tidemark.proto. Errors carry the path of the field at fault
/// ("body.attachments[1].size"):
/// - MALFORMED: not JSON (RFC 8259), a wrong type, a doubled key, two members of one oneof, invalid UTF-8, a lone
///   surrogate, a NUL in a string, anything behind the value;
/// - OUT_OF_RANGE: a number that does not fit its type, a word that its enum lacks;
/// - UNKNOWN_FIELD; TOO_DEEP for too much nesting. How much there is of it, the limits on its bytes say.
/// After an error the message is valid with unspecified content. Never throws; thread-safe.
Result<void> read_json(std::string_view text, google::protobuf::Message& message, const JsonReadOptions& options = {});

}  // namespace tidemark
