#include "wire/json_field.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "wire/json_base64.h"

namespace tidemark {
namespace {

using google::protobuf::Message;

bool is_whole(std::string_view digits) {
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return false;
  for (char c : digits)
    if (c < '0' || c > '9') return false;
  return true;
}

template <typename T>
Result<T> parse(std::string_view digits, T least, T most) {
  if (!is_whole(digits)) return fail(ErrorCode::MALFORMED, {}, "A whole number in decimal digits must stand here.");
  if (std::is_unsigned_v<T> && digits == "-0") digits = "0";
  T value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc{} || end != digits.data() + digits.size() || value < least || value > most)
    return fail(ErrorCode::OUT_OF_RANGE, {}, fmt::format("It must lie between {} and {}.", least, most));
  return value;
}

template <typename T>
Result<T> parse_as(std::string_view digits) {
  return parse<T>(digits, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

}  // namespace

Result<std::uint64_t> parse_whole(std::string_view digits, std::uint64_t least, std::uint64_t most) {
  return parse<std::uint64_t>(digits, least, most);
}

Result<void> store_whole(Message& message, const FieldPlan& field, std::string_view digits) {
  const auto* reflection = message.GetReflection();
  const auto* descriptor = field.descriptor;
  switch (field.kind) {
    case ValueKind::u32: {
      TM_ASSIGN(const auto value, parse_as<std::uint32_t>(digits));
      field.repeated ? reflection->AddUInt32(&message, descriptor, value)
                     : reflection->SetUInt32(&message, descriptor, value);
      return {};
    }
    case ValueKind::u64: {
      TM_ASSIGN(const auto value, parse_as<std::uint64_t>(digits));
      field.repeated ? reflection->AddUInt64(&message, descriptor, value)
                     : reflection->SetUInt64(&message, descriptor, value);
      return {};
    }
    case ValueKind::i32: {
      TM_ASSIGN(const auto value, parse_as<std::int32_t>(digits));
      field.repeated ? reflection->AddInt32(&message, descriptor, value)
                     : reflection->SetInt32(&message, descriptor, value);
      return {};
    }
    case ValueKind::i64: {
      TM_ASSIGN(const auto value, parse_as<std::int64_t>(digits));
      field.repeated ? reflection->AddInt64(&message, descriptor, value)
                     : reflection->SetInt64(&message, descriptor, value);
      return {};
    }
    default:
      check_failed("a field of whole numbers", __FILE__, __LINE__, "store_whole was given another field");
  }
}

Result<void> store_word(Message& message, const FieldPlan& field, std::string_view word) {
  const int* number = field.words->number_of(word);
  if (!number) return fail(ErrorCode::OUT_OF_RANGE, {}, fmt::format("Allowed are: {}.", field.words->list()));
  const auto* reflection = message.GetReflection();
  field.repeated ? reflection->AddEnumValue(&message, field.descriptor, *number)
                 : reflection->SetEnumValue(&message, field.descriptor, *number);
  return {};
}

Result<void> store_bytes(Message& message, const FieldPlan& field, std::string_view base64) {
  std::string bytes;
  if (!decode_base64(base64, bytes))
    return fail(ErrorCode::MALFORMED, {}, "Base64 with the standard alphabet and padding must stand here.");
  store_text(message, field, std::move(bytes));
  return {};
}

void store_text(Message& message, const FieldPlan& field, std::string text) {
  const auto* reflection = message.GetReflection();
  field.repeated ? reflection->AddString(&message, field.descriptor, std::move(text))
                 : reflection->SetString(&message, field.descriptor, std::move(text));
}

void store_flag(Message& message, const FieldPlan& field, bool value) {
  const auto* reflection = message.GetReflection();
  field.repeated ? reflection->AddBool(&message, field.descriptor, value)
                 : reflection->SetBool(&message, field.descriptor, value);
}

Result<void> store_plain(Message& message, const FieldPlan& field, std::string_view text) {
  switch (field.kind) {
    case ValueKind::text:
      store_text(message, field, std::string(text));
      return {};
    case ValueKind::bytes:
      return store_bytes(message, field, text);
    case ValueKind::word:
      return store_word(message, field, text);
    case ValueKind::boolean:
      if (text != "true" && text != "false") return fail(ErrorCode::MALFORMED, {}, "Allowed are: true, false.");
      store_flag(message, field, text == "true");
      return {};
    case ValueKind::message:
      check_failed("a plain field", __FILE__, __LINE__, "a message cannot come as plain text");
    default:
      return store_whole(message, field, text);
  }
}

}  // namespace tidemark
