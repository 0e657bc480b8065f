// Numbers and names that must not be mixed up are types of their own.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tidemark {

/// A 64-bit number with a meaning; arithmetic only by a plain count.
template <typename Tag>
struct Number {
  std::uint64_t value = 0;

  constexpr Number() = default;
  constexpr explicit Number(std::uint64_t v) : value(v) {}
  constexpr auto operator<=>(const Number&) const = default;
  constexpr Number operator+(std::uint64_t n) const { return Number(value + n); }
  constexpr Number operator-(std::uint64_t n) const { return Number(value - n); }
  constexpr std::uint64_t operator-(Number other) const { return value - other.value; }
  constexpr explicit operator bool() const { return value != 0; }
};

/// Place of an entry in its conversation's log: 1, 2, 3 ...; 0 stands before the first.
using Seq = Number<struct SeqTag>;
/// Place of a change in a user's index: 1, 2, 3 ...; 0 stands before the first.
using Mark = Number<struct MarkTag>;

/// A name with a meaning: an opaque UTF-8 string.
template <typename Tag>
struct Name {
  std::string value;

  Name() = default;
  explicit Name(std::string v) : value(std::move(v)) {}
  explicit Name(std::string_view v) : value(v) {}
  explicit Name(const char* v) : value(v) {}
  auto operator<=>(const Name&) const = default;
  bool empty() const { return value.empty(); }
};

/// A user: 1 to 64 bytes of UTF-8 without control characters, chosen by the application.
using UserId = Name<struct UserIdTag>;
/// A conversation as shown everywhere: `1001_2002` or `group_5001`; always canonical (core/conversation_id.h).
using ConversationId = Name<struct ConversationIdTag>;
/// A device of a user: 1 to 64 bytes, chosen by the client, stable over its re-installs.
using DeviceId = Name<struct DeviceIdTag>;
/// An installation of a client: random, kept by the client; never hardware data.
using InstallId = Name<struct InstallIdTag>;

}  // namespace tidemark

template <typename Tag>
struct std::hash<tidemark::Number<Tag>> {
  std::size_t operator()(const tidemark::Number<Tag>& n) const { return std::hash<std::uint64_t>{}(n.value); }
};
template <typename Tag>
struct std::hash<tidemark::Name<Tag>> {
  std::size_t operator()(const tidemark::Name<Tag>& n) const { return std::hash<std::string>{}(n.value); }
};
