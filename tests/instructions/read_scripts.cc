// Reading: what a device asks for when it comes back, and when a conversation is opened.
#include <string>

#include "base/check.h"
#include "tests/instructions/device.h"
#include "tests/instructions/scripts.h"
#include "tests/instructions/world.h"
#include "tidemark.pb.h"

namespace tidemark::instructions {
namespace {

std::string friend_name(std::size_t number) {
  return "friend" + std::to_string(100 + number);
}

/// So many messages from each of so many friends, one of each in a round.
void friends_write(World& world, std::size_t friends, std::size_t each) {
  for (std::size_t i = 0; i < each; ++i) {
    for (std::size_t number = 0; number < friends; ++number) world.send(friend_name(number), "alice");
    world.round();
    world.clock().pass(kSecondMs);
  }
}

}  // namespace

std::uint64_t sync_backlog(Meter& meter, const std::string& directory) {
  constexpr std::size_t kConversations = 50;
  constexpr std::size_t kEach = 20;
  World world(meter, {.directory = directory});
  friends_write(world, kConversations, 1);
  pb::Cursor cursor;
  {
    const Device phone(world, "alice", "phone", Dialect::binary);
    cursor = phone.cursor();
  }
  world.round();
  friends_write(world, kConversations, kEach);
  world.settle();
  Device phone(world, "alice", "phone", Dialect::binary);
  const auto pull = [&] {
    std::uint64_t messages = 0;
    std::string token;
    do {
      pb::ClientFrame sync;
      *sync.mutable_sync()->mutable_cursor() = cursor;
      sync.mutable_sync()->set_bodies(pb::BODIES_ALL);
      sync.mutable_sync()->set_page_token(token);
      const pb::ServerFrame page = phone.call(sync);
      for (const auto& change : page.sync().changes()) messages += static_cast<std::uint64_t>(change.messages_size());
      token = page.sync().page_token();
    } while (!token.empty());
    return messages;
  };
  pull();
  meter.start();
  const std::uint64_t messages = pull();
  TM_CHECK(messages == kConversations * kEach, "the backlog comes, and nothing else");
  return messages;
}

std::uint64_t history_page(Meter& meter, const std::string& directory) {
  constexpr std::size_t kConversations = 20;
  World world(meter, {.directory = directory});
  friends_write(world, kConversations, 100);
  world.settle();
  friends_write(world, kConversations, 30);  // not in sorted files yet
  Device phone(world, "alice", "phone", Dialect::binary);
  const auto open_all = [&] {
    std::uint64_t messages = 0;
    for (std::size_t number = 0; number < kConversations; ++number) {
      pb::ClientFrame open;
      open.mutable_history()->set_conversation_id("alice_" + friend_name(number));
      messages += static_cast<std::uint64_t>(phone.call(open).history().messages_size());
    }
    return messages;
  };
  open_all();
  meter.start();
  const std::uint64_t messages = open_all();
  TM_CHECK(messages == kConversations * 50, "pages are full");
  return messages;
}

}  // namespace tidemark::instructions
