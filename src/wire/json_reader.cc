#include "wire/json_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <utility>

#include "wire/json_field.h"
#include "wire/json_scan.h"
#include "wire/json_schema.h"

namespace tidemark {
namespace {

using google::protobuf::Message;

/// One reading. Functions answer false once error_ is set.
class Reader {
 public:
  Reader(std::string_view text, const JsonReadOptions& options)
      : scanner_(text), options_(options), limits_{.max_depth = options.max_depth} {}

  bool read(Message& message) {
    scanner_.skip_space();
    return read_object(message, plan_of(message), nullptr, 0) && (scanner_.finish() || syntax(nullptr));
  }
  Error take_error() { return std::move(error_); }

 private:
  /// What an object has held so far.
  struct Seen {
    std::uint64_t fields = 0;
    std::uint64_t oneofs = 0;
    std::size_t next = 0;  // the field that most likely comes next
  };

  bool fail(const Place* place, ErrorCode code, std::string detail = {}) {
    error_ = Error{code, path_of(place), std::move(detail)};
    return false;
  }
  bool syntax(const Place* place) {
    error_ = scanner_.fault();
    error_.field = path_of(place);
    return false;
  }
  bool stored(const Place* place, Result<void> result) {
    if (result) return true;
    error_ = std::move(result).error();
    error_.field = path_of(place);
    return false;
  }
  /// The value here is not of the kind wanted; a value that is no JSON at all is told as such.
  bool wrong_type(const Place* place, const char* wanted) {
    if (!scanner_.skip_value(limits_, 0)) return syntax(place);
    return fail(place, ErrorCode::MALFORMED, wanted);
  }
  bool deeper(const Place* place, int depth) { return depth < limits_.max_depth || fail(place, ErrorCode::TOO_DEEP); }

  bool read_object(Message& message, const MessagePlan& plan, const Place* place, int depth) {
    if (scanner_.peek() != '{') return wrong_type(place, "An object must stand here.");
    if (!deeper(place, depth)) return false;
    scanner_.take_if('{');
    if (scanner_.take_if('}')) return true;
    Seen seen;
    do {
      if (!read_member(message, plan, place, depth + 1, seen)) return false;
    } while (scanner_.take_if(','));
    return scanner_.take('}', "a comma or } must stand here") || syntax(place);
  }

  bool read_member(Message& message, const MessagePlan& plan, const Place* up, int depth, Seen& seen) {
    JsonString key;
    if (!scanner_.read_key(key, limits_)) return syntax(up);
    const std::string_view name = key.value(scratch_);
    const FieldPlan* field = plan.find(name, seen.next);
    if (!field) return unknown_member(name, up, depth);
    const Place place{.up = up, .name = field->name};
    const std::size_t index = plan.index_of(*field);
    if (seen.fields >> index & 1) return fail(&place, ErrorCode::MALFORMED, "The field stands here twice.");
    seen.fields |= std::uint64_t{1} << index;
    seen.next = index + 1;
    scanner_.skip_space();
    if (scanner_.peek() == 'n') return scanner_.read_literal("null") || syntax(&place);
    if (field->oneof >= 0) {
      if (seen.oneofs >> field->oneof & 1)
        return fail(&place, ErrorCode::MALFORMED, "Only one of these fields may be given at a time.");
      seen.oneofs |= std::uint64_t{1} << field->oneof;
    }
    return field->repeated ? read_array(message, *field, &place, depth) : read_value(message, *field, &place, depth);
  }

  bool unknown_member(std::string_view name, const Place* up, int depth) {
    const Place place{.up = up, .name = name.empty() ? "\"\"" : name};
    if (options_.fields == Unknown::refuse) return fail(&place, ErrorCode::UNKNOWN_FIELD);
    return scanner_.skip_value(limits_, depth) || syntax(&place);
  }

  bool read_array(Message& message, const FieldPlan& field, const Place* up, int depth) {
    if (scanner_.peek() != '[') return wrong_type(up, "An array must stand here.");
    if (!deeper(up, depth)) return false;
    scanner_.take_if('[');
    if (scanner_.take_if(']')) return true;
    Place place{.up = up};
    do {
      scanner_.skip_space();
      if (!read_value(message, field, &place, depth + 1)) return false;
      ++place.index;
    } while (scanner_.take_if(','));
    return scanner_.take(']', "a comma or ] must stand here") || syntax(up);
  }

  bool read_entry(Message& entry, const MessagePlan& plan, const Place* place, int depth) {
    const JsonScanner before = scanner_;
    if (read_object(entry, plan, place, depth)) return true;
    entry.Clear();
    scanner_ = before;
    return scanner_.skip_value(limits_, depth) || syntax(place);
  }

  bool read_value(Message& message, const FieldPlan& field, const Place* place, int depth) {
    switch (field.kind) {
      case ValueKind::message: {
        const auto* reflection = message.GetReflection();
        Message* inner = field.repeated ? reflection->AddMessage(&message, field.descriptor)
                                        : reflection->MutableMessage(&message, field.descriptor);
        if (options_.entries == Unknown::ignore && field.message->name == "Message")
          return read_entry(*inner, *field.message, place, depth);
        return read_object(*inner, *field.message, place, depth);
      }
      case ValueKind::text:
      case ValueKind::bytes:
      case ValueKind::word:
        return read_string(message, field, place);
      case ValueKind::boolean:
        return read_flag(message, field, place);
      default:
        return read_whole(message, field, place);
    }
  }

  bool read_string(Message& message, const FieldPlan& field, const Place* place) {
    if (scanner_.peek() != '"') return wrong_type(place, "A string must stand here.");
    JsonString string;
    if (!scanner_.read_string(string)) return syntax(place);
    if (field.kind == ValueKind::text) {
      std::string text;
      if (string.escaped)
        string.unescape(text);
      else
        text.assign(string.raw);
      store_text(message, field, std::move(text));
      return true;
    }
    const std::string_view value = string.value(scratch_);
    if (field.kind == ValueKind::bytes) return stored(place, store_bytes(message, field, value));
    if (options_.words == Unknown::ignore && !field.words->number_of(value)) return true;
    return stored(place, store_word(message, field, value));
  }

  bool read_flag(Message& message, const FieldPlan& field, const Place* place) {
    const char c = scanner_.peek();
    if (c != 't' && c != 'f') return wrong_type(place, "true or false must stand here.");
    if (!scanner_.read_literal(c == 't' ? "true" : "false")) return syntax(place);
    store_flag(message, field, c == 't');
    return true;
  }

  bool read_whole(Message& message, const FieldPlan& field, const Place* place) {
    constexpr const char* kWanted = "A whole number must stand here.";
    const char c = scanner_.peek();
    if (c == '"') {
      JsonString string;
      if (!scanner_.read_string(string)) return syntax(place);
      return stored(place, store_whole(message, field, string.value(scratch_)));
    }
    if (c != '-' && (c < '0' || c > '9')) return wrong_type(place, kWanted);
    JsonNumber number;
    if (!scanner_.read_number(number)) return syntax(place);
    if (!number.whole) return fail(place, ErrorCode::MALFORMED, kWanted);
    return stored(place, store_whole(message, field, number.text));
  }

  JsonScanner scanner_;
  const JsonReadOptions& options_;
  JsonLimits limits_;
  std::string scratch_;
  Error error_{ErrorCode::MALFORMED};
};

}  // namespace

Result<void> read_json(std::string_view text, Message& message, const JsonReadOptions& options) {
  message.Clear();
  Reader reader(text, options);
  if (!reader.read(message)) return std::unexpected(reader.take_error());
  return {};
}

}  // namespace tidemark
