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
  told.rows[kChat].pop_back();
  EXPECT_EQ(broken([&] { judge_.check_told(zoe_.user, told); }), "I5");
  told.rows[kChat] = {rows[0], rows[1], message(3, "ann", "more")};
  EXPECT_EQ(broken([&] { judge_.check_told(zoe_.user, told); }), "I10");
  EXPECT_EQ(broken([&] { judge_.check_told(UserId("ben"), told); }), "I10");
  EXPECT_EQ(broken([&] { judge_.check_told(zoe_.user, {}); }), "I10");
}

}  // namespace
}  // namespace tidemark::testing
