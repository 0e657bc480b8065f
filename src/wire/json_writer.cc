#include "wire/json_writer.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <climits>
#include <cstdint>

#include "wire/json_base64.h"
#include "wire/json_schema.h"

namespace tidemark {
namespace {

using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;  // what every JSON reader holds exactly

template <typename T>
void write_number(T value, std::string& out) {
  char digits[24];
  const auto [end, fault] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

void write_quoted_unless(bool exact, auto value, std::string& out) {
  if (!exact) out += '"';
  write_number(value, out);
  if (!exact) out += '"';
}

void write_long(std::uint64_t value, std::string& out) {
  write_quoted_unless(value < kExact, value, out);
}

void write_long(std::int64_t value, std::string& out) {
  constexpr auto kMost = static_cast<std::int64_t>(kExact);
  write_quoted_unless(value < kMost && value > -kMost, value, out);
}

void write_word(int number, const EnumPlan& plan, std::string& out) {
  const std::string* word = plan.word_of(number);
  if (!word) return write_number(number, out);
  out += '"';
  out += *word;
  out += '"';
}

void write_bytes(std::string_view bytes, std::string& out) {
  out += '"';
  append_base64(bytes, out);
  out += '"';
}

void write_message(const Message& message, const MessagePlan& plan, std::string& out);

void write_value(const Message& message, const Reflection& reflection, const FieldPlan& field, std::string& out) {
  const auto* descriptor = field.descriptor;
  std::string scratch;
  switch (field.kind) {
    case ValueKind::u32:
      return write_number(reflection.GetUInt32(message, descriptor), out);
    case ValueKind::u64:
      return write_long(reflection.GetUInt64(message, descriptor), out);
    case ValueKind::i32:
      return write_number(reflection.GetInt32(message, descriptor), out);
    case ValueKind::i64:
      return write_long(reflection.GetInt64(message, descriptor), out);
    case ValueKind::boolean:
      out += reflection.GetBool(message, descriptor) ? "true" : "false";
      return;
    case ValueKind::text:
      return write_json_string(reflection.GetStringReference(message, descriptor, &scratch), out);
    case ValueKind::bytes:
      return write_bytes(reflection.GetStringReference(message, descriptor, &scratch), out);
    case ValueKind::word:
      return write_word(reflection.GetEnumValue(message, descriptor), *field.words, out);
    case ValueKind::message:
      if (!reflection.HasField(message, descriptor)) {
        out += "null";
        return;
      }
      return write_message(reflection.GetMessage(message, descriptor), *field.message, out);
  }
}

void write_element(const Message& message, const Reflection& reflection, const FieldPlan& field, int i,
                   std::string& out) {
  const auto* descriptor = field.descriptor;
  std::string scratch;
  switch (field.kind) {
    case ValueKind::u32:
      return write_number(reflection.GetRepeatedUInt32(message, descriptor, i), out);
    case ValueKind::u64:
      return write_long(reflection.GetRepeatedUInt64(message, descriptor, i), out);
    case ValueKind::i32:
      return write_number(reflection.GetRepeatedInt32(message, descriptor, i), out);
    case ValueKind::i64:
      return write_long(reflection.GetRepeatedInt64(message, descriptor, i), out);
    case ValueKind::boolean:
      out += reflection.GetRepeatedBool(message, descriptor, i) ? "true" : "false";
      return;
    case ValueKind::text:
      return write_json_string(reflection.GetRepeatedStringReference(message, descriptor, i, &scratch), out);
    case ValueKind::bytes:
      return write_bytes(reflection.GetRepeatedStringReference(message, descriptor, i, &scratch), out);
    case ValueKind::word:
      return write_word(reflection.GetRepeatedEnumValue(message, descriptor, i), *field.words, out);
    case ValueKind::message:
      return write_message(reflection.GetRepeatedMessage(message, descriptor, i), *field.message, out);
  }
}

void write_fields(const Message& message, const MessagePlan& plan, int first_number, int last_number,
                  std::string& out) {
  const Reflection& reflection = *message.GetReflection();
  bool comma = false;
  for (const FieldPlan& field : plan.fields) {
    const int number = field.descriptor->number();
    if (number < first_number || number > last_number) continue;
    if (field.oneof >= 0 && !reflection.HasField(message, field.descriptor)) continue;
    if (comma) out += ',';
    comma = true;
    out += field.key;
    if (!field.repeated) {
      write_value(message, reflection, field, out);
      continue;
    }
    out += '[';
    const int size = reflection.FieldSize(message, field.descriptor);
    for (int i = 0; i < size; ++i) {
      if (i > 0) out += ',';
      write_element(message, reflection, field, i, out);
    }
    out += ']';
  }
}

void write_message(const Message& message, const MessagePlan& plan, std::string& out) {
  out += '{';
  write_fields(message, plan, 0, INT_MAX, out);
  out += '}';
}

void write_escape(unsigned char c, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

void write_json(const Message& message, std::string& out) {
  write_message(message, plan_of(message), out);
}

void write_json_fields(const Message& message, int first_number, int last_number, std::string& out) {
  write_fields(message, plan_of(message), first_number, last_number, out);
}

void write_json_string(std::string_view text, std::string& out) {
  out += '"';
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, start, i - start);
    write_escape(c, out);
    start = i + 1;
  }
  out.append(text, start, text.size() - start);
  out += '"';
}

}  // namespace tidemark
