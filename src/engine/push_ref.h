// One item of a push on its way to a link.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/results.h"

namespace tidemark {

/// What all receivers of an entry share, with room for its encoded form in each dialect (filled by the gateway).
struct SharedEntry {
  ConversationId conversation;
  std::shared_ptr<const Entry> entry;
  std::array<std::string, 2> encoded;
};

/// What a receiver's own fields are in a dialect: what stands before the shared bytes, and behind them.
struct EncodedHeader {
  std::string front;
  std::string back;
};

/// What the links of a user and his recent changes share, with room for its encoded form (filled by the gateway).
struct SharedItem : PushItem {
  std::array<std::optional<EncodedHeader>, 2> headers;
};
inline std::shared_ptr<SharedItem> share(PushItem item) {
  auto shared = std::make_shared<SharedItem>();
  static_cast<PushItem&>(*shared) = std::move(item);
  return shared;
}

struct PushRef {
  std::shared_ptr<SharedItem> item;     // never null
  std::shared_ptr<SharedEntry> shared;  // null: only the receiver's state changed
  std::size_t size_bytes = 0;           // about what it takes on the wire
};

}  // namespace tidemark
