// One item of a push on its way to a link.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "core/results.h"

namespace tidemark {

/// What all receivers of an entry share, with room for its encoded form in each dialect (filled by the gateway).
struct SharedEntry {
  ConversationId conversation;
  std::shared_ptr<const Entry> entry;
  std::array<std::string, 2> encoded;
};

struct PushRef {
  std::shared_ptr<const PushItem> item;  // shared by the user's links and his recent changes; never null
  std::shared_ptr<SharedEntry> shared;   // null: only the receiver's state changed
  std::size_t size_bytes = 0;            // about what it takes on the wire
};

}  // namespace tidemark
