// The scripts, each a way of a message that is often gone. To add one: write it, name it in scripts(), and have its
// count written into expected.txt.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tests/instructions/meter.h"

namespace tidemark::instructions {

struct Script {
  std::string_view name;
  std::string_view what;
  /// Plays it over a store in this directory; returns how many messages were counted.
  std::function<std::uint64_t(Meter& meter, const std::string& directory)> play;
};

std::span<const Script> scripts();

// Sends between 64 pairs of users, each message acknowledged, and pushed to each device of both.
std::uint64_t send_binary_1(Meter& meter, const std::string& directory);
std::uint64_t send_binary_64(Meter& meter, const std::string& directory);
std::uint64_t send_json_1(Meter& meter, const std::string& directory);
std::uint64_t send_json_64(Meter& meter, const std::string& directory);
std::uint64_t send_three_devices(Meter& meter, const std::string& directory);
std::uint64_t send_large_group(Meter& meter, const std::string& directory);

std::uint64_t sync_backlog(Meter& meter, const std::string& directory);
std::uint64_t history_page(Meter& meter, const std::string& directory);

std::uint64_t sorted_files(Meter& meter, const std::string& directory);

}  // namespace tidemark::instructions
