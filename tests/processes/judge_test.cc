// Each of the judge's findings: a run that holds, with one thing wrong.
#include "processes/judge.h"

#include <gtest/gtest.h>

#include "sim/run_context.h"
#include "store/keys.h"
#include "store/memory/memory_warm.h"
#include "store/row_codec.h"

namespace tidemark::testing {
namespace {

const ConversationId kChat("ann_zoe");

Entry change(std::uint64_t seq, EntryKind kind, const Entry& target) {
  Entry entry;
  entry.seq = Seq(seq);
  entry.kind = kind;
  entry.ord = target.ord;
  entry.top = target.seq;
  entry.server_time = 1'000;
  entry.sender = entry.target_sender = target.sender;
  entry.target = target.seq;
  return entry;
}

class JudgeTest : public ::testing::Test {
 protected:
  JudgeTest() {
    judge_.note_text("hello");
    judge_.note_text("hi");
  }

  static Entry message(std::uint64_t seq, const char* sender, const char* text) {
    Entry entry;
    entry.seq = Seq(seq);
    entry.ord = seq;
    entry.top = entry.seq;
    entry.server_time = 1'000;
    entry.sender = UserId(sender);
    entry.sender_device = DeviceId("d0");
    entry.client_msg_id = std::string("id-") + text;
    entry.body.text = text;
    return entry;
  }
  /// What lies on the server's disk.
  void log(const std::vector<Entry>& entries, const ConversationId& conversation = kChat) {
    Batch batch;
    for (const Entry& entry : entries) batch.put(Table::entries, keys::entry(conversation, entry.seq), encode(entry));
    ASSERT_TRUE(warm_->commit(batch));
  }
  void says(const std::vector<std::string>& lines) {
    std::vector<LogLine> parsed;
    for (const std::string& line : lines) parsed.push_back(parse_log_line("17 " + line));
    judge_.read_lines(zoe_, parsed);
  }
  void look() { judge_.look_at_log(*warm_->snapshot(), {&zoe_}); }
  void end() {
    look();
    judge_.check_sends({&zoe_});
  }
  /// The invariant that does not hold; "" when all do.
  template <typename Act>
  static std::string broken(Act act) {
    try {
      act();
    } catch (const sim::Violation& violation) {
      return violation.invariant();
    }
    return "";
  }

  Counters counters_;
  Judge judge_{counters_};
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<MemoryWarm> warm_ = MemoryWarm::open(disk_).value();
  Witness zoe_{UserId("zoe"), DeviceId("d0")};
};

const std::vector<std::string> kSent = {"took 1 hello", "outbox sent 1 ann_zoe 1 id-hello -"};

TEST_F(JudgeTest, ARunInOrderHolds) {
  says(kSent);
  says({"message ann_zoe 1 appeared quiet zoe hello", "message ann_zoe 2 appeared notify ann hi",
        "unread ann_zoe 1 0 plain", "unread ann_zoe 0 2 plain", "link offline - -", "link in_step - -"});
  log({message(1, "zoe", "hello"), message(2, "ann", "hi")});
  EXPECT_EQ(broken([&] { end(); }), "");
  EXPECT_EQ(counters_.of(Counter::reconnects), 1U);
}

TEST_F(JudgeTest, WhatWasSentIsThere) {
  says(kSent);
  EXPECT_EQ(broken([&] { look(); }), "I1");
}

TEST_F(JudgeTest, WhatWasSentIsThereThoughTheDeviceDiedBeforeItKnewWhatItTook) {
  says({kSent.back()});
  EXPECT_EQ(broken([&] { look(); }), "I1");
}

TEST_F(JudgeTest, WhatWasSentHasItsText) {
  says(kSent);
  log({message(1, "zoe", "hi")});
  EXPECT_EQ(broken([&] { look(); }), "I1");
}

TEST_F(JudgeTest, WhatWasSentHasItsId) {
  says(kSent);
  Entry other = message(1, "zoe", "hello");
  other.client_msg_id = "id-other";
  log({other});
  EXPECT_EQ(broken([&] { look(); }), "I2");
}

TEST_F(JudgeTest, ANumberNamesOneThingOverAllKills) {
  log({message(1, "zoe", "hello")});
  look();
  log({message(1, "ann", "hi")});
  EXPECT_EQ(broken([&] { look(); }), "I2");
}

TEST_F(JudgeTest, AMessageIsThereOnce) {
  says({"took 1 hello"});
  Entry again = message(2, "zoe", "hello");
  again.client_msg_id = "id-again";
  log({message(1, "zoe", "hello"), again});
  EXPECT_EQ(broken([&] { end(); }), "I4");
}

TEST_F(JudgeTest, WhatWasTakenArrives) {
  says({"took 1 hello"});
  EXPECT_EQ(broken([&] { end(); }), "I19");
}

TEST_F(JudgeTest, WhatWasRefusedIsNotThere) {
  says({"took 1 hello", "outbox failed 1 ann_zoe 0 id-hello FORBIDDEN"});
  EXPECT_EQ(broken([&] { end(); }), "");
  log({message(1, "zoe", "hello")});
  EXPECT_EQ(broken([&] { end(); }), "I19");
}

TEST_F(JudgeTest, NobodyMakesMessagesUp) {
  log({message(1, "ann", "from nowhere")});
  EXPECT_EQ(broken([&] { end(); }), "I2");
}

TEST_F(JudgeTest, ABackendIsNotForgotten) {
  judge_.note_posted(kChat, Seq(1), UserId("ann"), "hi");
  EXPECT_EQ(broken([&] { look(); }), "I1");
}

TEST_F(JudgeTest, WhatIsShownIsInTheLog) {
  says({"message ann_zoe 1 appeared quiet ann hi"});
  EXPECT_EQ(broken([&] { look(); }), "I3");
}

TEST_F(JudgeTest, WhatIsShownIsWhatTheLogHas) {
  says({"message ann_zoe 1 appeared quiet ann hi"});
  log({message(1, "ann", "hello")});
  EXPECT_EQ(broken([&] { look(); }), "I2");
}

TEST_F(JudgeTest, NothingIsShownToThoseWhoMayNotSeeIt) {
  says({"message ann_ben 1 appeared quiet ann hi"});
  log({message(1, "ann", "hi")}, ConversationId("ann_ben"));
  EXPECT_EQ(broken([&] { look(); }), "I10");
}

TEST_F(JudgeTest, ADeviceNotifiesOnce) {
  says({"message ann_zoe 1 appeared notify ann hi", "start 18"});
  EXPECT_EQ(broken([&] { says({"message ann_zoe 1 appeared notify ann hi"}); }), "I4");
  EXPECT_EQ(broken([&] { says({"message ann_zoe 2 appeared notify zoe hello"}); }), "notify");
}

TEST_F(JudgeTest, ReadPointersDoNotGoBack) {
  says({"unread ann_zoe 0 5 plain"});
  EXPECT_EQ(broken([&] { says({"unread ann_zoe 2 3 plain"}); }), "I9");
}

TEST_F(JudgeTest, DevicesAreNeitherRefusedNorGiveAYoungMessageUp) {
  EXPECT_EQ(broken([&] { says({"link refused BAD_TOKEN -"}); }), "link");
  EXPECT_EQ(broken([&] { says({"outbox undecided 1 ann_zoe 0 id-hello -"}); }), "I4");
  EXPECT_EQ(broken([&] { says({"no_store damaged"}); }), "device");
}

// ------------------------------------------------------------------------------------------------------- stores

replica::MemoryStore store_of(Mark mark, std::uint64_t read, const std::vector<Entry>& rows) {
  replica::StoreBatch batch;
  batch.device = replica::DeviceState{};
  batch.device->cursor.mark = mark;
  replica::ConversationState state;
  state.object.conversation = kChat;
  state.object.read = Seq(read);
  batch.conversations = {state};
  for (const Entry& row : rows) {
    replica::RowNote note;
    note.seq = row.seq;
    batch.rows.push_back({kChat, std::make_shared<const Entry>(row), note});
  }
  replica::MemoryStore store;
  store.apply(batch);
  return store;
}

TEST_F(JudgeTest, StoresDoNotGoBackAndHoldWhatTheLogHas) {
  judge_.look_at_store(zoe_, store_of(Mark(5), 1, {message(1, "ann", "hi")}));
  EXPECT_EQ(broken([&] { judge_.look_at_store(zoe_, store_of(Mark(4), 1, {})); }), "I6");
  EXPECT_EQ(broken([&] { judge_.look_at_store(zoe_, store_of(Mark(5), 0, {})); }), "I9");
  EXPECT_EQ(broken([&] { look(); }), "I3");
}

TEST_F(JudgeTest, WhatWasRefusedNeedNotArriveThoughTheDeviceDiedBeforeItSaidSo) {
  says({"took 1 hello"});
  EXPECT_EQ(broken([&] { end(); }), "I19");
  replica::StoreBatch batch;
  replica::OutboxItem refused;
  refused.local_id = 1;
  refused.state = replica::OutboxState::failed;
  batch.outbox = {refused};
  replica::MemoryStore store;
  store.apply(batch);
  judge_.look_at_store(zoe_, store);
  EXPECT_EQ(broken([&] { end(); }), "");
}

TEST_F(JudgeTest, NewInstallationsAreCounted) {
  replica::StoreBatch batch;
  batch.device = replica::DeviceState{};
  batch.device->install = InstallId("first");
  replica::MemoryStore store;
  store.apply(batch);
  judge_.look_at_store(zoe_, store);
  batch.device->install = InstallId("second");
  store.apply(batch);
  judge_.look_at_store(zoe_, store);
  EXPECT_EQ(counters_.of(Counter::new_installs), 1U);
}

TEST_F(JudgeTest, ADeviceThatHasLoadedAllShowsWhatItsUserIsTold) {
  const std::vector<Entry> rows = {message(1, "zoe", "hello"), message(2, "ann", "hi")};
  log(rows);
  look();
  Told told;
  told.list.emplace_back();
  told.list.front().conversation = kChat;
  told.list.front().read = Seq(1);
  told.rows[kChat] = rows;
  EXPECT_EQ(broken([&] { judge_.check_told(zoe_.user, told); }), "");
  EXPECT_EQ(broken([&] { judge_.check_complete(zoe_, store_of(Mark(2), 1, rows), told); }), "");
  EXPECT_EQ(broken([&] { judge_.check_complete(zoe_, store_of(Mark(2), 0, rows), told); }), "I7");
  EXPECT_EQ(broken([&] { judge_.check_complete(zoe_, store_of(Mark(2), 1, {rows[0]}), told); }), "I7");
  EXPECT_EQ(
      broken([&] { judge_.check_complete(zoe_, store_of(Mark(2), 1, {rows[0], message(2, "ann", "ho")}), told); }),
      "I7");
  EXPECT_EQ(broken([&] { judge_.check_complete(zoe_, replica::MemoryStore(), told); }), "I7");
  told.rows[kChat].push_back(change(3, EntryKind::edit, rows[1]));
  EXPECT_EQ(broken([&] { judge_.check_complete(zoe_, store_of(Mark(2), 1, rows), told); }), "")
      << "a change shows in the row that it changed";
  told.rows[kChat].pop_back();
  told.rows[kChat].pop_back();
  EXPECT_EQ(broken([&] { judge_.check_told(zoe_.user, told); }), "I5");
  told.rows[kChat] = {rows[0], rows[1], message(3, "ann", "more")};
  EXPECT_EQ(broken([&] { judge_.check_told(zoe_.user, told); }), "I10");
  EXPECT_EQ(broken([&] { judge_.check_told(UserId("ben"), told); }), "I10");
  EXPECT_EQ(broken([&] { judge_.check_told(zoe_.user, {}); }), "I10");
}

// ---------------------------------------------------------------------------------------------- recalls and edits

Entry edited(Entry message, std::uint64_t by, const char* text) {
  message.state = MessageState::edited;
  message.revision = message.touched_by = Seq(by);
  message.body.text = text;
  return message;
}

Entry recalled(Entry message, std::uint64_t by) {
  message.state = MessageState::recalled;
  message.touched_by = Seq(by);
  message.body = {};
  return message;
}

TEST_F(JudgeTest, AnEditIsAnotherTextOfTheMessageAndNotAnotherMessage) {
  const Entry sent = message(1, "zoe", "hello");
  says(kSent);
  judge_.note_text("hello again");
  judge_.note_edit(kChat, Seq(1), "hello again");
  says({"message ann_zoe 1 appeared quiet zoe hello", "change ann_zoe 1 edit queued", "change ann_zoe 1 edit done",
        "message ann_zoe 1 changed quiet zoe hello", "message ann_zoe 1 changed quiet zoe hello#again"});
  log({edited(sent, 2, "hello again"), change(2, EntryKind::edit, sent)});
  EXPECT_EQ(broken([&] { look(); }), "I2") << "a text that nobody has given it";
}

TEST_F(JudgeTest, WhatAMessageHasSaidMayBeShown) {
  const Entry sent = message(1, "zoe", "hello");
  says(kSent);
  judge_.note_text("hey");
  judge_.note_edit(kChat, Seq(1), "hey");
  says({"message ann_zoe 1 appeared quiet zoe hello", "change ann_zoe 1 edit done",
        "message ann_zoe 1 changed quiet zoe hey"});
  log({edited(sent, 2, "hey"), change(2, EntryKind::edit, sent)});
  EXPECT_EQ(broken([&] { end(); }), "");
  EXPECT_EQ(counters_.of(Counter::edits), 1U);
  EXPECT_EQ(counters_.of(Counter::changed_rows), 1U);
  // "hi" is a text that was to be sent, but not what this one has said.
  judge_.note_posted(kChat, Seq(3), UserId("ann"), "hi");
  Entry other = message(3, "ann", "hi");
  other.ord = 2;
  log({other});
  says({"message ann_zoe 1 changed quiet zoe hi"});
  EXPECT_EQ(broken([&] { look(); }), "I2");
}

TEST_F(JudgeTest, WhatADeviceSawChangedIsChanged) {
  says(kSent);
  log({message(1, "zoe", "hello")});
  says({"change ann_zoe 1 edit done"});
  EXPECT_EQ(broken([&] { look(); }), "I1");
}

TEST_F(JudgeTest, WhatADeviceSawTakenBackIsDead) {
  const Entry sent = message(1, "zoe", "hello");
  says(kSent);
  says({"change ann_zoe 1 recall done"});
  const Entry then = edited(sent, 2, "hi");
  log({then, change(2, EntryKind::edit, sent)});
  EXPECT_EQ(broken([&] { look(); }), "I1");
  log({recalled(then, 3), change(3, EntryKind::recall, sent)});
  EXPECT_EQ(broken([&] { end(); }), "");
}

TEST_F(JudgeTest, WhatWasTakenBackHadArrivedThoughNobodyEverSaidWhatItWas) {
  says({"outbox queued 1 ann_zoe 0 id-hello -", "took 1 hello"});
  const Entry sent = message(1, "zoe", "hello");
  log({recalled(sent, 2), change(2, EntryKind::recall, sent)});
  EXPECT_EQ(broken([&] { end(); }), "");
  says({"outbox queued 2 ann_zoe 0 id-hi -", "took 2 hi"});
  EXPECT_EQ(broken([&] { end(); }), "I19");
}

TEST_F(JudgeTest, NothingIsShownDeadThatLives) {
  says({"message ann_zoe 1 appeared quiet ann -"});
  log({message(1, "ann", "hi")});
  EXPECT_EQ(broken([&] { look(); }), "I2");
}

TEST_F(JudgeTest, WhatABackendWasAnsweredToBeChangedIsChanged) {
  const Entry sent = message(1, "ann", "hi");
  judge_.note_text("ho");
  judge_.note_posted(kChat, Seq(1), UserId("ann"), "hi");
  judge_.note_edited(kChat, Seq(2), Seq(1), "ho");
  log({sent});
  EXPECT_EQ(broken([&] { look(); }), "I1");
  log({edited(sent, 2, "ho"), change(2, EntryKind::edit, sent)});
  EXPECT_EQ(broken([&] { end(); }), "");
  judge_.note_recalled(kChat, Seq(1));
  EXPECT_EQ(broken([&] { look(); }), "I1");
}

TEST_F(JudgeTest, TextsThatWereTakenBackAreKnown) {
  judge_.note_text("ann#1;");
  judge_.note_text("ann#2;");
  judge_.note_posted(kChat, Seq(1), UserId("ann"), "ann#1;");
  judge_.note_edit(kChat, Seq(1), "ann#2;");
  judge_.note_posted(kChat, Seq(3), UserId("ann"), "ann#3;");
  const Entry sent = message(1, "ann", "ann#1;");
  Entry other = message(3, "ann", "ann#3;");
  other.ord = 2;
  log({recalled(sent, 2), change(2, EntryKind::recall, sent), other});
  look();
  EXPECT_EQ(judge_.gone().find_in("... ann#1; ..."), 1U);
  EXPECT_EQ(judge_.gone().find_in("... ann#2; ..."), 2U);
  EXPECT_FALSE(judge_.gone().find_in("... ann#3; ..."));
}

// ------------------------------------------------------------------------------------------------------- restores

/// The server has "hello" of zoe and "hi" of ann, and is put back to where it had "hello" alone.
class RestoredJudgeTest : public JudgeTest {
 protected:
  RestoredJudgeTest() {
    says(kSent);
    log({message(1, "zoe", "hello")});
    look();
    const sim::LogBook backup = judge_.book();
    const std::shared_ptr<MemoryDisk> copy = disk_->copy();
    judge_.note_posted(kChat, Seq(2), UserId("ann"), "hi");
    log({message(2, "ann", "hi")});
    says({"message ann_zoe 2 appeared notify ann hi", "unread ann_zoe 0 2 plain"});
    look();
    judge_.look_at_store(zoe_, in_epoch(1, Mark(9)));
    disk_ = copy;
    warm_ = MemoryWarm::open(disk_).value();
    judge_.restore(backup);
  }
  static replica::MemoryStore in_epoch(std::uint32_t epoch, Mark mark) {
    replica::StoreBatch batch;
    batch.device = replica::DeviceState{};
    batch.device->cursor = {{epoch, 1}, mark, 0};
    replica::MemoryStore store;
    store.apply(batch);
    return store;
  }
};

TEST_F(RestoredJudgeTest, WhatARestoreTookIsNotLookedFor) {
  says({"lost_rows ann_zoe 1 2 0", "unread ann_zoe 0 1 plain"});
  judge_.look_at_store(zoe_, in_epoch(2, Mark(3)));
  EXPECT_EQ(broken([&] { end(); }), "");
  EXPECT_EQ(counters_.of(Counter::lost_rows), 1U);
}

TEST_F(RestoredJudgeTest, WhatTheBackupHoldsStays) {
  disk_ = std::make_shared<MemoryDisk>();  // and not what the backup was
  warm_ = MemoryWarm::open(disk_).value();
  EXPECT_EQ(broken([&] { look(); }), "I1");
}

TEST_F(RestoredJudgeTest, AWordFromBeforeMayBeLate) {
  says({"message ann_zoe 2 changed quiet ann hi"});
  EXPECT_EQ(broken([&] { look(); }), "");
  says({"message ann_zoe 3 appeared quiet ann hi"});
  EXPECT_EQ(broken([&] { look(); }), "I3") << "what never was is not late";
}

TEST_F(RestoredJudgeTest, ALostNumberIsNotGivenAgain) {
  log({message(2, "ann", "hi")});
  EXPECT_EQ(broken([&] { look(); }), "I2");
}

TEST_F(RestoredJudgeTest, APointerGoesBackOnceAndACursorWithTheEpoch) {
  says({"unread ann_zoe 0 1 plain"});
  EXPECT_EQ(broken([&] { says({"unread ann_zoe 0 0 plain"}); }), "I9");
  EXPECT_EQ(broken([&] { judge_.look_at_store(zoe_, in_epoch(1, Mark(3))); }), "I6");
  EXPECT_EQ(broken([&] { judge_.look_at_store(zoe_, in_epoch(2, Mark(3))); }), "");
  EXPECT_EQ(broken([&] { judge_.look_at_store(zoe_, in_epoch(2, Mark(2))); }), "I6");
}

TEST_F(JudgeTest, NoRowsAreLostWithoutARestore) {
  EXPECT_EQ(broken([&] { says({"lost_rows ann_zoe 1 2 0"}); }), "I17");
}

}  // namespace
}  // namespace tidemark::testing
