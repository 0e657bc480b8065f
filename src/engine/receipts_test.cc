// Peer receipts and unread totals: who is told what of whom, from where it is taken, and that a cache of totals is
// never but the totals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/totals.h"
#include "engine/test_world.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Result<Receipts> receipts_of(EngineWorld& world, const std::string& user, const std::string& conversation) {
  StoreView view = world.view();
  return read_receipts(view, world.params(), {UserId(user), ConversationId(conversation), {}});
}

/// How far the only other one has read, and what has reached him.
std::pair<std::uint64_t, std::uint64_t> peer_of(EngineWorld& world, const std::string& user,
                                                const std::string& conversation) {
  const auto told = receipts_of(world, user, conversation);
  EXPECT_TRUE(told.has_value() && told->receipts.size() == 1);
  if (!told || told->receipts.size() != 1) return {};
  return {told->receipts[0].read.value, told->receipts[0].delivered.value};
}

std::uint64_t log_in(EngineWorld& world, const std::string& user, const std::string& device) {
  LoginCommand command;
  command.user = UserId(user);
  command.device = DeviceId(device);
  command.install = InstallId("i-" + device);
  return world.get<LoginReply>(command).generation;
}

/// The device has acknowledged this much of its user's index.
void acknowledge(EngineWorld& world, const std::string& user, const std::string& device, std::uint64_t generation,
                 std::uint64_t mark, std::uint64_t round = 0) {
  world.call(DeviceSeenCommand{UserId(user), DeviceId(device), generation, Mark(mark), 0, round});
}

MutateCommand set(const std::string& user, decltype(MutateCommand::change) change) {
  return {UserId(user), DeviceId(user + "1"), {}, 0, std::move(change)};
}

MutateCommand share(const std::string& user, bool on) {
  return set(user, SettingCommand{UserId(user), "receipts", on ? "" : "false"});
}

TEST(Conformance, S54_receipts_of_the_other_move_no_mark_of_mine) {
  EngineWorld world;
  for (int i = 0; i < 30; ++i) world.send("a", "b", "x");
  const Mark mark = world.view().user(UserId("a")).mark;
  EXPECT_EQ(peer_of(world, "a", "a_b").first, 0u);
  world.get<MutatedReply>(world.read_to("b", "a_b", 30));
  EXPECT_EQ(peer_of(world, "a", "a_b").first, 30u);
  EXPECT_EQ(world.view().user(UserId("a")).mark, mark);
  for (const Notice& notice : world.take_notices())
    if (!notice.entry) EXPECT_EQ(receiver(notice, "a"), nullptr);

  world.get<MutatedReply>(share("b", false));
  EXPECT_THAT(receipts_of(world, "a", "a_b")->receipts, IsEmpty()) << "nothing of his leaves the server";
  const auto his = receipts_of(world, "b", "a_b");
  EXPECT_TRUE(his->off);
  EXPECT_THAT(his->receipts, IsEmpty()) << "and he sees none of others";
  world.get<MutatedReply>(share("b", true));
  EXPECT_EQ(peer_of(world, "a", "a_b").first, 30u);
  EXPECT_THAT(receipts_of(world, "b", "a_b")->receipts, SizeIs(1));
}

TEST(Conformance, S55_delivered_by_one_device_and_not_read) {
  EngineWorld world;
  const std::uint64_t b1 = log_in(world, "b", "B1");
  log_in(world, "b", "B2");
  for (int i = 0; i < 30; ++i) world.send("a", "b", "x");
  EXPECT_EQ(peer_of(world, "a", "a_b"), std::pair(0ul, 0ul));
  acknowledge(world, "b", "B1", b1, world.view().user(UserId("b")).mark.value);
  EXPECT_EQ(peer_of(world, "a", "a_b"), std::pair(0ul, 30ul));
  world.send("a", "b", "more");
  EXPECT_EQ(peer_of(world, "a", "a_b").second, 30u) << "it stays so, and what came since is not";
}

TEST(Receipts, what_was_delivered_stays_so_though_the_head_runs_ahead) {
  EngineWorld world;
  const std::uint64_t generation = log_in(world, "b", "B1");
  for (int i = 0; i < 10; ++i) world.send("a", "b", "x");
  const std::uint64_t mark = world.view().user(UserId("b")).mark.value;
  const std::uint64_t round = world.view().round();
  for (int i = 0; i < 10; ++i) world.send("a", "b", "y");
  acknowledge(world, "b", "B1", generation, mark, round);
  EXPECT_EQ(peer_of(world, "a", "a_b"), std::pair(0ul, 10ul));
  acknowledge(world, "b", "B1", generation, 1, 1);
  EXPECT_EQ(peer_of(world, "a", "a_b").second, 10u) << "it only moves up";
  acknowledge(world, "b", "B1", generation, 1'000'000, 1'000'000);
  EXPECT_EQ(peer_of(world, "a", "a_b").second, 20u) << "and never beyond what there is";
}

TEST(Receipts, what_has_come_to_a_device_that_is_forgotten_has_come) {
  EngineOptions options;
  options.params.devices.ended_kept = 0;
  EngineWorld world(options);
  const std::uint64_t generation = log_in(world, "b", "B1");
  world.send("a", "b", "x");
  acknowledge(world, "b", "B1", generation, world.view().user(UserId("b")).mark.value);
  EndSessionsCommand logout;
  logout.user = UserId("b");
  logout.device = DeviceId("B1");
  world.get<DevicesReply>(logout);
  ASSERT_THAT(world.view().devices(UserId("b")), IsEmpty());
  world.send("a", "b", "more");
  EXPECT_EQ(peer_of(world, "a", "a_b"), std::pair(0ul, 1ul));
}

TEST(Receipts, what_had_come_before_he_left_is_not_taken_back_when_he_is_there_again) {
  EngineWorld world;
  const std::uint64_t generation = log_in(world, "b", "B1");
  const Group group = make_group(world, "a", {"b"});
  world.send("a", group.id, "x");
  world.get<GroupReply>(remove("a", group, "b"));
  const std::uint64_t left = world.view().line(ConversationId(group.id)).seq.value;
  acknowledge(world, "b", "B1", generation, 1'000, world.view().round());
  world.send("a", group.id, "while he was away");
  world.get<GroupReply>(add("a", group, "b"));
  EXPECT_EQ(peer_of(world, "a", group.id), std::pair(0ul, left));
}

TEST(Receipts, whoever_has_read_it_has_received_it) {
  EngineWorld world;
  world.send("a", "b", "x");
  world.get<MutatedReply>(world.read_to("b", "a_b", 1));
  EXPECT_EQ(peer_of(world, "a", "a_b"), std::pair(1ul, 1ul));
}

TEST(Receipts, are_for_members_of_conversations_that_are_not_too_large) {
  EngineOptions options;
  options.params.small_max = 3;
  EngineWorld world(options);
  const Group group = make_group(world, "a", {"b", "c"});
  const std::uint64_t seq = world.send("a", group.id, "x").seq.value;
  world.get<MutatedReply>(world.read_to("b", group.id, seq));
  const auto told = receipts_of(world, "a", group.id);
  ASSERT_TRUE(told.has_value());
  ASSERT_THAT(told->receipts, SizeIs(2));
  EXPECT_EQ(told->receipts[0].read, Seq(seq));
  EXPECT_EQ(told->receipts[1].read, Seq());
  EXPECT_EQ(receipts_of(world, "d", group.id).error().code, ErrorCode::CONVERSATION_NOT_FOUND);
  world.get<GroupReply>(remove("c", group, "c"));
  EXPECT_EQ(receipts_of(world, "c", group.id).error().code, ErrorCode::NOT_MEMBER);
  EXPECT_THAT(receipts_of(world, "a", group.id)->receipts, SizeIs(1)) << "and of those who left nothing is told";
}

TEST(Receipts, the_last_of_a_round_is_found_in_any_log) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& rounds) {
    EngineWorld world;
    const std::uint64_t generation = log_in(world, "b", "B1");
    for (const std::uint8_t size : rounds) {
      std::vector<std::optional<Result<Reply>>> answers(1 + size % 4);
      for (auto& answer : answers) world.submit(world.message("a", "b", "x"), &answer);
      world.run();
    }
    const std::uint64_t last = world.view().round();
    const std::vector<Entry> log = log_of(world, "a_b");
    if (log.empty()) return;
    const std::uint64_t round = *rc::gen::inRange<std::uint64_t>(0, last + 1);
    std::uint64_t naive = 0;
    for (const Entry& entry : log)
      if (entry.round <= round) naive = entry.seq.value;
    acknowledge(world, "b", "B1", generation, 0, round);
    RC_ASSERT(peer_of(world, "a", "a_b").second == naive);
  }));
}

Totals fresh_totals(EngineWorld& world, const std::string& user) {
  StoreView view = world.view();
  TotalsMemory memory;
  return read_totals(view, world.params(), UserId(user), world.clock.wall, memory).value();
}

TEST(Conformance, S62_muted_conversations_are_counted_apart) {
  EngineWorld world;
  for (int i = 0; i < 3; ++i) world.send("b", "a", "x");
  for (int i = 0; i < 5; ++i) world.send("c", "a", "x");
  world.get<MutatedReply>(set("a", MuteCommand{UserId("a"), ConversationId("a_c"), kForEver}));
  const Totals totals = fresh_totals(world, "a");
  EXPECT_EQ(totals.unread, 3u);
  EXPECT_EQ(totals.muted_unread, 5u);
  EXPECT_EQ(totals.badge, 3u);
  // A mention in a muted conversation is in the badge, and counts as one.
  const Totals mentioned = sum_of(
      {{ConversationId("a_b"), {{3, true}, 1, false, 0}}, {ConversationId("a_c"), {{5, true}, 2, false, kForEver}}}, 0);
  EXPECT_EQ(mentioned.mentions, 3u);
  EXPECT_EQ(mentioned.badge, 5u);
  EXPECT_EQ(mentioned.muted_unread, 5u);
}

TEST(Totals, a_message_that_names_me_and_means_everybody_is_one_mention) {
  EngineWorld world;
  const Group group = make_group(world, "a", {"b"});
  SendCommand both = world.message("b", group.id, "look");
  both.mentions = {UserId("a")};
  both.mention_all = true;
  world.get<SentReply>(both);
  EXPECT_EQ(fresh_totals(world, "a").mentions, 1u);
  SendCommand all = world.message("b", group.id, "all");
  all.mention_all = true;
  world.get<SentReply>(all);
  EXPECT_EQ(fresh_totals(world, "a").mentions, 2u);
}

TEST(Conformance, S63_a_mute_ends_at_its_server_time) {
  EngineWorld world;
  world.send("b", "a", "x");
  world.get<MutatedReply>(set("a", MuteCommand{UserId("a"), ConversationId("a_b"), world.clock.wall + 60'000}));
  StoreView view = world.view();
  TotalsMemory memory;
  const auto at = [&](std::int64_t now_ms) {
    return read_totals(view, world.params(), UserId("a"), now_ms, memory)->muted_unread;
  };
  EXPECT_EQ(at(world.clock.wall + 59'999), 1u);
  EXPECT_EQ(at(world.clock.wall + 60'000), 0u) << "though nothing changed and the answer comes from the cache";
}

TEST(Totals, flags_and_removed_conversations) {
  EngineWorld world;
  world.send("b", "a", "x");
  world.get<MutatedReply>(world.read_to("a", "a_b", 1));
  world.get<MutatedReply>(set("a", MarkUnreadCommand{UserId("a"), ConversationId("a_b")}));
  EXPECT_EQ(fresh_totals(world, "a").flagged, 1u);
  EXPECT_EQ(fresh_totals(world, "a").badge, 0u);
  world.send("c", "a", "x");
  world.get<MutatedReply>(set("a", RemoveCommand{UserId("a"), ConversationId("a_c"), Seq()}));
  EXPECT_EQ(fresh_totals(world, "a").unread, 0u);
}

TEST(Totals, a_cache_that_is_brought_up_is_the_same_as_none) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& steps) {
    EngineOptions options;
    options.state.block_rows = 2;
    EngineWorld world(options);
    TotalsMemory memory;
    const std::vector<std::string> peers = {"b", "c", "d", "e"};
    for (const std::uint16_t step : steps) {
      const std::string& peer = peers[step % 4];
      const ConversationId id("a_" + peer);
      switch (step / 4 % 6) {
        case 0:
        case 1:
          world.send(peer, "a", "x");
          break;
        case 2:
          world.call(world.read_to("a", id.value, step / 24 % 5));
          break;
        case 3:
          world.call(set("a", MuteCommand{UserId("a"), id, step / 24 % 2 == 0 ? kForEver : 0}));
          break;
        case 4:
          world.call(set(peer, RecallCommand{UserId(peer), DeviceId(peer + "1"), id, Seq(1 + step / 24 % 5), false}));
          break;
        default:
          world.call(set("a", RemoveCommand{UserId("a"), id, Seq()}));
      }
      if (step % 3 != 0) continue;
      StoreView view = world.view();
      const auto cached = read_totals(view, world.params(), UserId("a"), world.clock.wall, memory);
      RC_ASSERT(cached.has_value());
      RC_ASSERT(*cached == fresh_totals(world, "a"));
      RC_ASSERT(memory.parts.size() <= peers.size());
    }
  }));
}

}  // namespace
}  // namespace tidemark
