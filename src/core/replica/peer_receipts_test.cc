// How far others have read, as a device holds it, and totals by the server's clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

MutateCommand change(const UserId& user, decltype(MutateCommand::change) change) {
  return {user, DeviceId("elsewhere"), {}, 0, std::move(change)};
}

/// Anna's device comes online and looks at the conversation.
TestLink& join_and_watch(TestServer& server, TestDevice& device, const ConversationId& conversation) {
  TestLink& link = join(server, device);
  EXPECT_TRUE(device.replica->watch_receipts(device.now, {conversation}).has_value());
  device.take();
  settle(server, device, link);
  return link;
}

TEST(PeerReceipts, AreAskedOnceAndThenTold) {
  TestServer server;
  server.send(kAnna, kBen, "one");
  TestDevice device(kAnna);
  join_and_watch(server, device, kChat);
  EXPECT_THAT(device.replica->receipts(kChat), ElementsAre(Receipt{kBen, Seq(0), Seq(0)}));
  device.frame({0, Receipts{kChat, {{kBen, Seq(1), Seq(1)}}, false}});
  EXPECT_THAT(device.replica->receipts(kChat), ElementsAre(Receipt{kBen, Seq(1), Seq(1)}));
  device.frame({0, Receipts{kChat, {{kBen, Seq(0), Seq(1)}}, false}});
  EXPECT_THAT(device.replica->receipts(kChat), ElementsAre(Receipt{kBen, Seq(1), Seq(1)})) << "they only move up";
  EXPECT_THAT(device.seen<ReceiptsEvent>(), SizeIs(3));
  ASSERT_TRUE(device.replica->watch_receipts(device.now, {}).has_value());
  device.take();
  EXPECT_FALSE(std::get<AskReceipts>(device.expect<AskReceipts>().operation).watch);
  device.frame({0, Receipts{kChat, {{kBen, Seq(1), Seq(1)}}, false}});
  EXPECT_THAT(device.replica->receipts(kChat), IsEmpty());
}

TEST(PeerReceipts, AreAskedAnewOnEachLink) {
  TestServer server;
  server.send(kAnna, kBen, "one");
  TestDevice device(kAnna);
  TestLink& link = join_and_watch(server, device, kChat);
  device.disconnect();
  EXPECT_THAT(device.replica->receipts(kChat), IsEmpty());
  server.disconnect(link);
  ASSERT_TRUE(server.run(change(kBen, ReadCommand{kBen, kChat, Seq(1)})).has_value());
  join(server, device);
  EXPECT_THAT(device.replica->receipts(kChat), ElementsAre(Receipt{kBen, Seq(1), Seq(1)}));
  EXPECT_EQ(device.replica->watch_receipts(device.now, {ConversationId("1001_9")}).error().code,
            ErrorCode::CONVERSATION_NOT_FOUND);
}

TEST(PeerReceipts, AreAskedAnewOfWhatBeginsOnceMoreOnARestoredServer) {
  TestServer server;
  const TestServer backup = server;
  server.send(kAnna, kBen, "lost");
  TestDevice device(kAnna);
  join_and_watch(server, device, kChat);
  device.disconnect();
  server.restore(backup);
  TestLink& link = server.connect(kAnna);
  device.connect();
  answer(server, device, link, device.expect<Hello>());
  answer(server, device, link, device.expect<Jumps>());
  answer(server, device, link, device.expect<AskReceipts>());
  server.send(kAnna, kBen, "it begins once more");
  settle(server, device, link);
  EXPECT_THAT(device.replica->receipts(kChat), ElementsAre(Receipt{kBen, Seq(0), Seq(0)}));
}

TEST(PeerReceipts, AreAskedAnewByWhoComesBackIntoAGroup) {
  TestServer server;
  const ConversationId group = server.create_group(kBen, {kAnna});
  server.send_to(kBen, group, "one");
  TestDevice device(kAnna);
  TestLink& link = join_and_watch(server, device, group);
  const auto ben_to = [&](std::uint64_t seq) { return ElementsAre(Receipt{kBen, Seq(seq), Seq(seq)}); };
  ASSERT_THAT(device.replica->receipts(group), SizeIs(1));
  ASSERT_TRUE(server.run(RemoveMemberCommand{kBen, DeviceId("other"), group, kAnna}).has_value());
  settle(server, device, link);
  EXPECT_THAT(device.replica->receipts(group), IsEmpty()) << "they are no longer his";
  ASSERT_TRUE(server.run(AddMembersCommand{kBen, DeviceId("other"), group, {kAnna}}).has_value());
  const Seq head = server.send_to(kBen, group, "two").seq;
  ASSERT_TRUE(server.run(change(kBen, ReadCommand{kBen, group, head})).has_value());
  settle(server, device, link);
  EXPECT_THAT(device.replica->receipts(group), ben_to(head.value));
}

TEST(Conformance, S63_both_devices_end_a_mute_at_server_time) {
  TestServer server;
  server.send(kBen, kAnna, "one");
  const std::int64_t until = server.wall_ms + 60'000;
  ASSERT_TRUE(server.run(change(kAnna, MuteCommand{kAnna, kChat, until})).has_value());
  TestDevice right(kAnna, DeviceId("A1"));
  TestDevice slow(kAnna, DeviceId("A2"));
  slow.now.wall_ms -= 600'000;
  join(server, right);
  join(server, slow);
  const std::int64_t now_ms = server.wall_ms;
  for (TestDevice* device : {&right, &slow}) {
    const auto muted_after = [&](std::int64_t ms) {
      return device->replica->totals(device->now.wall_ms + ms).muted_unread;
    };
    EXPECT_EQ(muted_after(until - now_ms - 1'000), 1u);
    EXPECT_EQ(muted_after(until - now_ms + 1'000), 0u);
    EXPECT_EQ(device->replica->totals(device->now.wall_ms + until - now_ms + 1'000).unread, 1u);
  }
}

}  // namespace
}  // namespace tidemark::replica
