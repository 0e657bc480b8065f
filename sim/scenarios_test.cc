// Numbered scenarios that need the whole system: the real server engine, links and client engines, in virtual time and
// without faults but those that the scenario names.
#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <map>

#include "core/reads.h"
#include "core/uuid7.h"
#include "sim/device.h"
#include "sim/log_book.h"
#include "sim/server.h"
#include "store/store_view.h"

namespace tidemark::sim {
namespace {

/// A server and devices that do as they are told.
class Stage : public ServerWatch, public DeviceWatch {
 public:
  explicit Stage(std::function<void(Plan&)> change = [](Plan&) {}) : run_(7) {
    Limits& limits = run_.plan.config.limits;
    limits.messages_per_second = limits.requests_per_second = limits.logins_per_minute = 0;
    change(run_.plan);
    server_ = std::make_unique<SimServer>(run_, *this);
    server_->start();
  }

  SimDevice& device(const std::string& user, const std::string& name, replica::MemoryStore store) {
    return devices_.emplace_back(run_, *server_, *this,
                                 SimDevice::Name{UserId(user), DeviceId(name), user + "/" + name}, std::move(store));
  }
  SimDevice& device(const std::string& user, const std::string& name) {
    return device(user, name, replica::MemoryStore(UserId(user), DeviceId(name), InstallId("install-" + user + name)));
  }

  void pass(std::int64_t ms) {
    const std::int64_t until = run_.timeline.now_ms() + ms;
    while (run_.timeline.step(until)) {
    }
  }
  void settle(const SimDevice& device) {
    for (int i = 0; i < 600 && !device.settled(); ++i) pass(1'000);
    ASSERT_TRUE(device.settled()) << device.name().shown;
  }

  /// A message of somebody who has no device here.
  void post(const std::string& sender, const std::string& to, const std::string& text) {
    SendCommand command;
    command.sender = UserId(sender);
    command.device = DeviceId("http");
    command.to = UserId(to);
    std::array<std::uint8_t, 10> random;
    run_.dice.fill(random);
    command.client_msg_id = make_uuid_v7(server_->clock().wall_ms(), random);
    command.body.text = text;
    server_->submit(std::move(command), [](Result<Reply> reply) { EXPECT_TRUE(reply.has_value()); });
  }

  void change(const std::string& user, decltype(MutateCommand::change) change) {
    MutateCommand command{UserId(user), DeviceId("http"), {}, 0, std::move(change)};
    server_->submit(std::move(command), [](Result<Reply> reply) { EXPECT_TRUE(reply.has_value()); });
  }

  std::map<ConversationId, Change> listed(const std::string& user) {
    std::map<ConversationId, Change> all;
    StoreView view(server_->snapshot());
    std::int64_t below_time = 0;
    ConversationId below;
    do {
      const auto page = read_conversations(view, server_->params(), UserId(user), 0, below_time, below);
      if (!page) break;
      for (const Change& change : page->conversations) all.emplace(change.conversation, change);
      below_time = page->next_sort_time;
      below = page->next_conversation;
    } while (below_time != 0);
    return all;
  }
  LogBook book() {
    LogBook book;
    book.read(*server_->snapshot());
    return book;
  }

  void on_published(const Outcome&) override {}
  void on_telling(const Outcome&) override {}
  void on_started() override {}
  void on_dying() override {}
  void on_storing(SimDevice&, const replica::StoreBatch&) override {}
  void on_event(SimDevice& device, const replica::Event& event) override {
    if (told) told(device, event);
  }
  bool on_answer(SimDevice& device, replica::ServerFrame& frame) override {
    if (arrives && !arrives(device, frame)) return false;
    if (answered) answered(device, frame);
    return true;
  }
  void on_restored(SimDevice&) override {}
  void on_cloned(SimDevice&) override {}

  std::function<void(SimDevice&, const replica::ServerFrame&)> answered;
  std::function<bool(SimDevice&, replica::ServerFrame&)> arrives;  // may change it; false: it is lost
  std::function<void(SimDevice&, const replica::Event&)> told;

 private:
  RunContext run_;
  std::unique_ptr<SimServer> server_;
  std::list<SimDevice> devices_;
};

TEST(Conformance, S3_echo_before_ack) {
  Stage stage;
  SimDevice& phone = stage.device("me", "phone");
  phone.start({});
  stage.settle(phone);

  // The message is in the log; neither ack nor push gets through before the line breaks.
  bool broken = true;
  stage.arrives = [&](SimDevice&, replica::ServerFrame& frame) {
    const bool word =
        std::holds_alternative<SentReply>(frame.answer) || std::holds_alternative<replica::Push>(frame.answer);
    return !broken || !word;
  };
  phone.send(UserId("friend"), {}, "hello", {});
  stage.pass(2'000);
  ASSERT_EQ(phone.store().outbox().size(), 1u) << "pending";
  ASSERT_EQ(stage.book().log(ConversationId("friend_me")).size(), 1u);

  // The echo is pushed behind the welcome, in front of the answer to the second attempt.
  std::vector<std::string> order;
  std::vector<Seq> sent_as;
  stage.answered = [&](SimDevice&, const replica::ServerFrame& frame) {
    if (const auto* sent = std::get_if<SentReply>(&frame.answer))
      order.push_back(sent->duplicate ? "duplicate" : "sent");
    if (std::holds_alternative<replica::Push>(frame.answer)) order.push_back("push");
  };
  stage.told = [&](SimDevice&, const replica::Event& event) {
    const auto* outbox = std::get_if<replica::OutboxEvent>(&event);
    if (outbox && outbox->outcome == replica::OutboxOutcome::sent) sent_as.push_back(outbox->seq);
  };
  broken = false;
  phone.set_offline(true);
  phone.set_offline(false);
  stage.settle(phone);
  stage.pass(2'000);
  EXPECT_EQ(order, (std::vector<std::string>{"push", "duplicate"}));
  EXPECT_EQ(sent_as, std::vector<Seq>{Seq(1)}) << "told once, by the push";
  EXPECT_TRUE(phone.store().outbox().empty());
  EXPECT_EQ(phone.store().conversation(ConversationId("friend_me"))->rows.size(), 1u) << "one bubble";
  EXPECT_EQ(stage.book().log(ConversationId("friend_me")).size(), 1u);
}

TEST(Conformance, S38_pushes_during_a_pull_and_a_buffer_that_overflows) {
  Stage stage;
  const ConversationId chat("friend_me");
  SimDevice& phone = stage.device("me", "phone");
  replica::Options options;
  options.held_items_max = 2;
  phone.start(options);
  stage.settle(phone);

  // One push is lost, so those behind it wait for a pull, and there are more than may wait.
  int pushes = 0;
  int pulls = 0;
  std::size_t waiting = 0;
  stage.arrives = [&](SimDevice&, replica::ServerFrame& frame) {
    return !std::holds_alternative<replica::Push>(frame.answer) || ++pushes != 1;
  };
  stage.answered = [&](SimDevice&, const replica::ServerFrame& frame) {
    waiting = std::max(waiting, phone.engine().held_pushes());
    if (!std::holds_alternative<replica::SyncAnswer>(frame.answer)) return;
    if (++pulls == 1)  // and more while it is pulling
      for (int i = 0; i < 20; ++i) stage.post("friend", "me", "late " + std::to_string(i));
  };
  for (int i = 0; i < 20; ++i) {
    stage.post("friend", "me", "early " + std::to_string(i));
    stage.pass(20);
  }
  stage.pass(5'000);
  stage.settle(phone);
  EXPECT_GT(pushes, 5);
  EXPECT_GE(pulls, 1);
  EXPECT_EQ(waiting, 2u) << "the buffer was full, and no fuller";
  const auto& held = *phone.store().conversation(chat);
  EXPECT_EQ(held.rows.size(), 40u);
  EXPECT_EQ(held.state.object.mark, stage.listed("me").at(chat).mark);
  EXPECT_EQ(held.state.object.unread, (Unread{40, true}));
}

TEST(Conformance, S147_unknown_entry_kind) {
  // The phone is of an older version: recalls and titles are kinds that it has never heard of.
  Stage stage;
  const ConversationId chat("friend_me");
  for (int i = 1; i <= 5; ++i) stage.post("friend", "me", "m" + std::to_string(i));
  SimDevice& phone = stage.device("me", "phone");
  phone.start({});
  stage.settle(phone);

  constexpr auto kUnheardOf = static_cast<EntryKind>(99);
  const auto forget_kind = [&](Entry& entry) {
    if (entry.kind != EntryKind::recall) return;
    entry.kind = kUnheardOf;
    entry.target = {};
    entry.target_sender = {};
  };
  int questions = 0;
  stage.arrives = [&](SimDevice&, replica::ServerFrame& frame) {
    if (auto* push = std::get_if<replica::Push>(&frame.answer))
      for (PushItem& item : push->items)
        if (item.entry) {
          auto entry = std::make_shared<Entry>(*item.entry);
          forget_kind(*entry);
          item.entry = std::move(entry);
        }
    if (auto* page = std::get_if<ConversationPage>(&frame.answer)) {
      ++questions;
      for (Entry& entry : page->messages) forget_kind(entry);
    }
    return true;
  };
  stage.change("friend", RecallCommand{UserId("friend"), DeviceId("http"), chat, Seq(2), false});
  stage.pass(5'000);
  stage.settle(phone);
  const auto& held = *phone.store().conversation(chat);
  EXPECT_EQ(phone.store().device().cursor.mark, stage.listed("me").at(chat).mark) << "the cursor passes";
  EXPECT_EQ(held.rows.at(Seq(2)).entry->state, MessageState::recalled) << "fetched again, folded";
  EXPECT_EQ(held.rows.at(Seq(2)).entry->body, Body());
  EXPECT_EQ(held.state.touched, Seq(6));
  EXPECT_EQ(questions, 1) << "asked once";
  stage.pass(300'000);
  EXPECT_EQ(questions, 1) << "and not in a circle";

  phone.crash();
  stage.pass(30'000);
  stage.settle(phone);
  stage.post("friend", "me", "m6");
  stage.pass(5'000);
  EXPECT_EQ(phone.store().conversation(chat)->rows.at(Seq(7)).entry->body.text, "m6");
}

TEST(Conformance, S23_snapshot_while_conversations_bubble) {
  Stage stage;
  constexpr int kConversations = 3'000;
  for (int i = 0; i < kConversations; ++i) stage.post("friend" + std::to_string(i), "me", "hello");
  stage.pass(10'000);

  SimDevice& phone = stage.device("me", "phone");
  int bubbled = 0;
  stage.answered = [&](SimDevice&, const replica::ServerFrame& frame) {
    // The conversation at each page's edge gets a message and moves to the top.
    const auto* sync = std::get_if<replica::SyncAnswer>(&frame.answer);
    if (sync == nullptr || sync->page.after == Mark() || sync->page.changes.empty() || bubbled > 100) return;
    ++bubbled;
    stage.post(sync->page.changes.back().peer.value, "me", "up");
  };
  replica::Options options;
  options.sync_limit = 100;
  phone.start(options);
  stage.settle(phone);
  EXPECT_GE(bubbled, 29);

  const auto expected = stage.listed("me");
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(kConversations));
  const auto& held = phone.store().conversations();
  ASSERT_EQ(held.size(), expected.size());
  for (const auto& [id, change] : expected) {
    ASSERT_TRUE(held.contains(id)) << id.value;
    const Change& shown = held.at(id).state.object;
    EXPECT_EQ(shown.head_seq, change.head_seq) << id.value;
    EXPECT_EQ(shown.unread, change.unread) << id.value;
    EXPECT_EQ(shown.preview, change.preview) << id.value;
    EXPECT_EQ(shown.sort_time, change.sort_time) << id.value;
  }
}

TEST(Conformance, S125_an_old_backup_is_restored_on_the_same_phone) {
  Stage stage;
  const ConversationId chat("friend_me");
  for (int i = 0; i < 20; ++i) stage.post("friend", "me", "old " + std::to_string(i));
  SimDevice& phone = stage.device("me", "phone");
  phone.start({});
  stage.settle(phone);
  phone.mark_read(chat, Seq(5));
  stage.settle(phone);

  // The backup is made when three messages have been sent and their acks have not come.
  phone.set_offline(true);
  for (int i = 0; i < 3; ++i) phone.send({}, chat, "mine " + std::to_string(i), {});
  const replica::MemoryStore backup = phone.store();
  ASSERT_EQ(backup.outbox().size(), 3u);
  phone.set_offline(false);
  stage.settle(phone);
  phone.mark_read(chat, Seq(20));
  stage.settle(phone);
  ASSERT_EQ(stage.book().log(chat).size(), 23u);

  stage.pass(10LL * 24 * kHourMs);
  for (int i = 0; i < 30; ++i) stage.post("friend", "me", "new " + std::to_string(i));
  stage.pass(10'000);
  phone.set_offline(true);

  SimDevice& restored = stage.device("me", "phone", backup);
  std::vector<Mode> modes;
  stage.answered = [&](SimDevice&, const replica::ServerFrame& frame) {
    if (const auto* welcome = std::get_if<replica::Welcome>(&frame.answer)) modes.push_back(welcome->mode);
  };
  restored.start({});
  stage.settle(restored);
  ASSERT_FALSE(modes.empty());
  for (const Mode mode : modes) EXPECT_EQ(mode, Mode::delta);
  EXPECT_TRUE(restored.store().outbox().empty()) << "its own echoes were found";
  EXPECT_EQ(stage.book().log(chat).size(), 53u) << "nothing was sent twice";
  const Change& shown = restored.store().conversation(chat)->state.object;
  EXPECT_EQ(shown.head_seq, Seq(53));
  EXPECT_EQ(shown.read, Seq(20)) << "the pointer does not go back";
  EXPECT_EQ(shown.unread, (Unread{30, true}));
}

}  // namespace
}  // namespace tidemark::sim
