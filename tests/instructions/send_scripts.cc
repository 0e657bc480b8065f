// Sending: from the bytes of the sender's connection to the bytes for everybody who is told.
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "tests/instructions/device.h"
#include "tests/instructions/scripts.h"
#include "tests/instructions/world.h"
#include "tidemark.pb.h"

namespace tidemark::instructions {
namespace {

constexpr std::size_t kPairs = 64;
constexpr std::size_t kEarlier = 10;    // messages of each pair before anybody is there
constexpr std::size_t kWarmUp = 5;      // messages of each pair before it counts
constexpr std::size_t kCountedOf = 20;  // of each pair: each device acknowledges once

struct PairsPlan {
  Dialect dialect = Dialect::binary;
  std::size_t round = 1;    // commands in a commit round
  std::size_t devices = 1;  // of each user
};

using Devices = std::vector<std::unique_ptr<Device>>;

std::string user_name(std::string_view role, std::size_t pair) {
  return std::string(role) + std::to_string(100 + pair);
}

/// Pairs with a past in sorted files.
void give_past(World& world) {
  for (std::size_t i = 0; i < kEarlier; ++i) {
    for (std::size_t pair = 0; pair < kPairs; ++pair) world.send(user_name("bob", pair), user_name("alice", pair));
    world.round();
    world.clock().pass(kMinuteMs);
  }
  world.settle();
}

std::uint64_t told(const Devices& devices, std::uint64_t (Device::*count)() const) {
  std::uint64_t sum = 0;
  for (const auto& device : devices) sum += ((*device).*count)();
  return sum;
}

std::uint64_t play_pairs(Meter& meter, const std::string& directory, const PairsPlan& plan) {
  World world(meter, {.directory = directory});
  give_past(world);
  Devices devices;  // those of alice, then those of bob, pair by pair
  for (std::size_t pair = 0; pair < kPairs; ++pair)
    for (const std::string_view role : {"alice", "bob"})
      for (std::size_t i = 0; i < plan.devices; ++i)
        devices.push_back(
            std::make_unique<Device>(world, user_name(role, pair), "d" + std::to_string(i), plan.dialect));
  const auto all_read = [&] {
    for (const auto& device : devices) device->read();
  };
  const auto sends = [&](std::size_t of_each_pair) {
    for (std::size_t sent = 0; sent < of_each_pair * kPairs;) {
      for (std::size_t i = 0; i < plan.round; ++i, ++sent)
        devices[sent % kPairs * 2 * plan.devices]->send_to(user_name("bob", sent % kPairs));
      world.round();
      all_read();
      world.clock().pass(static_cast<std::int64_t>(plan.round));
    }
  };
  all_read();
  sends(kWarmUp);
  const std::uint64_t sent = told(devices, &Device::sent);
  const std::uint64_t pushed = told(devices, &Device::pushed);
  meter.start();
  sends(kCountedOf);
  constexpr std::uint64_t kCounted = kCountedOf * kPairs;
  TM_CHECK(told(devices, &Device::sent) - sent == kCounted, "every message is acknowledged");
  TM_CHECK(told(devices, &Device::pushed) - pushed == kCounted * 2 * plan.devices, "and pushed to every device");
  return kCounted;
}

}  // namespace

std::uint64_t send_binary_1(Meter& meter, const std::string& directory) {
  return play_pairs(meter, directory, {.dialect = Dialect::binary, .round = 1});
}
std::uint64_t send_binary_64(Meter& meter, const std::string& directory) {
  return play_pairs(meter, directory, {.dialect = Dialect::binary, .round = 64});
}
std::uint64_t send_json_1(Meter& meter, const std::string& directory) {
  return play_pairs(meter, directory, {.dialect = Dialect::json, .round = 1});
}
std::uint64_t send_json_64(Meter& meter, const std::string& directory) {
  return play_pairs(meter, directory, {.dialect = Dialect::json, .round = 64});
}
std::uint64_t send_three_devices(Meter& meter, const std::string& directory) {
  return play_pairs(meter, directory, {.dialect = Dialect::binary, .round = 64, .devices = 3});
}

std::uint64_t send_large_group(Meter& meter, const std::string& directory) {
  constexpr std::size_t kMembers = 250;
  constexpr std::size_t kOpen = 100;
  constexpr std::size_t kSends = 100;
  World world(meter, {.directory = directory});
  Devices devices;
  devices.push_back(std::make_unique<Device>(world, user_name("member", 0), "d", Dialect::binary));
  pb::ClientFrame create;
  create.mutable_create_group()->set_title("A large group");
  for (std::size_t i = 1; i < kMembers; ++i) create.mutable_create_group()->add_members(user_name("member", i));
  const pb::ServerFrame made = devices.front()->call(create);
  TM_CHECK(made.group().large(), "a group of so many is large");
  const std::string group = made.group().conversation_id();
  while (devices.size() < kOpen)
    devices.push_back(std::make_unique<Device>(world, user_name("member", devices.size()), "d", Dialect::binary));
  for (const auto& device : devices) {
    pb::ClientFrame focus;
    focus.mutable_focus()->add_conversation_ids(group);
    device->call(focus);
  }
  const auto sends = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      devices[i % 8]->send_into(group);
      world.round();
      for (const auto& device : devices) device->read();
      world.clock().pass(10);
    }
  };
  sends(20);
  const std::uint64_t pushed = told(devices, &Device::pushed);
  meter.start();
  sends(kSends);
  TM_CHECK(told(devices, &Device::pushed) - pushed == kSends * kOpen, "every message is pushed where it is open");
  return kSends;
}

}  // namespace tidemark::instructions
