// The server dies, or its disk takes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::History;
using replica::Push;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Death = RoundFault::Death;
using Fate = MemoryDisk::Fate;

const ConversationId kChat("A_B");

auto sent_as(Seq seq, bool duplicate) {
  return AllOf(Field(&SentReply::seq, seq), Field(&SentReply::duplicate, duplicate));
}

/// The number of the send among a round's answers.
std::optional<Seq> acknowledged(const Outcome& outcome) {
  for (const auto& [done, answer, ended] : outcome.answers)
    if (const auto* sent = answer ? std::get_if<SentReply>(&*answer) : nullptr) return sent->seq;
  return std::nullopt;
}

/// The server dies as soon as an ack has left it.
void die_behind_the_ack(Scenario& s, Seq& acked) {
  s.telling = [&](const Outcome& outcome) {
    const auto seq = acknowledged(outcome);
    if (!seq) return;
    acked = *seq;
    s.telling = nullptr;
    s.at(1, [&s] { s.server_dies(Fate::lost); });
    s.at(2'000, [&s] { s.server_starts(); });
  };
}

TEST(Conformance, S15_ack_implies_durable) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  a1.says("B", "before");
  s.quiet();
  a1.forget();
  Seq acked;
  die_behind_the_ack(s, acked);
  a1.says("B", "m1");
  ASSERT_TRUE(s.until([&] { return s.starts() == 2; }));
  EXPECT_EQ(acked, Seq(2));
  ASSERT_THAT(s.log(kChat), SizeIs(2));
  EXPECT_EQ(s.log(kChat).at(acked).body.text, "m1") << "under the same number";
  s.quiet();
  EXPECT_THAT(a1.got<SentReply>(), Each(Field(&SentReply::seq, acked)));
  EXPECT_EQ(a1.row(kChat, acked).body.text, "m1");
}

struct Cut {
  const char* name;
  RoundFault fault;
  bool durable;
};

// Between a request that has come and an ack that has left.
const Cut kCuts[] = {
    {"received", {.dies = Death::before_round}, false},
    {"append", {.dies = Death::in_commit, .fails_write = true}, false},
    {"fsync, and the bytes are lost", {.dies = Death::in_commit, .fails_sync = 1}, false},
    {"fsync, and the bytes are there", {.dies = Death::in_commit, .fails_sync = 1, .unsynced = Fate::kept}, true},
    {"publish head", {.dies = Death::before_telling}, true},
    {"ack", {.dies = Death::before_delivery}, true},
};

TEST(Conformance, S128_crash_between_write_and_ack) {
  for (const auto& [name, fault, durable] : kCuts) {
    SCOPED_TRACE(name);
    Scenario s;
    Phone& a1 = s.phone("A1");
    Phone& b1 = s.phone("B1");
    s.server().strike_next_round(fault);
    a1.says("B", "m1");
    ASSERT_TRUE(s.until([&] { return s.starts() == 2; })) << "it has died, and is back";
    EXPECT_THAT(s.log(kChat), SizeIs(durable ? 1 : 0)) << "it was cut where it says";
    EXPECT_THAT(a1.got<SentReply>(), IsEmpty());
    s.quiet();
    EXPECT_THAT(s.texts_of(kChat), ElementsAre("m1")) << "exactly one entry";
    EXPECT_THAT(a1.asked<replica::Send>(), SizeIs(2));
    EXPECT_THAT(a1.got<SentReply>(), ElementsAre(sent_as(Seq(1), durable)));
    EXPECT_THAT(b1.texts(kChat), ElementsAre("m1")) << "everybody was told";
    EXPECT_THAT(b1.notified(kChat), ElementsAre(Seq(1)));
  }
}

TEST(Conformance, S128_crash_between_ack_and_fan_out) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  Phone& b1 = s.phone("B1");
  Seq acked;
  die_behind_the_ack(s, acked);
  b1.loses<Push>(1);  // the ack has left, the push has not
  a1.says("B", "m1");
  ASSERT_TRUE(s.until([&] { return s.starts() == 2; }));
  s.quiet();
  EXPECT_EQ(acked, Seq(1));
  EXPECT_THAT(s.texts_of(kChat), ElementsAre("m1"));
  EXPECT_THAT(b1.texts(kChat), ElementsAre("m1")) << "told after the restart";
  EXPECT_THAT(b1.notified(kChat), ElementsAre(Seq(1)));
}

// Here the last record is a batch that lies on the disk in part: what is read back ends before it. The log's bytes are
// the stores' own (S129 of the black box and of the store).
TEST(Conformance, S129_torn_tail) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  Phone& b1 = s.phone("B1");
  for (const char* text : {"m1", "m2", "m3"}) a1.says("B", text);
  s.quiet();
  ASSERT_THAT(a1.got<SentReply>(), SizeIs(3));
  s.server().strike_next_round({.dies = Death::in_commit, .fails_sync = 1, .unsynced = Fate::lost});
  a1.says("B", "torn");
  ASSERT_TRUE(s.until([&] { return s.starts() == 2; }));
  EXPECT_THAT(s.texts_of(kChat), ElementsAre("m1", "m2", "m3")) << "what was acknowledged, and nothing half";
  b1.says("A", "m4");
  s.quiet();
  EXPECT_THAT(s.texts_of(kChat), testing::UnorderedElementsAre("m1", "m2", "m3", "m4", "torn"));
  EXPECT_EQ(s.log(kChat).rbegin()->first, Seq(5)) << "the next number goes on";
}

TEST(Conformance, S140_disk_full) {
  Scenario s;
  Phone& a1 = s.phone("A1");
  Phone& b1 = s.phone("B1");
  s.posts("A", "B", 100);
  s.quiet();
  const auto log = s.log(kChat);
  s.server().disk().set_full(true);
  a1.forget();
  a1.says("B", "m 101");
  b1.reads(kChat, Seq(100));
  s.pass(20'000);
  std::vector<ErrorCode> refused;
  for (const Error& error : a1.got<Error>()) refused.push_back(error.code);
  EXPECT_THAT(refused, AllOf(Not(IsEmpty()), Each(ErrorCode::RETRY_LATER)));
  EXPECT_THAT(a1.got<SentReply>(), IsEmpty()) << "before any ack";
  ASSERT_THAT(a1.store().outbox(), SizeIs(1)) << "it waits";
  EXPECT_FALSE(s.server().writable());

  // Reads go on, for who is there and for who comes.
  Wire& wire = s.wire("B2");
  EXPECT_THAT(wire.ask<HistoryPage>(History{kChat, {}, {}, 50}).messages, SizeIs(50));
  EXPECT_THAT(wire.ask<replica::SyncAnswer>(replica::Sync{}).page.changes, SizeIs(1));
  b1.goes_offline();
  b1.comes_online();
  s.pass(5'000);
  EXPECT_EQ(b1.device().engine().link(), replica::LinkState::in_step);
  EXPECT_EQ(s.log(kChat), log);

  s.server().disk().set_full(false);
  s.quiet();
  EXPECT_EQ(s.starts(), 1) << "without a restart";
  EXPECT_TRUE(s.server().writable());
  EXPECT_THAT(a1.got<SentReply>(), ElementsAre(sent_as(Seq(101), false)));
  EXPECT_THAT(s.log(kChat), SizeIs(101));
  EXPECT_EQ(b1.row(kChat, Seq(101)).body.text, "m 101");
  EXPECT_EQ(s.listed("B", kChat).read, Seq(100));
}

}  // namespace
}  // namespace tidemark::sim
