// Field faults 1 to 7: delivery, offline and reconnect.
#include <algorithm>
#include <map>
#include <set>

#include "wire/dialect.h"
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DeliveryFaults : public BothDialects {
 protected:
  /// The rows that a device lacks of each conversation that changed, by pages of this size, as texts in their order.
  static std::vector<std::string> catch_up(WsClient& client, const std::string& id, std::uint64_t after,
                                           std::uint32_t limit = 0) {
    std::vector<std::string> texts;
    for (bool more = true; more;) {
      const pb::ConversationPage page = client.conversation_sync(id, after, limit);
      for (const pb::Message& row : page.messages()) texts.push_back(row.body().text());
      EXPECT_TRUE(!page.more() || page.covers().to() > after) << "a page that moves nothing";
      after = page.covers().to();
      more = page.more();
    }
    return texts;
  }
};
TM_IN_BOTH_DIALECTS(DeliveryFaults);

// The frozen process is a client that stops reading: the server sees the same, no bytes taken and no close.
TEST_P(DeliveryFaults, F01_FrozenReceiver) {
  WsClient u1 = device("u1");
  pb::Cursor saved;
  {
    WsClient frozen = device("u2");
    saved = frozen.cursor();
    for (const pb::Sent& sent : send_all(u1, user("u2"), numbered("m", 20))) EXPECT_FALSE(sent.duplicate());
    frozen.stream().abort();
  }
  WsClient back = device("u2", Hello{.cursor = saved});
  ASSERT_TRUE(back.wait_until([&] { return back.cursor().mark() >= 20; }));
  const std::string id = chat("u1", "u2");
  std::vector<std::string> got = back.texts(id);
  if (got.empty()) got = catch_up(back, id, 0);
  EXPECT_THAT(got, ElementsAreArray(numbered("m", 20)));
  EXPECT_THAT(texts_of(whole_history(u1, id)), ElementsAreArray(numbered("m", 20)));
  EXPECT_THAT(u1.stray_errors, IsEmpty()) << "nothing acknowledged is called failed later";
  EXPECT_THAT(u1.kicks, IsEmpty());
}

// Cut off for as long as it takes the others to send; how long is no matter to a server without timers on it.
TEST_P(DeliveryFaults, F02_CutOffOnBothSides) {
  const std::string id = chat("u1", "u2");
  WsClient u2 = device("u2");
  pb::Cursor saved;
  {
    WsClient u1 = device("u1");
    send_all(u2, user("u1"), numbered("m", 10));
    ASSERT_TRUE(u1.wait_until([&] { return u1.pushed.size() == 10; }));
    saved = u1.cursor();
    u1.stream().abort();
  }
  send_all(u2, user("u1"), numbered("a", 5));

  WsClient u1 = connect();
  ASSERT_TRUE(u1.hello(token("u1"), {.cursor = saved}).has_welcome());
  send_all(u1, user("u2"), numbered("b", 3));
  u1.sync();
  EXPECT_EQ(catch_up(u1, id, 10).size(), 8U) << "without a restart or a new login";
  WsClient third = device("u1", "d3");
  const std::vector<pb::Message> rows = whole_history(third, id);
  EXPECT_THAT(seqs_of(rows), ElementsAreArray(seqs_from(1, 18)));
  for (WsClient* each : {&u1, &u2}) EXPECT_THAT(texts_of(whole_history(*each, id)), ElementsAreArray(texts_of(rows)));
  std::vector<std::string> sorted = texts_of(rows);
  std::ranges::sort(sorted);
  EXPECT_THAT(sorted, ElementsAre("a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "m1", "m10", "m2", "m3", "m4", "m5",
                                  "m6", "m7", "m8", "m9"));
}

TEST_P(DeliveryFaults, F03_FirstMessageOfAStranger) {
  WsClient u3 = device("u3");
  pb::Cursor given;
  {
    WsClient first = device("u1");
    EXPECT_THAT(first.pushed, IsEmpty());
    given = first.cursor();
  }
  for (const char* name : {"u1", "never"}) {
    send_all(u3, user(name), {"first", "second"});
    WsClient back = connect();
    back.follow_pushes = false;  // what is pushed at once comes by the sync too
    const Hello hello = {.cursor = name == std::string("u1") ? given : pb::Cursor()};
    ASSERT_TRUE(back.hello(token(name), hello).has_welcome());
    const auto changed = back.sync();
    ASSERT_THAT(changed, SizeIs(1));
    EXPECT_EQ(changed.at(chat("u3", name)).unread(), 2U);
    EXPECT_EQ(changed.at(chat("u3", name)).peer(), user("u3"));
    EXPECT_THAT(catch_up(back, chat("u3", name), 0), ElementsAre("first", "second"));
  }
}

TEST_P(DeliveryFaults, F04_OfflineNoticesOnce) {
  WsClient u2 = device("u2");
  WsClient system = device("system");
  send_all(u2, user("u1"), numbered("n", 5));
  send_all(system, user("u1"), numbered("s", 5));
  WsClient u1 = connect();
  ASSERT_TRUE(u1.hello(token("u1")).has_welcome());
  EXPECT_THAT(u1.sync(), SizeIs(2));
  EXPECT_THAT(catch_up(u1, chat("u1", "u2"), 0), SizeIs(5));
  EXPECT_THAT(catch_up(u1, chat("u1", "system"), 0), SizeIs(5));
  u1.ack(u1.cursor().mark());
  EXPECT_THAT(u1.sync(), IsEmpty()) << "a second take gives nothing";

  // (a) It stays online.
  u2.sent(user("u1"), "live");
  ASSERT_TRUE(u1.wait_until([&] { return !u1.pushed.empty(); }));
  EXPECT_THAT(u1.texts(chat("u1", "u2")), ElementsAre("live"));
  EXPECT_THAT(u1.sync(), IsEmpty()) << "what came live is not handed out again";
  const pb::Cursor saved = u1.cursor();
  u1.stream().abort();
  // (b) It comes back.
  u2.sent(user("u1"), "missed");
  WsClient back = connect();
  ASSERT_TRUE(back.hello(token("u1"), {.cursor = saved}).has_welcome());
  // The little that it lacks is pushed at once, or it takes it; either way it is this one alone.
  ASSERT_TRUE(back.wait_until([&] { return !back.pushed.empty() || !back.hints.empty(); }));
  if (!back.hints.empty()) EXPECT_THAT(back.sync(), SizeIs(1));
  EXPECT_THAT(back.sync(), IsEmpty());
  EXPECT_THAT(back.pushed, SizeIs(::testing::Le(1U)));
  if (!back.pushed.empty()) EXPECT_THAT(back.texts(chat("u1", "u2")), ElementsAre("missed"));
  EXPECT_THAT(catch_up(back, chat("u1", "u2"), 6), ElementsAre("missed"));
}

TEST_P(DeliveryFaults, F05_KilledBetweenPages) {
  const std::string id = chat("u1", "u2");
  WsClient u2 = device("u2");
  send_all(u2, user("u1"), numbered("m", 100));
  pb::Cursor saved;
  {
    WsClient u1 = device("u1");
    saved = u1.cursor();
  }
  send_all(u2, user("u1"), numbered("gap ", 300));

  // The device is killed after every page and starts again from the place it had stored with the page's rows.
  std::vector<std::uint64_t> seqs;
  std::uint64_t place = 100;
  bool more = true;
  for (int page_number = 1; more; ++page_number) {
    WsClient u1 = connect();
    ASSERT_TRUE(u1.hello(token("u1"), {.cursor = saved}).has_welcome());
    const pb::ConversationPage page = u1.conversation_sync(id, place, 50);
    EXPECT_EQ(page.covers().after(), place);
    for (const pb::Message& row : page.messages()) {
      EXPECT_GT(row.seq(), place) << "nothing twice";
      EXPECT_LE(row.seq(), page.covers().to()) << "no place without its rows";
      seqs.push_back(row.seq());
    }
    place = page.covers().to();
    more = page.more();
    if (page_number == 3) send_all(u2, user("u1"), numbered("live ", 10));
    u1.stream().abort();
  }
  EXPECT_EQ(seqs, seqs_from(101, 410));

  // The index itself, in pages of one: the cursor moves only when all of it was handed out.
  for (const char* name : {"x", "y", "z"}) {
    WsClient other = device(name);
    other.sent(user("u1"), "hi");
  }
  std::set<std::string> found;
  pb::SyncRequest request;
  *request.mutable_cursor() = saved;
  request.set_limit(1);
  for (std::uint64_t reached = UINT64_MAX; reached > saved.mark();) {
    WsClient u1 = connect();
    ASSERT_TRUE(u1.hello(token("u1"), {.cursor = saved}).has_welcome());
    const pb::SyncPage page = u1.sync_page(request);
    ASSERT_LT(page.after(), reached);
    for (const pb::Change& change : page.changes()) EXPECT_TRUE(found.insert(change.conversation_id()).second);
    reached = page.after();
    request.set_p0(page.p0());
    request.set_p0_round(page.p0_round());
    request.set_below(page.after());
  }
  EXPECT_THAT(found, SizeIs(4));
}

TEST_P(DeliveryFaults, F06_ShortPagesSayThatThereIsMore) {
  WsClient owner = device("owner");
  pb::ClientFrame create;
  create.mutable_create_group()->set_title("a busy group");
  create.mutable_create_group()->add_members(user("u1"));
  const std::string id = owner.call(create).group().conversation_id();
  std::vector<std::uint64_t> posted;
  for (int i = 0; i < 2'500; ++i) {
    pb::ClientFrame frame = send_frame("", "m", new_id());
    frame.mutable_send()->set_conversation_id(id);
    posted.push_back(owner.post(std::move(frame)));
  }
  for (const std::uint64_t each : posted) ASSERT_TRUE(owner.answer(each).has_sent());

  WsClient u1 = connect();
  ASSERT_TRUE(u1.hello(token("u1")).has_welcome());
  EXPECT_EQ(u1.sync().at(id).head_seq(), 2'501U);
  // A gap this wide is answered by its newest page and a hole that is named; history fills the hole.
  const pb::ConversationPage newest = u1.conversation_sync(id, 0, 20);
  EXPECT_EQ(newest.covers().to(), 2'501U);
  EXPECT_EQ(newest.hole().to(), newest.covers().after());
  EXPECT_EQ(newest.messages_size(), 20);
  for (const std::uint32_t limit : {1U, 20U, 200U})
    EXPECT_EQ(seqs_of(whole_history(u1, id, limit)), seqs_from(1, 2'501)) << limit;
  // Going up there is no hole once the gap is small enough: each page says that more exists until there is none.
  for (const std::uint32_t limit : {1U, 20U, 200U}) {
    std::vector<std::uint64_t> seqs;
    std::uint64_t after = 1'501;
    for (bool more = true; more;) {
      const pb::ConversationPage page = u1.conversation_sync(id, after, limit);
      EXPECT_FALSE(page.has_hole());
      ASSERT_FALSE(page.messages().empty());
      for (const std::uint64_t seq : seqs_in(page.messages())) seqs.push_back(seq);
      after = page.covers().to();
      more = page.more();
      ASSERT_EQ(more, after < 2'501) << limit;
    }
    EXPECT_EQ(seqs, seqs_from(1'502, 2'501)) << limit;
  }
}

/// With the rates of the defaults.
class SignalFaults : public OwnServer {};
TM_IN_BOTH_DIALECTS(SignalFaults);

// The signals go to nobody: as many as the rate lets through are taken, beyond it each is answered by an error, or by
// nothing where no answer was asked for.
TEST_P(SignalFaults, F07_FiveThousandWhileAway) {
  serve({.settings = {"limits.ephemerals_per_second=10", "limits.ephemerals_burst=30"}});
  const std::string id = chat("u1", "u2");
  WsClient u2 = device("u2");
  const auto sent = send_all(u2, user("u1"), numbered("m", 5'000));
  EXPECT_EQ(sent.back().seq(), 5'000U);
  pb::ClientFrame typing;
  typing.mutable_ephemeral()->set_to(user("u1"));
  typing.mutable_ephemeral()->set_type("typing");
  const std::uint64_t mark = u2.cursor().mark();
  std::map<std::string, int> answers;
  for (int i = 0; i < 200; ++i) {
    const pb::ServerFrame answered = u2.call(typing);
    ASSERT_TRUE(answered.has_done() || answered.error().retryable()) << answered.ShortDebugString();
    ++answers[code_of(answered)];
  }
  EXPECT_GE(answers[""], 30) << "as many at once are allowed";
  EXPECT_GT(answers["RATE_LIMITED"], 0);
  EXPECT_EQ(answers[""] + answers["RATE_LIMITED"], 200);
  std::string unnumbered;
  encode_client_frame(GetParam(), typing, unnumbered);
  for (int i = 200; i < 10'000; ++i) u2.send_message(unnumbered);
  const pb::Change change = u2.conversation(id);
  EXPECT_EQ(change.head_seq(), 5'000U) << "they take no room";
  EXPECT_EQ(u2.cursor().mark(), mark);
  EXPECT_THAT(u2.stray_errors, IsEmpty());
  EXPECT_EQ(u2.sent(user("u1"), "last").seq(), 5'001U);

  WsClient u1 = connect();
  ASSERT_TRUE(u1.hello(token("u1")).has_welcome());
  u1.sync();
  EXPECT_EQ(u1.cursor().mark(), 5'001U);
  const std::vector<pb::Message> rows = whole_history(u1, chat("u1", "u2"));
  EXPECT_THAT(seqs_of(rows), ElementsAreArray(seqs_from(1, 5'001)));
  std::vector<std::string> texts = numbered("m", 5'000);
  texts.push_back("last");
  EXPECT_EQ(texts_of(rows), texts);
  EXPECT_THAT(u1.pushed, IsEmpty());
  EXPECT_THAT(u1.ephemerals, IsEmpty()) << "nor are they handed out later";
}

}  // namespace
}  // namespace tidemark::testing
