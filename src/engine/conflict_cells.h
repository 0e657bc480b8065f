// What the tests of the design's table of conflicts (section 7) stand on: each cell is told in both orders, and each
// order twice: in two rounds, and by two devices at once, in one.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/test_world.h"

namespace tidemark {

enum class Rounds : std::uint8_t { one, two };

inline const ConversationId kChat("ann_ben");
inline const UserId kAnn("ann");
inline const UserId kBen("ben");

template <typename Change>
MutateCommand mutate(const UserId& user, const char* device, Change change) {
  change.user = user;
  if constexpr (requires { change.device; }) change.device = DeviceId(device);
  return {user, DeviceId(device), {}, 0, std::move(change)};
}

inline MutateCommand recall(Seq seq, const char* device = "phone") {
  return mutate(kAnn, device, RecallCommand{{}, {}, kChat, seq});
}

inline MutateCommand edit(Seq seq, const char* text, const char* device = "phone",
                          std::optional<Seq> base = std::nullopt) {
  EditCommand command{{}, {}, kChat, seq, {}, base};
  command.body.text = text;
  return mutate(kAnn, device, std::move(command));
}

inline MutateCommand delete_for_me(const UserId& user, Seq seq, const char* device = "phone") {
  return mutate(user, device, DeleteForMeCommand{{}, kChat, {{seq - 1, seq}}});
}

inline MutateCommand read_to(Seq seq, const char* device) {
  return mutate(kBen, device, ReadCommand{{}, kChat, seq});
}

inline DeleteMessageCommand operators_delete(Seq seq) {
  return {UserId("ops"), DeviceId("http"), kChat, seq};
}

/// Ann has said "secret", as seq 1, and "other", as seq 2.
class ConflictCells : public ::testing::TestWithParam<Rounds> {
 protected:
  ConflictCells() {
    said_ = world_.message("ann", "ben", "secret");
    world_.get<SentReply>(said_);
    world_.send("ann", "ben", "other");
  }

  /// `first` is decided, and then `then`: in the next round, or in the same one.
  void meet(Command first, Command then) {
    world_.submit(std::move(first), &first_);
    if (GetParam() == Rounds::two) world_.run();
    world_.submit(std::move(then), &then_);
    world_.run();
  }
  template <typename Answer>
  Answer first() const {
    return answered<Answer>(first_);
  }
  template <typename Answer>
  Answer then() const {
    return answered<Answer>(then_);
  }
  ErrorCode then_refused() const {
    if (!then_ || *then_) return ErrorCode::INTERNAL;
    return then_->error().code;
  }

  SendCommand reply(const UserId& sender, Seq to, const char* device = "phone") {
    SendCommand command = world_.message(sender.value, sender == kAnn ? "ben" : "ann", "answer");
    command.device = DeviceId(device);
    command.reply_to = to;
    return command;
  }
  /// What the user is shown of a message: its text, "(recalled)" or "(deleted)", or "" where it is not there for him.
  std::string shown(const UserId& user, Seq seq) {
    StoreView view = world_.view();
    const auto row = read_message(view, user, kChat, seq);
    if (!row) return {};
    if (!row->dead()) return row->body.text;
    EXPECT_EQ(row->body, Body());
    return row->state == MessageState::recalled ? "(recalled)" : "(deleted)";
  }
  /// All texts that the log holds, of whatever kind the entries are.
  std::string all_texts() {
    std::string all;
    for (const Entry& entry : log_of(world_, kChat.value)) all += entry.body.text + '\n';
    return all;
  }
  std::size_t entries() { return log_of(world_, kChat.value).size(); }
  std::vector<UserObject> objects(const UserId& user) {
    StoreView view = world_.view();
    SyncQuery query;
    query.user = user;
    const auto page = read_sync(view, world_.params(), query);
    return page ? page->objects : std::vector<UserObject>();
  }

  EngineWorld world_;
  SendCommand said_;

 private:
  template <typename Answer>
  static Answer answered(const std::optional<Result<Reply>>& answer) {
    EXPECT_TRUE(answer && *answer) << (answer && !*answer ? answer->error().message() : "no answer");
    return answer && *answer ? std::get<Answer>(**answer) : Answer{};
  }
  std::optional<Result<Reply>> first_;
  std::optional<Result<Reply>> then_;
};

/// Its name in the list of tests.
inline std::string name_of_rounds(const ::testing::TestParamInfo<Rounds>& info) {
  return info.param == Rounds::one ? "One" : "Two";
}

}  // namespace tidemark
