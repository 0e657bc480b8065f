// Rows whose bodies came cut: fetched once, kept, and never put over what is newer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::SizeIs;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");

MutateCommand by_ben(decltype(MutateCommand::change) change) {
  return {kBen, DeviceId("b"), {}, 0, std::move(change)};
}

class SlimRows : public ::testing::Test {
 protected:
  SlimRows() { server.params.inline_bytes = 64; }
  void begin() {
    server.send(kBen, kAnna, long_text('x'));
    link = &join(server, device);
    device.events.clear();
  }
  static std::string long_text(char c) { return std::string(500, c); }
  const Entry& row(std::uint64_t seq = 1) const { return *device.store.row(kChat, Seq(seq)); }
  void deliver() { settle(server, device, *link); }
  void edit(char c) {
    EditCommand command{kBen, DeviceId("b"), kChat, Seq(1), {}, {}};
    command.body.text = long_text(c);
    ASSERT_TRUE(server.run(by_ben(command)).has_value());
  }
  void fetch() {
    ASSERT_TRUE(device.replica->fetch_body(device.now, ++asked, kChat, Seq(1)).has_value());
    device.take();
  }

  TestServer server;
  TestDevice device{kAnna};
  TestLink* link = nullptr;
  std::uint64_t asked = 0;
};

TEST_F(SlimRows, AreFetchedWhenSomebodyAsks) {
  begin();
  EXPECT_EQ(row().body.text, std::string(64, 'x'));
  ASSERT_TRUE(row().body.cut.has_value());
  EXPECT_EQ(row().body.cut->size_bytes, 500u);
  fetch();
  deliver();
  EXPECT_EQ(row().body.text, long_text('x'));
  EXPECT_FALSE(row().body.cut.has_value());
  ASSERT_THAT(device.seen<BodyEvent>(), SizeIs(1));
  EXPECT_TRUE(device.seen<BodyEvent>()[0].fetched.has_value());
  ASSERT_THAT(device.seen<MessageEvent>(), SizeIs(1));
  EXPECT_FALSE(device.seen<MessageEvent>()[0].appeared);
  device.start();
  EXPECT_EQ(row().body.text, long_text('x')) << "it is stored";
}

TEST_F(SlimRows, APushedOneIsCutToo) {
  begin();
  server.send(kBen, kAnna, long_text('y'));
  deliver();
  EXPECT_TRUE(row(2).body.cut.has_value());
  EXPECT_EQ(device.object(kChat).preview.text, std::string(64, 'y'));
}

TEST_F(SlimRows, AnEditAndARecallTakeTheirPlace) {
  begin();
  fetch();
  deliver();
  edit('z');
  deliver();
  EXPECT_EQ(row().body.text, std::string(64, 'z'));
  ASSERT_TRUE(row().body.cut.has_value()) << "the new one is to be asked for again";
  fetch();
  deliver();
  EXPECT_EQ(row().body.text, long_text('z'));
  ASSERT_TRUE(server.run(by_ben(RecallCommand{kBen, DeviceId("b"), kChat, Seq(1), false})).has_value());
  deliver();
  EXPECT_EQ(row().body, Body());
}

TEST_F(SlimRows, AnAnswerFromBeforeAnEditOrARecallIsDropped) {
  begin();
  fetch();
  const Request question = device.expect<AskBody>();
  server.receive(*link, question);
  ServerFrame late = std::move(link->down.front());
  link->down.pop_front();
  edit('z');
  deliver();
  device.frame(std::move(late));
  EXPECT_EQ(row().body.text, std::string(64, 'z'));
  EXPECT_EQ(device.seen<BodyEvent>().size(), 1u);
  fetch();
  server.receive(*link, device.expect<AskBody>());
  late = std::move(link->down.front());
  link->down.pop_front();
  ASSERT_TRUE(server.run(by_ben(RecallCommand{kBen, DeviceId("b"), kChat, Seq(1), false})).has_value());
  deliver();
  device.frame(std::move(late));
  EXPECT_EQ(row().body, Body()) << "nothing brings it back";
  fetch();
  deliver();
  EXPECT_EQ(device.seen<BodyEvent>().back().fetched.error().code, ErrorCode::MESSAGE_DELETED);
}

TEST_F(SlimRows, AnAnswerFromAfterAnEditThatIsStillOnItsWayIsTaken) {
  begin();
  edit('z');
  link->down.clear();  // its push is lost
  fetch();
  deliver();
  EXPECT_EQ(row().body.text, long_text('z'));
  EXPECT_EQ(row().revision, Seq(2));
}

TEST_F(SlimRows, WhatIsHeldWholeIsNotLostToAPageThatCutsIt) {
  begin();
  fetch();
  deliver();
  MutateCommand reaction = by_ben(ReactCommand{kBen, DeviceId("b"), kChat, Seq(1), "y", true});
  ASSERT_TRUE(server.run(reaction).has_value());
  link->down.clear();  // missed: a page brings the row again
  server.send(kBen, kAnna, "short");
  deliver();
  device.advance(600);
  deliver();
  EXPECT_THAT(row().reactions, SizeIs(1));
  EXPECT_EQ(row().body.text, long_text('x'));
}

TEST_F(SlimRows, OnesOwnStaysWhole) {
  begin();
  device.send(kBen, long_text('m'));
  deliver();
  EXPECT_EQ(row(2).body.text, long_text('m'));
  EXPECT_TRUE(device.store.outbox().empty());
}

}  // namespace
}  // namespace tidemark::replica
