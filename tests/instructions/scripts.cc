#include "tests/instructions/scripts.h"

namespace tidemark::instructions {

std::span<const Script> scripts() {
  static const Script all[] = {
      {"send-1", "a message between two, binary, in a commit round of its own", send_binary_1},
      {"send-64", "the same in rounds of 64", send_binary_64},
      {"send-json-1", "a message between two, JSON, in a commit round of its own", send_json_1},
      {"send-json-64", "the same in rounds of 64", send_json_64},
      {"three-devices", "a message between two with three devices each, binary, in rounds of 64", send_three_devices},
      {"large-group", "a message in a group of 250 that 100 devices have open, binary", send_large_group},
      {"sync-backlog", "each message of a backlog of 1,000 in 50 conversations, with all bodies", sync_backlog},
      {"history-page", "each message of the newest pages of conversations", history_page},
      {"sorted-files", "each message of a full overlay that is written into sorted files", sorted_files},
  };
  return all;
}

}  // namespace tidemark::instructions
