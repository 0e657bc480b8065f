// Field faults 21 and 36: the badge, and which device is woken for whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "notifications.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;

class NotifyFaults : public ::testing::Test {
 protected:
  void serve(std::vector<std::string> settings = {}) {
    server_ = std::make_unique<ServerProcess>(notifying(receiver_, std::move(settings)));
    http_ = std::make_unique<HttpClient>(server_->port());
  }
  std::string send(const std::string& from, const std::string& where, const std::string& text) {
    const std::string place = where.starts_with("group_") ? R"("conversation_id":")" : R"("to":")";
    const HttpResponse sent = http_->post(
        "/v1/messages", server_->token(from),
        "{" + place + where + R"(","client_msg_id":")" + new_id() + R"(","body":{"text":")" + text + "\"}}");
    EXPECT_EQ(sent.status, 201) << sent.body;
    return parsed<pb::Sent>(sent).message_id();
  }
  std::string group(const std::string& owner, const std::string& member) {
    const HttpResponse made =
        http_->post("/v1/groups", server_->token(owner), R"({"title":"G","members":[")" + member + "\"]}");
    EXPECT_EQ(made.status, 201);
    return parsed<pb::Group>(made).conversation_id();
  }
  /// Of a and u1 to u4; large, where three are the most of a small one.
  std::string large_group() {
    const HttpResponse made =
        http_->post("/v1/groups", server_->token("a"), R"({"title":"L","members":["u1","u2","u3","u4"]})");
    EXPECT_EQ(made.status, 201) << made.body;
    return parsed<pb::Group>(made).conversation_id();
  }
  /// a mentions u1.
  std::string mention(const std::string& group, const std::string& text) {
    const HttpResponse sent = http_->post("/v1/messages", server_->token("a"),
                                          R"({"conversation_id":")" + group + R"(","client_msg_id":")" + new_id() +
                                              R"(","body":{"text":")" + text + R"("},"mentions":["u1"]})");
    EXPECT_EQ(sent.status, 201) << sent.body;
    return parsed<pb::Sent>(sent).message_id();
  }
  /// The last notification of the user that tells this message.
  pb::HookNotification told(const std::string& user, const std::string& message) {
    EXPECT_TRUE(receiver_.wait_until(any_tells(user, message))) << message;
    pb::HookNotification last;
    for (const ReceivedPost& post : receiver_.taken())
      if (tells(post, user, message)) last = notification_in(post);
    return last;
  }
  /// The numbers that the user's list, a new device's sync and the totals come to.
  void expect_badge(const std::string& user, std::uint64_t badge) {
    EXPECT_EQ(parsed<pb::Totals>(http_->get("/v1/totals", server_->token(user))).badge(), badge);
    std::uint64_t synced = 0;
    for (const pb::Change& change : parsed<pb::SyncPage>(http_->get("/v1/sync", server_->token(user))).changes())
      synced += change.unread();
    EXPECT_EQ(synced, badge);
    std::uint64_t listed = 0;
    for (const pb::Change& change :
         parsed<pb::ConversationList>(http_->get("/v1/conversations", server_->token(user))).conversations())
      listed += change.unread();
    EXPECT_EQ(listed, badge);
  }
  std::uint64_t unread(const std::string& user, const std::string& id) {
    return parsed<pb::Change>(http_->get("/v1/conversations/" + id, server_->token(user))).unread();
  }

  TestReceiver receiver_{kHookSecret};
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<HttpClient> http_;
};

TEST_F(NotifyFaults, F21_TheBadgeIsTheSumOfWhatIsUnread) {
  serve();
  const std::string g1 = group("a", "u1");
  const std::string g2 = group("b", "u1");
  const std::vector<std::tuple<std::string, std::string, int>> waiting{
      {"c1", "u1", 2}, {"c2", "u1", 3}, {"a", g1, 4}, {"b", g2, 5}};
  for (const auto& [from, where, count] : waiting)
    for (int i = 0; i < count; ++i) send(from, where, "m");
  const pb::HookNotification first = told("u1", send("c1", "u1", "one more"));
  EXPECT_EQ(first.badge(), 15U);
  EXPECT_TRUE(first.badge_exact());
  expect_badge("u1", 15);

  // What goes takes its number with it, and what the phones show of it.
  ASSERT_EQ(http_->call("DELETE", "/v1/conversations/c2_u1", server_->token("u1")).status, 200);
  ASSERT_EQ(http_->call("DELETE", "/v1/groups/" + g1 + "/members/u1", server_->token("u1")).status, 200);
  ASSERT_EQ(http_->call("DELETE", "/v1/groups/" + g2, server_->token("b")).status, 200);
  for (const std::string& gone : {std::string("c2_u1"), g1, g2})
    ASSERT_TRUE(receiver_.wait_until(any_withdraws("u1", gone))) << gone;
  EXPECT_EQ(notification_in(receiver_.taken().back()).badge(), 3U);
  expect_badge("u1", 3);
  EXPECT_EQ(told("u1", send("c1", "u1", "and one more")).badge(), 4U);
  expect_badge("u1", 4);

  // What begins anew begins at 0.
  EXPECT_EQ(told("u1", send("c2", "u1", "again")).badge(), 5U);
  EXPECT_EQ(unread("u1", "c2_u1"), 1U);
  ASSERT_EQ(http_->post("/v1/groups/" + g1 + "/members", server_->token("a"), R"({"users":["u1"]})").status, 200);
  EXPECT_EQ(unread("u1", g1), 0U);
  const std::string again = group("b", "u1");
  EXPECT_EQ(unread("u1", again), 0U);
  send("a", g1, "hello again");
  EXPECT_EQ(told("u1", send("b", again, "hello")).badge(), 7U);
  EXPECT_EQ(unread("u1", g1), 1U);
  EXPECT_EQ(unread("u1", again), 1U);
  expect_badge("u1", 7);
}

TEST_F(NotifyFaults, F21_ALargeGroupThatEndsTakesItsNumberWithIt) {
  serve({"limits.small_max=3"});
  send("c", "u1", "one");
  const std::string large = large_group();
  mention(large, "hey");
  EXPECT_EQ(told("u1", mention(large, "hey again")).badge(), 3U);
  ASSERT_EQ(http_->call("DELETE", "/v1/groups/" + large, server_->token("a")).status, 200);
  ASSERT_TRUE(receiver_.wait_until(any_withdraws("u1", large)));
  EXPECT_EQ(notification_in(receiver_.taken().back()).badge(), 1U);
  expect_badge("u1", 1);
}

TEST_F(NotifyFaults, S96_AMentionInAMutedLargeGroupNotifies) {
  serve({"limits.small_max=3"});
  const std::string id = large_group();
  ASSERT_EQ(http_->post("/v1/conversations/" + id + "/mute", server_->token("u1"), "{}").status, 200);
  send("a", id, "not for u1");
  const std::string meant = mention(id, "hey");
  const pb::HookNotification told = this->told("u1", meant);
  ASSERT_EQ(told.conversations_size(), 1);
  EXPECT_TRUE(told.conversations(0).mentioned());
  EXPECT_EQ(told.badge(), 1U) << "of what is muted only the mention";
  EXPECT_GT(parsed<pb::Change>(http_->get("/v1/conversations/" + id, server_->token("u1"))).muted_until(), 0);
}

class TokenFaults : public NotifyFaults {
 protected:
  WsClient device(const std::string& user, const std::string& name, const std::string& push_token) {
    WsClient device(server_->port(), Dialect::json);
    device.login(server_->newer_token(user), {.device = name});
    pb::ClientFrame named;
    named.mutable_change_device()->set_device(name);
    named.mutable_change_device()->set_push_token(push_token);
    EXPECT_EQ(code_of(device.call(named)), "");
    return device;
  }
  void log_out(WsClient& device) {
    pb::ClientFrame frame;
    frame.mutable_logout();
    (void)device.post(frame);
    EXPECT_TRUE(device.wait_closed());
  }
  static std::vector<std::string> woken(const pb::HookNotification& told) {
    std::vector<std::string> tokens;
    for (const auto& each : told.devices()) tokens.push_back(each.push_token());
    return tokens;
  }
  /// How often the message was told to a device with this token.
  int times_told(const std::string& message, const std::string& push_token) {
    int times = 0;
    for (const ReceivedPost& post : receiver_.taken()) {
      const pb::HookNotification told = notification_in(post);
      const auto tokens = woken(told);
      times += tells(told, message) && std::ranges::find(tokens, push_token) != tokens.end();
    }
    return times;
  }
};

TEST_F(TokenFaults, F36_ATokenWakesItsDeviceForItsUserAlone) {
  serve({"hooks.notify_after_ms=1000"});
  WsClient d1 = device("u1", "d1", "T1");
  auto d2 = std::make_unique<WsClient>(device("u1", "d2", "T2"));
  const auto d2_takes = [&](const std::string& text) {
    ASSERT_TRUE(d2->wait_until([&] { return !d2->pushed.empty() && d2->pushed.back().entry().body().text() == text; }));
    d2->ack(d2->pushed.back().index_to());
  };

  // (a) After a logout nothing goes to its token; (c) whoever has it on an active device is not told at all.
  log_out(d1);
  for (const char* text : {"a1", "a2", "a3"}) {
    send("u2", "u1", text);
    d2_takes(text);
  }
  const auto nobody_told = [&] {
    // Somebody else is told of what came later: by then the time of those before has passed too.
    told("u9", send("u2", "u9", "later"));
    for (const ReceivedPost& post : receiver_.all()) EXPECT_NE(notification_in(post).user(), "u1");
  };
  nobody_told();

  // (b) The token is another user's now.
  WsClient u5 = device("u5", "d1", "T1");
  send("u2", "u1", "b");
  d2_takes("b");
  nobody_told();
  log_out(u5);

  // (d) It dies without a word: the kernel tells, or nobody does.
  d2->stream().abort();
  const std::string died = send("u2", "u1", "d1");
  EXPECT_THAT(woken(told("u1", died)), ElementsAre("T2"));
  d2 = std::make_unique<WsClient>(device("u1", "d2", "T2"));  // and what it has stored is good for nothing here
  d2->ack(d2->cursor().mark());
  const std::string silent = send("u2", "u1", "d2");
  EXPECT_THAT(woken(told("u1", silent)), ElementsAre("T2")) << "though its link still stands";

  // (e) What is taken back goes from the screen, and is counted no more.
  const std::uint64_t badge = told("u1", silent).badge();
  EXPECT_EQ(times_told(died, "T2"), 1);
  ASSERT_EQ(http_->post("/v1/messages/" + silent + "/recall", server_->token("u2"), "{}").status, 200);
  ASSERT_TRUE(receiver_.wait_until([&](const auto& taken) {
    const pb::HookNotification last = notification_in(taken.back());
    return last.user() == "u1" && last.badge() == badge - 1 && !tells(last, silent);
  }));
  EXPECT_EQ(times_told(silent, "T2"), 1);
  for (const ReceivedPost& post : receiver_.all()) {
    const auto tokens = woken(notification_in(post));
    EXPECT_EQ(std::ranges::count(tokens, "T1"), 0) << post.body;
  }
}

}  // namespace
}  // namespace tidemark::testing
