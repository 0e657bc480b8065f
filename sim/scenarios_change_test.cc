// What is edited or deleted for oneself, on one device and on all others; and devices of different versions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace tidemark::sim {
namespace {

using replica::Push;
using replica::SyncAnswer;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const ConversationId kChat("A_B");

TEST(Field, F23_two_devices_edit_at_the_same_time) {
  constexpr int kRounds = 100;
  Scenario s;
  Phone& a1 = s.phone("A1");
  Phone& a2 = s.phone("A2");
  Phone& b1 = s.phone("B1");
  Phone& b2 = s.phone("B2");
  for (const char* text : {"1", "2", "3", "4"}) a1.says("B", text);
  s.quiet();
  b2.goes_offline();
  const auto edit = [](Phone& phone, Seq seq, const std::string& text) {
    phone.device().edit(kChat, seq, text, std::nullopt);
  };
  edit(a1, Seq(1), "1, edited");
  s.quiet();
  for (Phone* phone : {&a1, &a2, &b1}) {
    EXPECT_EQ(phone->rows(kChat), seqs(1, 4)) << "the order stays";
    EXPECT_THAT(phone->texts(kChat), ElementsAre("1, edited", "2", "3", "4"));
  }
  EXPECT_EQ(b1.shows(kChat).unread, (Unread{4, true})) << "an edit is no message";
  EXPECT_THAT(b1.notified(kChat), SizeIs(4));

  Seq revision;
  for (int round = 1; round <= kRounds; ++round) {
    const std::string here = fmt::format("here {}", round);
    const std::string there = fmt::format("there {}", round);
    s.at(s.dice().below(100), [&] { edit(a1, Seq(2), here); });
    s.at(s.dice().below(100), [&] { edit(a2, Seq(2), there); });
    s.pass(100);
    s.quiet();
    const Entry& row = s.log(kChat).at(Seq(2));
    EXPECT_GT(row.revision, revision);
    revision = row.revision;
    EXPECT_THAT(row.body.text, AnyOf(here, there));
    for (Phone* phone : {&a1, &a2, &b1}) {
      EXPECT_EQ(phone->row(kChat, Seq(2)).body.text, row.body.text) << "the one that was taken last";
      EXPECT_EQ(phone->row(kChat, Seq(2)).revision, revision);
    }
  }
  b2.comes_online();
  Phone& b3 = s.phone("B3");
  for (Phone* phone : {&b2, &b3}) {
    phone->opens(kChat);
    s.quiet();
    for (int pages = 0; pages < 20 && phone->state(kChat).bottom != Seq(0); ++pages) {
      phone->scrolls_back(kChat);
      s.quiet();
    }
    ASSERT_EQ(phone->rows(kChat), seqs(1, 4)) << phone->device().name().shown;
  }
  for (Phone* phone : {&b1, &b2, &b3}) {
    EXPECT_EQ(phone->row(kChat, Seq(2)).body.text, a1.row(kChat, Seq(2)).body.text);
    EXPECT_EQ(phone->shows(kChat).unread, (Unread{4, true}));
  }
}

TEST(Field, F25_deleted_and_cleared_on_one_device) {
  Scenario s;
  Phone& d1 = s.phone("A1");
  Phone& d2 = s.phone("A2");
  Phone& b1 = s.phone("B1");
  s.posts("B", "A", 50);
  s.quiet();
  d2.goes_offline();
  d1.scrolls_back(kChat);
  s.quiet();
  for (const std::uint64_t seq : {3, 11, 12, 30, 49}) d1.device().delete_for_me(kChat, {{Seq(seq - 1), Seq(seq)}});
  s.quiet();
  EXPECT_EQ(d1.shows(kChat).unread, (Unread{45, true}));
  d1.device().clear(kChat, Seq(50));
  s.quiet();
  b1.says("A", "the new one");
  s.quiet();
  d2.comes_online();
  s.quiet();
  Phone& d3 = s.phone("A3");
  const auto shows_one = [&](Phone& phone) {
    phone.opens(kChat);
    s.quiet();
    phone.scrolls_back(kChat);
    s.quiet();
    EXPECT_THAT(phone.texts(kChat), ElementsAre("the new one")) << phone.device().name().shown;
    EXPECT_EQ(phone.shows(kChat).unread, (Unread{1, true}));
    EXPECT_EQ(phone.shows(kChat).preview.text, "the new one");
  };
  for (Phone* phone : {&d1, &d2, &d3}) shows_one(*phone);
  s.server_dies(MemoryDisk::Fate::lost);
  s.server_starts();
  s.quiet();
  shows_one(d3);
  shows_one(s.phone("A4"));
  const auto page = s.wire("B2").ask<HistoryPage>(replica::History{kChat, {}, {}, 200});
  EXPECT_THAT(page.messages, SizeIs(51)) << "the other has them all";
  const auto own = s.wire("A5").ask<HistoryPage>(replica::History{kChat, {}, {}, 200});
  EXPECT_THAT(own.messages, SizeIs(1));
}

/// What a program that knows nothing of mutes, pins, mentions, drafts, settings and blocks makes of a frame: it passes
/// over them.
class OldVersion {
 public:
  static bool read(replica::ServerFrame& frame) {
    std::visit([](auto& answer) { read(answer); }, frame.answer);
    return true;
  }

 private:
  static void read(Change& change) {
    change.muted_until = change.pinned_at = 0;
    change.mentions = 0;
    change.mentioned_at = change.all_mentioned_at = {};
    for (Entry& entry : change.messages) read(entry);
  }
  static void read(Entry& entry) {
    entry.mentions.clear();
    entry.mention_all = false;
  }
  static void read(SyncAnswer& answer) {
    for (Change& change : answer.page.changes) read(change);
    read(answer.page.objects);
  }
  /// It knows what is deleted for oneself.
  static void read(std::vector<UserObject>& objects) {
    std::erase_if(objects, [](const UserObject& each) { return !std::holds_alternative<DeletedBlock>(each.what); });
  }
  static void read(ConversationPage& page) {
    for (Entry& entry : page.messages) read(entry);
  }
  static void read(HistoryPage& page) {
    for (Entry& entry : page.messages) read(entry);
  }
  static void read(Push& push) {
    for (PushItem& item : push.items) {
      if (item.objects) item.objects = known(*item.objects);
      item.mentioned = false;
      if (item.summary) item.summary = known(*item.summary);
      if (item.entry) item.entry = known(*item.entry);
    }
  }
  template <typename T>
  static std::shared_ptr<const T> known(T value) {
    read(value);
    return std::make_shared<const T>(std::move(value));
  }
  static void read(auto&) {}
};

/// Of a conversation, what both versions know.
Change known_to_both(const Phone& phone, const ConversationId& id) {
  Change change = phone.shows(id);
  change.muted_until = change.pinned_at = 0;
  change.mentions = 0;
  change.mentioned_at = change.all_mentioned_at = {};
  return change;
}

TEST(Conformance, S152_two_versions_of_the_client_on_one_user) {
  Scenario s;
  Phone& young = s.phone("A1");
  Phone& old = s.new_phone("A2");
  old.meets = [](replica::ServerFrame& frame) { return OldVersion::read(frame); };
  old.device().start({});
  Phone& b1 = s.phone("B1");
  const ConversationId group = s.group("B", {"A", "C"});
  s.quiet();
  const auto agree = [&](const std::string& when) {
    s.quiet();
    for (const ConversationId& id : {kChat, group}) {
      if (young.store().conversation(id) == nullptr) continue;
      EXPECT_EQ(known_to_both(young, id), known_to_both(old, id)) << id.value << " " << when;
      EXPECT_EQ(young.rows(id), old.rows(id)) << id.value << " " << when;
      EXPECT_EQ(young.texts(id), old.texts(id)) << id.value << " " << when;
    }
  };
  for (int i = 1; i <= 5; ++i) b1.says("A", fmt::format("m {}", i));
  b1.device().send({}, group, "you", {}, {{UserId("A")}, false});
  b1.device().send({}, group, "all of you", {}, {{}, true});
  agree("after messages, some of which mention him");
  EXPECT_EQ(young.shows(group).mentions, 1U);
  young.device().mute(kChat, kForEver);
  young.device().pin(group, true);
  SavedDraft draft{kChat};
  draft.body.text = "begun";
  young.device().set_object({draft});
  young.device().set_object({Setting{"theme", "1"}});
  agree("after what only the one of them knows");
  EXPECT_EQ(young.shows(kChat).muted_until, kForEver);
  EXPECT_EQ(old.shows(kChat).muted_until, 0);
  old.reads(kChat, Seq(3));
  old.says_in(group, "from the old one");
  b1.device().edit(kChat, Seq(2), "m 2, edited", std::nullopt);
  b1.device().recall(kChat, Seq(4));
  agree("after reading, edits and a recall");
  EXPECT_EQ(young.shows(kChat).read, Seq(3));
  EXPECT_EQ(young.shows(kChat).muted_until, kForEver) << "what the old one does not know, it leaves alone";
  old.goes_offline();
  young.device().pin(kChat, true);
  b1.says("A", "while it was away");
  old.comes_online();
  agree("after having been away");
  young.device().delete_for_me(kChat, {{Seq(0), Seq(1)}});
  agree("after a message was deleted for oneself");
  s.throw_away(old);
}

}  // namespace
}  // namespace tidemark::sim
