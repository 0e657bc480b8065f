// Field faults 8 to 12: retries, duplicates, order and clocks.
#include <algorithm>
#include <set>
#include <thread>

#include "core/conversation_id.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

class SendFaults : public BothDialects {
 protected:
  std::string group(WsClient& creator, const std::vector<std::string>& members) {
    pb::ClientFrame create;
    create.mutable_create_group()->set_title("G");
    for (const std::string& member : members) create.mutable_create_group()->add_members(member);
    const pb::ServerFrame made = creator.call(create);
    EXPECT_TRUE(made.has_group()) << made.ShortDebugString();
    return made.group().conversation_id();
  }
  static std::uint64_t post_in(WsClient& client, const std::string& conversation, std::string_view text) {
    pb::ClientFrame frame = send_frame("", text, new_id());
    frame.mutable_send()->set_conversation_id(conversation);
    return client.post(std::move(frame));
  }
};
TM_IN_BOTH_DIALECTS(SendFaults);

TEST_P(SendFaults, F08_TheSameIdHereAndThere) {
  WsClient u1 = device("u1");
  WsClient u3 = device("u3");
  const std::string g = group(u1, {user("u2"), user("u3")});
  const auto named = [](std::string_view to, std::string_view conversation, std::string_view text,
                        std::string_view id) {
    pb::ClientFrame frame = send_frame(to, text, id);
    frame.mutable_send()->set_conversation_id(std::string(conversation));
    frame.mutable_send()->set_client_time(wall_ms());
    return frame;
  };
  // (a) Two senders in one group.
  EXPECT_FALSE(u1.call(named("", g, "mine", "k1")).sent().duplicate());
  EXPECT_FALSE(u3.call(named("", g, "yours", "k1")).sent().duplicate());
  EXPECT_THAT(whole_history(u1, g), SizeIs(3)) << "the joining, and two messages";
  // (b) One id to two conversations: the rule is two messages.
  EXPECT_FALSE(u1.call(named(user("u2"), "", "forward", "k2")).sent().duplicate());
  EXPECT_FALSE(u1.call(named(user("u3"), "", "forward", "k2")).sent().duplicate());
  EXPECT_THAT(whole_history(u3, chat("u1", "u3")), SizeIs(1));
  // (c) The same text under two ids.
  EXPECT_FALSE(u1.call(named(user("u2"), "", "ok", "k3")).sent().duplicate());
  EXPECT_FALSE(u1.call(named(user("u2"), "", "ok", "k4")).sent().duplicate());
  // (d) Another text under one id.
  EXPECT_FALSE(u1.call(named(user("u2"), "", "yes", "k5")).sent().duplicate());
  EXPECT_EQ(code_of(u1.call(named(user("u2"), "", "no", "k5"))), "CLIENT_MSG_ID_CONFLICT");
  EXPECT_THAT(texts_of(whole_history(u1, chat("u1", "u2"))), ElementsAre("forward", "ok", "ok", "yes"));
}

TEST_P(SendFaults, F09_CopiesOverTwoLinks) {
  constexpr int kRepeats = 200;
  const std::string id = chat("u1", "u2");
  WsClient d1 = device("u2", "d1");
  for (int round = 1; round <= kRepeats; ++round) {
    // The old link of the device is still open when the new one comes; the server replaces it, and what was written
    // to it may or may not have been taken.
    WsClient old_link = device("u1");
    const pb::ClientFrame frame = send_frame(user("u2"), "copy", new_id());
    std::vector<std::uint64_t> first;
    for (int i = 0; i < 10; ++i) first.push_back(old_link.post(frame));
    WsClient new_link = connect();
    ASSERT_TRUE(new_link.hello(token("u1")).has_welcome());
    std::set<std::pair<std::uint64_t, std::string>> names;
    int originals = 0;
    const auto count = [&](const pb::ServerFrame& answered) {
      ASSERT_TRUE(answered.has_sent()) << answered.ShortDebugString();
      names.emplace(answered.sent().seq(), answered.sent().message_id());
      originals += answered.sent().duplicate() ? 0 : 1;
    };
    std::vector<std::uint64_t> second;
    for (int i = 0; i < 10; ++i) second.push_back(new_link.post(frame));
    for (const std::uint64_t each : second) count(new_link.answer(each));
    // (b) Retried again and again with the same id, and every answer swallowed: none of this link is ever read.
    WsClient deaf = connect();
    ASSERT_TRUE(deaf.hello(token("u1")).has_welcome());
    for (int retry = 0; retry < 5; ++retry) deaf.post(frame);
    WsClient last_link = connect();
    ASSERT_TRUE(last_link.hello(token("u1")).has_welcome());
    count(last_link.call(frame));
    EXPECT_THAT(names, SizeIs(1));
    EXPECT_EQ(names.begin()->first, static_cast<std::uint64_t>(round));
    EXPECT_LE(originals, 1);
    EXPECT_THAT(whole_history(d1, id), SizeIs(round));
    EXPECT_EQ(d1.conversation(id).unread(), static_cast<std::uint32_t>(round));
  }
  ASSERT_TRUE(d1.wait_until([&] { return d1.entries(id).size() == static_cast<std::size_t>(kRepeats); }));
  EXPECT_EQ(d1.pushed.size(), static_cast<std::size_t>(kRepeats)) << "one copy of each";
  WsClient d2 = device("u2", "d2");
  EXPECT_EQ(d2.conversation(id).head_seq(), static_cast<std::uint64_t>(kRepeats));
  EXPECT_EQ(d2.conversation(id).unread(), static_cast<std::uint32_t>(kRepeats));
}

TEST_P(SendFaults, F10_EightMembersAtOnce) {
  constexpr int kMembers = 8;
  constexpr int kEach = 200;
  WsClient owner = device("u1");
  std::vector<std::string> others;
  for (int i = 2; i <= kMembers; ++i) others.push_back(user("u" + std::to_string(i)));
  const std::string g = group(owner, others);
  std::vector<std::vector<std::uint64_t>> seqs(kMembers);
  const int port = server().port();
  const Dialect dialect = GetParam();
  std::vector<std::thread> senders;
  for (int member = 0; member < kMembers; ++member) {
    const std::string bearer = token("u" + std::to_string(member + 1));
    senders.emplace_back([&seqs, member, bearer, port, dialect, g] {
      std::vector<std::uint64_t>& mine = seqs[static_cast<std::size_t>(member)];
      try {
        if (member % 2 == 0) {
          WsClient client(port, dialect);
          client.hello(bearer, {.device = "sender"});
          std::vector<std::uint64_t> posted;
          for (int i = 0; i < kEach; ++i) posted.push_back(post_in(client, g, "by socket"));
          for (const std::uint64_t id : posted) mine.push_back(client.answer(id).sent().seq());
        } else {
          HttpClient client(port);
          for (int i = 0; i < kEach; ++i) {
            const std::string body =
                R"({"conversation_id":")" + g + R"(","client_msg_id":")" + new_id() + R"(","body":{"text":"by HTTP"}})";
            mine.push_back(parsed<pb::Sent>(client.post("/v1/messages", bearer, body)).seq());
          }
        }
      } catch (const std::exception& failed) {
        ADD_FAILURE() << failed.what();
      }
    });
  }
  for (std::thread& each : senders) each.join();
  for (int member = 1; member <= kMembers; ++member) {
    WsClient client = device("u" + std::to_string(member), "slow");
    seqs[0].push_back(client.sent_in(g, "slowly").seq());
  }
  std::vector<std::uint64_t> all;
  for (const auto& mine : seqs) {
    EXPECT_TRUE(std::ranges::is_sorted(mine)) << "each sender's own order is kept";
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::ranges::sort(all);
  // Seq 1 is the entry by which the members joined.
  EXPECT_EQ(all, seqs_from(2, 1'609));
  EXPECT_THAT(seqs_of(whole_history(owner, g)), ElementsAreArray(seqs_from(1, 1'609)));
}

TEST_P(SendFaults, F11_ClaimedTimes) {
  const std::string id = chat("u1", "u2");
  WsClient u1 = device("u1");
  WsClient u2 = device("u2");
  constexpr std::int64_t kHour = 3'600'000;
  const std::int64_t now = wall_ms();
  const std::vector<std::pair<std::optional<std::int64_t>, std::string>> claims = {
      {now - kHour, ""},
      {now, ""},
      {now + 7 * 60'000, ""},
      {now + 10 * 365 * 24 * kHour, "CLIENT_MSG_ID_EXPIRED"},
      {0, "CLIENT_TIME_REQUIRED"},  // 0 is how "none" is written
      {-5, "CLIENT_MSG_ID_EXPIRED"},
      {std::nullopt, "CLIENT_TIME_REQUIRED"},
  };
  std::vector<std::string> accepted;
  int turn = 0;
  for (const auto& [time, code] : claims) {
    ++turn;
    const std::string text = "u1 " + std::to_string(turn);
    pb::ClientFrame frame = send_frame(user("u2"), text, "claim-" + std::to_string(turn));
    if (time) frame.mutable_send()->set_client_time(*time);
    const pb::ServerFrame answered = u1.call(frame);
    EXPECT_EQ(code_of(answered), code) << turn;
    if (answered.has_sent()) accepted.push_back(text);
    accepted.push_back("u2 " + std::to_string(turn));
    u2.sent(user("u1"), accepted.back());
  }
  ASSERT_TRUE(u1.wait_until([&] { return u1.entries(id).size() == accepted.size(); }));
  ASSERT_TRUE(u2.wait_until([&] { return u2.entries(id).size() == accepted.size(); }));
  EXPECT_THAT(u1.texts(id), ElementsAreArray(accepted));
  EXPECT_THAT(u2.texts(id), ElementsAreArray(accepted));
  EXPECT_THAT(texts_of(whole_history(u1, id)), ElementsAreArray(accepted));
  EXPECT_EQ(u1.conversation(id).unread(), 7U);
  EXPECT_EQ(u2.conversation(id).unread(), 3U);
  for (const auto& [seq, row] : u2.entries(id)) EXPECT_LT(std::abs(row.server_time() - wall_ms()), 60'000);
}

TEST_P(SendFaults, F12_AThousandBackToBack) {
  const std::string id = chat("u1", "u2");
  const std::vector<std::string> texts = numbered("", 1'000);
  WsClient u1 = device("u1");
  WsClient d1 = device("u2", "d1");
  std::thread reader([&] {
    // Reads as a device does: acks what it has, and pulls after a hint.
    const auto hinted = [&] { return !d1.hints.empty() && d1.hints.back() > d1.cursor().mark(); };
    while (d1.cursor().mark() < 1'000) {
      if (!d1.wait_until([&] { return d1.cursor().mark() >= 1'000 || hinted(); })) return;
      if (hinted()) d1.sync();
    }
  });
  send_all(u1, user("u2"), texts);
  reader.join();
  EXPECT_EQ(d1.cursor().mark(), 1'000U);
  EXPECT_TRUE(std::ranges::is_sorted(d1.pushed, {}, [](const pb::PushItem& item) { return item.entry().seq(); }));
  for (const auto& [seq, row] : d1.entries(id)) EXPECT_EQ(row.body().text(), std::to_string(seq));

  WsClient d2 = device("u2", "d2");
  std::vector<std::string> caught;
  for (std::uint64_t after = 0; after < 1'000;) {
    const pb::ConversationPage page = d2.conversation_sync(id, after, 200);
    ASSERT_GT(page.covers().to(), after);
    for (const pb::Message& row : page.messages()) caught.push_back(row.body().text());
    after = page.covers().to();
  }
  EXPECT_EQ(caught, texts);
  WsClient d3 = device("u2", "d3");
  EXPECT_EQ(texts_of(whole_history(d3, id)), texts);
}

}  // namespace
}  // namespace tidemark::testing
