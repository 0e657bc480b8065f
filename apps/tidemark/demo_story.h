// A story of six devices, told and checked step by step, with a server that is killed in the middle.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/tidemark/demo_devices.h"
#include "apps/tidemark/demo_server.h"
#include "apps/tidemark/http_calls.h"
#include "core/conversation_id.h"

namespace tidemark {

enum class Pace : std::uint8_t { for_people, fast };

/// What is wrong, in a sentence; nothing: the step shows what it should.
using Wrong = std::optional<std::string>;

/// The story. Every step does something, waits for what must come of it, and shows all devices.
class Story {
 public:
  Story(DemoServer& server, Pace pace) : server_(server), pace_(pace) {}
  /// Plays it; false when a device showed something else, after saying what.
  bool play();

 private:
  // The steps, in their order.
  Wrong six_devices();
  Wrong a_message();
  Wrong read_on_one_device();
  Wrong a_group();
  Wrong chen_is_away();
  Wrong server_killed();
  Wrong server_back();
  Wrong a_retry();
  Wrong chen_is_back();
  Wrong read_on_the_desktop();
  Wrong a_new_device();
  Wrong nothing_lost();

  Wrong say(DemoDevice& device, const ConversationId& conversation, const std::string& text);
  Wrong shows_last(DemoDevice& device, const ConversationId& conversation, const std::string& text) const;
  Wrong shows_unread(DemoDevice& device, const ConversationId& conversation, const std::string& unread) const;
  Wrong all_online() const;
  Called<std::string> call_as(const std::string& user, const CallOptions& options) const;
  Wrong same_as_log(DemoDevice& device, const ConversationId& conversation, std::size_t& compared) const;

  static constexpr int kWhileAway = 40;  // messages of the group that Chen misses

  DemoServer& server_;
  const Pace pace_;
  DemoDevices devices_;
  const ConversationId ann_ben_ = single_conversation(UserId("ann"), UserId("ben"));
  const ConversationId ann_chen_ = single_conversation(UserId("ann"), UserId("chen"));
  ConversationId group_;
  std::map<ConversationId, std::vector<std::string>> said_;  // every text that its sender was told is sent
};

}  // namespace tidemark
