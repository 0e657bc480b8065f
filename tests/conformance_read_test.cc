// Read pointers and unread numbers: the scenarios that need a real server. That notifications are withdrawn (in S45) is
// shown in hooks_test.cc.
#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class ReadConformance : public BothDialects {
 protected:
  /// The newest summary that was pushed to a client for a conversation.
  static const pb::Change* summary(const WsClient& client, const std::string& id) {
    const pb::Change* found = nullptr;
    for (const pb::PushItem& item : client.pushed)
      if (item.has_summary() && item.summary().conversation_id() == id) found = &item.summary();
    return found;
  }
};
TM_IN_BOTH_DIALECTS(ReadConformance);

TEST_P(ReadConformance, S45_ReadOnAnotherDevice) {
  const std::string id = chat("a", "b");
  WsClient b = device("b");
  send_all(b, user("a"), numbered("m", 30));
  WsClient a1 = device("a", "A1");
  a1.read(id, 20);
  WsClient a2 = device("a", "A2");
  ASSERT_EQ(a2.conversation(id).read_seq(), 20U);

  const pb::Mutated read = a1.read(id, 30);
  EXPECT_EQ(read.read_seq(), 30U);
  EXPECT_EQ(read.unread(), 0U);
  ASSERT_TRUE(a2.wait_until([&] { return summary(a2, id) != nullptr; }));
  EXPECT_EQ(summary(a2, id)->read_seq(), 30U);
  EXPECT_EQ(summary(a2, id)->unread(), 0U);
}

TEST_P(ReadConformance, S46_ReadsOutOfOrder) {
  const std::string id = chat("a", "b");
  WsClient b = device("b");
  send_all(b, user("a"), numbered("m", 30));
  WsClient a1 = device("a", "A1");
  WsClient a2 = device("a", "A2");
  const std::uint64_t mark = a1.read(id, 30).mark();
  const pb::Mutated late = a2.read(id, 25);
  EXPECT_EQ(late.read_seq(), 30U);
  EXPECT_EQ(late.unread(), 0U);
  EXPECT_EQ(late.mark(), mark) << "nothing changed, so no mark moves";
  EXPECT_EQ(a1.conversation(id).read_seq(), 30U);
}

TEST_P(ReadConformance, S49_ReadBeyondTheHead) {
  const std::string id = chat("a", "b");
  WsClient b = device("b");
  send_all(b, user("a"), numbered("m", 22));
  WsClient a1 = device("a");
  const pb::Mutated read = a1.read(id, 99);
  EXPECT_EQ(read.read_seq(), 22U);
  EXPECT_TRUE(read.clamped());
  EXPECT_EQ(read.unread(), 0U);
  EXPECT_EQ(b.sent(user("a"), "m23").seq(), 23U);
  EXPECT_EQ(a1.conversation(id).unread(), 1U);
  EXPECT_EQ(a1.conversation(id).read_seq(), 22U);
}

TEST_P(ReadConformance, S50_MarkedUnread) {
  const std::string id = chat("a", "b");
  WsClient b = device("b");
  send_all(b, user("a"), numbered("m", 30));
  WsClient a1 = device("a", "A1");
  a1.read(id, 30);
  WsClient a2 = device("a", "A2");

  const pb::Mutated flagged = a1.mark_unread(id);
  EXPECT_TRUE(flagged.unread_flag());
  EXPECT_EQ(flagged.read_seq(), 30U);
  EXPECT_EQ(flagged.unread(), 0U);
  ASSERT_TRUE(a2.wait_until([&] { return summary(a2, id) != nullptr; }));
  EXPECT_TRUE(summary(a2, id)->unread_flag());
  EXPECT_EQ(summary(a2, id)->read_seq(), 30U);
  EXPECT_EQ(summary(a2, id)->unread(), 0U);

  EXPECT_TRUE(a1.read(id, 29).unread_flag()) << "a read below the pointer is no reading";
  EXPECT_FALSE(a2.read(id, 30).unread_flag());
  ASSERT_TRUE(a1.wait_until([&] { return summary(a1, id) != nullptr && !summary(a1, id)->unread_flag(); }));
  EXPECT_FALSE(a2.conversation(id).unread_flag());
}

TEST_P(ReadConformance, S51_OwnSendReadsNothing) {
  const std::string id = chat("a", "b");
  WsClient b = device("b");
  send_all(b, user("a"), numbered("m", 30));
  WsClient a1 = device("a", "A1");
  a1.read(id, 20);
  WsClient a2 = device("a", "A2");
  EXPECT_EQ(a1.sent(user("b"), "a quick reply").seq(), 31U);
  for (WsClient* device : {&a1, &a2}) {
    EXPECT_EQ(device->conversation(id).unread(), 10U);
    EXPECT_EQ(device->conversation(id).read_seq(), 20U);
  }
}

TEST_P(ReadConformance, S64_UnreadIsCapped) {
  const std::string id = chat("a", "b");
  WsClient b = device("b");
  send_all(b, user("a"), numbered("m", 5'000));
  WsClient a1 = device("a");
  EXPECT_EQ(a1.conversation(id).unread(), 999U);
  EXPECT_FALSE(a1.conversation(id).unread_exact());
  const pb::Mutated read = a1.read(id, 4'100);
  EXPECT_EQ(read.unread(), 900U);
  EXPECT_TRUE(read.unread_exact());
  EXPECT_EQ(a1.conversation(id).unread(), 900U);
  EXPECT_TRUE(a1.conversation(id).unread_exact());
}

class ReadOnItsOwn : public OwnServer {};
TM_IN_BOTH_DIALECTS(ReadOnItsOwn);

TEST_P(ReadOnItsOwn, S51_OwnSendReadsAllWherePolicySaysSo) {
  serve({.settings = {"read_on_send=true"}});
  const std::string id = chat("a", "b");
  WsClient b = device("b");
  send_all(b, user("a"), numbered("m", 30));
  WsClient a1 = device("a", "A1");
  a1.read(id, 20);
  WsClient a2 = device("a", "A2");
  a1.sent(user("b"), "a quick reply");
  for (WsClient* device : {&a1, &a2}) {
    EXPECT_EQ(device->conversation(id).unread(), 0U);
    EXPECT_EQ(device->conversation(id).read_seq(), 31U);
  }
}

}  // namespace
}  // namespace tidemark::testing
