// What JSON and the checks of the binary dialect need to know of the schema, worked out once from its descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/dialect_fwd.h"

namespace tidemark {

/// How a value is written and read.
enum class ValueKind : std::uint8_t { u32, u64, i32, i64, boolean, text, bytes, word, message };

/// An enum's words: KIND_MESSAGE of enum Kind is "message".
struct EnumPlan {
  std::string_view name;                           // "Kind"
  std::vector<std::pair<int, std::string>> words;  // in the schema's order

  /// The word of a value, or nullptr for a number the schema does not name.
  const std::string* word_of(int number) const;
  /// The value of a word, or nullptr.
  const int* number_of(std::string_view word) const;
  /// "normal, high, low", for error texts.
  std::string list() const;
};

struct MessagePlan;

struct FieldPlan {
  const google::protobuf::FieldDescriptor* descriptor = nullptr;
  std::string_view name;  // as in the schema
  std::string key;        // "\"name\":"
  ValueKind kind = ValueKind::u64;
  bool repeated = false;
  int oneof = -1;                        // number of the oneof it belongs to within its message, -1: none
  const EnumPlan* words = nullptr;       // kind word
  const MessagePlan* message = nullptr;  // kind message
};

struct MessagePlan {
  const google::protobuf::Descriptor* descriptor = nullptr;
  std::string_view name;          // "SendRequest"
  std::vector<FieldPlan> fields;  // in the schema's order, at most 64
  // What the parser of the binary dialect leaves to be checked: places of messages, texts and words among the fields,
  // those of a oneof aside, and the oneofs.
  std::vector<std::size_t> checked;
  std::vector<const google::protobuf::OneofDescriptor*> oneofs;

  /// The field of this name, or nullptr. `hint` is where to look first (fields mostly come in order).
  const FieldPlan* find(std::string_view field, std::size_t hint = 0) const;
  std::size_t index_of(const FieldPlan& field) const { return static_cast<std::size_t>(&field - fields.data()); }
};

/// The plan of a message of the schema. Made at the first call, immutable afterwards; thread-safe.
const MessagePlan& plan_of(const google::protobuf::Message& message);
/// The same by name ("SendRequest"); nullptr when the schema has none.
const MessagePlan* plan_named(std::string_view name);
/// Every message of the schema, in its order.
const std::vector<MessagePlan>& all_plans();

/// A place inside a message while it is read: a chain of names and indexes that lives on the stack and becomes text
/// only when there is something to say.
struct Place {
  const Place* up = nullptr;
  std::string_view name = {};  // of a field, or empty: an element
  std::size_t index = 0;
};

/// "body.attachments[1].size"; a name is cut after 64 bytes, between whole characters. nullptr gives "".
std::string path_of(const Place* place);

}  // namespace tidemark
