// Random messages of the schema for tests, by reflection: whatever the schema holds is tried.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "tidemark.pb.h"
#include "wire/json_schema.h"

namespace tidemark {

class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : dice_(seed) {}

  void fill(google::protobuf::Message& message) {
    const MessagePlan& plan = plan_of(message);
    for (const FieldPlan& field : plan.fields) {
      if (field.oneof >= 0 && below(plan.fields.size()) != 0) continue;
      if (below(4) == 0) continue;
      const std::uint64_t count = field.repeated ? below(4) : 1;
      for (std::uint64_t i = 0; i < count; ++i) fill_field(message, field);
    }
  }

  template <typename T>
  T make() {
    T message;
    fill(message);
    return message;
  }

  /// A new message of a random type.
  std::unique_ptr<google::protobuf::Message> any() {
    const MessagePlan& plan = all_plans()[below(all_plans().size())];
    std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(plan.descriptor)->New());
    fill(*message);
    return message;
  }

  std::uint64_t below(std::uint64_t bound) { return dice_() % bound; }

  /// Characters that tend to break things: every class of UTF-8 length, quotes, controls, but not NUL.
  std::string text() {
    static const std::string kPieces[] = {"a",
                                          "Z9",
                                          "\"",
                                          "\\",
                                          "\n",
                                          "\x01",
                                          "\x7f",
                                          "é",
                                          "中文",
                                          "😀",
                                          "\u2028",
                                          "\u200b",
                                          "</script>",
                                          "\\u0041",
                                          "user_1",
                                          "\xed\x9f\xbf",
                                          "\xee\x80\x80",
                                          "\xf4\x8f\xbf\xbf",
                                          "        plain      "};
    std::string out;
    for (std::uint64_t n = below(6); n > 0; --n) out += kPieces[below(std::size(kPieces))];
    return out;
  }

 private:
  /// Below 2^53, as the contract says.
  std::uint64_t number() {
    switch (below(4)) {
      case 0:
        return below(3);
      case 1:
        return (std::uint64_t{1} << 53) - 1 - below(3);
      case 2:
        return below(100'000);
      default:
        return dice_() >> (11 + below(40));
    }
  }
  std::string bytes() {
    std::string out;
    for (std::uint64_t n = below(9); n > 0; --n) out += static_cast<char>(dice_());
    return out;
  }

  void fill_field(google::protobuf::Message& message, const FieldPlan& field) {
    const auto* reflection = message.GetReflection();
    const auto* descriptor = field.descriptor;
    const bool many = field.repeated;
    const auto sign = [&](std::uint64_t n) {
      return below(2) ? static_cast<std::int64_t>(n) : -static_cast<std::int64_t>(n);
    };
    switch (field.kind) {
      case ValueKind::u32: {
        const auto value = static_cast<std::uint32_t>(number());
        return many ? reflection->AddUInt32(&message, descriptor, value)
                    : reflection->SetUInt32(&message, descriptor, value);
      }
      case ValueKind::u64:
        return many ? reflection->AddUInt64(&message, descriptor, number())
                    : reflection->SetUInt64(&message, descriptor, number());
      case ValueKind::i32: {
        const auto value = static_cast<std::int32_t>(number());
        return many ? reflection->AddInt32(&message, descriptor, value)
                    : reflection->SetInt32(&message, descriptor, value);
      }
      case ValueKind::i64:
        return many ? reflection->AddInt64(&message, descriptor, sign(number()))
                    : reflection->SetInt64(&message, descriptor, sign(number()));
      case ValueKind::boolean:
        return many ? reflection->AddBool(&message, descriptor, below(2))
                    : reflection->SetBool(&message, descriptor, below(2));
      case ValueKind::text:
        return many ? reflection->AddString(&message, descriptor, text())
                    : reflection->SetString(&message, descriptor, text());
      case ValueKind::bytes:
        return many ? reflection->AddString(&message, descriptor, bytes())
                    : reflection->SetString(&message, descriptor, bytes());
      case ValueKind::word: {
        const int value = field.words->words[below(field.words->words.size())].first;
        return many ? reflection->AddEnumValue(&message, descriptor, value)
                    : reflection->SetEnumValue(&message, descriptor, value);
      }
      case ValueKind::message:
        return fill(many ? *reflection->AddMessage(&message, descriptor)
                         : *reflection->MutableMessage(&message, descriptor));
    }
  }

  std::mt19937_64 dice_;
};

/// Equality in the sense of the wire.
inline bool same(const google::protobuf::Message& a, const google::protobuf::Message& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace tidemark
