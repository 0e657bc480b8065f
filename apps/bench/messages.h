// The messages that the works send: texts that begin with the message's number, so that whoever receives one knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "wire/dialect_fwd.h"

namespace tidemark::bench {

class MessageMaker {
 public:
  explicit MessageMaker(int text_bytes);

  /// Fills `frame` (reused from call to call) with send request `id` of message `index` to a user.
  void fill(pb::ClientFrame& frame, std::uint64_t id, const std::string& to, std::uint32_t index);
  /// The text of message `index`, until the next is asked for.
  const std::string& text(std::uint32_t index);
  /// A fresh client_msg_id: a UUIDv7 of now.
  std::string new_id();

 private:
  std::string text_;
  std::mt19937_64 random_;
};

/// The number at the beginning of a text made by MessageMaker.
std::optional<std::uint32_t> index_of(std::string_view text);

/// The least text that has room for the number.
inline constexpr int kTextBytesMin = 8;

}  // namespace tidemark::bench
