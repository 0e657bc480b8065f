// What an application is told of users whom no push has reached, for tests that look at it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hooks/testing_receiver.h"
#include "server_process.h"
#include "wire/json_reader.h"
#include "world.h"

namespace tidemark::testing {

inline const std::string kHookSecret = "0123456789abcdef0123";

inline ServerOptions notifying(const TestReceiver& receiver, std::vector<std::string> more = {}) {
  ServerOptions options;
  options.settings = {"hooks.notify_url=" + receiver.url("/notify"), "hooks.secret=" + kHookSecret,
                      "hooks.retry_ms=50"};
  for (std::string& each : more) options.settings.push_back(std::move(each));
  return options;
}

inline pb::HookNotification notification_in(const ReceivedPost& post) {
  pb::HookNotification told;
  EXPECT_TRUE(read_json(post.body, told)) << post.body;
  return told;
}

inline bool tells(const pb::HookNotification& told, const std::string& message) {
  return std::ranges::any_of(told.conversations(), [&](const auto& each) { return each.message_id() == message; });
}

inline bool tells(const ReceivedPost& post, const std::string& user, const std::string& message) {
  const pb::HookNotification told = notification_in(post);
  return told.user() == user && tells(told, message);
}

inline bool withdraws(const ReceivedPost& post, const std::string& user, const std::string& conversation) {
  const pb::HookNotification told = notification_in(post);
  return told.user() == user && std::ranges::find(told.withdrawn(), conversation) != told.withdrawn().end();
}

inline auto any_tells(const std::string& user, const std::string& message) {
  return [=](const std::vector<ReceivedPost>& taken) {
    return std::ranges::any_of(taken, [&](const auto& each) { return tells(each, user, message); });
  };
}

inline auto any_withdraws(const std::string& user, const std::string& conversation) {
  return [=](const std::vector<ReceivedPost>& taken) {
    return std::ranges::any_of(taken, [&](const auto& each) { return withdraws(each, user, conversation); });
  };
}

}  // namespace tidemark::testing
