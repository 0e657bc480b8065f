// A data directory that is put back from a copy: a real server, `tidemark restore`, and devices that know more than it.
#include <filesystem>
#include <fstream>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::uint64_t kJump = 1ULL << 32;

class Restored : public OwnServer {
 protected:
  void copy_data() {
    server().stop();
    fs::remove_all(copy());
    fs::copy(server().data(), copy(), fs::copy_options::recursive);
    server().start();
  }
  Finished restore(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {tidemark_program(), "restore", "--from", copy(), "--data", server().data()};
    command.insert(command.end(), more.begin(), more.end());
    return run_program(command);
  }
  std::string copy() const { return place_.path() + "/copy"; }
  /// The jumps of one conversation as a device asks for them.
  pb::LineJumps jumps(WsClient& client, const std::string& id, std::uint32_t epoch) {
    pb::ClientFrame frame;
    pb::HeldLine& line = *frame.mutable_jumps()->add_lines();
    line.set_conversation_id(id);
    line.set_epoch(epoch);
    const pb::ServerFrame answered = client.call(frame);
    EXPECT_EQ(answered.jumps().lines_size(), 1) << answered.ShortDebugString();
    return answered.jumps().lines_size() == 1 ? answered.jumps().lines(0) : pb::LineJumps();
  }

 private:
  TempDirectory place_;
};
TM_IN_BOTH_DIALECTS(Restored);

TEST_P(Restored, S135_DevicesLearnWhatWasLostAndNoNumberIsUsedTwice) {
  serve();
  const std::string id = chat("a", "b");
  Hello hello;
  {
    WsClient a1 = device("a");
    send_all(a1, user("b"), numbered("kept ", 3));
  }
  copy_data();
  {
    WsClient a1 = device("a");
    WsClient b1 = device("b");
    send_all(a1, user("b"), numbered("lost ", 4));
    b1.sync();
    hello.cursor = b1.cursor();
    EXPECT_EQ(hello.cursor.epoch(), 1u);
  }
  server().stop();
  const Finished done = restore();
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("as epoch 2"));
  server().start();

  WsClient b1 = connect();
  const pb::ServerFrame welcome = b1.hello(token("b"), hello);
  ASSERT_TRUE(welcome.has_welcome()) << welcome.ShortDebugString();
  EXPECT_EQ(welcome.welcome().mode(), pb::MODE_ROLLBACK);
  EXPECT_EQ(welcome.welcome().head().epoch(), 2u);
  // A log that was not written since tells the jump it would make, and makes it.
  for (int round = 0; round < 2; ++round) {
    const pb::LineJumps line = jumps(b1, id, 1);
    EXPECT_TRUE(line.known());
    ASSERT_EQ(line.jumps_size(), 1);
    EXPECT_EQ(line.jumps(0).epoch(), 2u);
    EXPECT_EQ(line.jumps(0).cut(), 3u);
    EXPECT_EQ(line.jumps(0).first(), 4 + kJump);
    WsClient a1 = device("a");
    EXPECT_EQ(a1.sent(user("b"), "new " + std::to_string(round)).seq(), 4 + kJump + static_cast<std::uint64_t>(round));
  }
  EXPECT_EQ(jumps(b1, id, 2).jumps_size(), 0) << "known already";
  EXPECT_FALSE(jumps(b1, chat("b", "nobody"), 1).known());
  const std::vector<pb::Message> rows = whole_history(b1, id);
  EXPECT_EQ(texts_of(rows), (std::vector<std::string>{"kept 1", "kept 2", "kept 3", "new 0", "new 1"}));
  const pb::HistoryPage page = b1.history(id);
  ASSERT_EQ(page.hidden_size(), 1);
  EXPECT_EQ(page.hidden(0).after(), 3u);
  EXPECT_EQ(page.hidden(0).to(), 3 + kJump);
  EXPECT_EQ(page.hidden(0).reason(), pb::HIDDEN_REASON_RESTORED);
  EXPECT_EQ(b1.conversation(id).unread(), 5u);

  // The same by HTTP.
  HttpClient http = this->http();
  const HttpResponse told =
      http.post("/v1/jumps", token("b"), "{\"lines\":[{\"conversation_id\":\"" + id + "\",\"epoch\":1}]}");
  EXPECT_EQ(told.status, 200) << told.body;
  EXPECT_THAT(told.body, HasSubstr("\"cut\":3,\"first\":4294967300"));

  // The same copy once more: a third epoch, and who comes from the second is told too.
  server().stop();
  ASSERT_EQ(restore().exit_code, 0);
  server().start();
  WsClient again = connect();
  hello.cursor.set_epoch(2);
  hello.cursor.set_epoch_id(welcome.welcome().head().epoch_id());
  const pb::ServerFrame second = again.hello(token("b"), hello);
  EXPECT_EQ(second.welcome().mode(), pb::MODE_ROLLBACK) << second.ShortDebugString();
  EXPECT_EQ(second.welcome().head().epoch(), 3u);
  EXPECT_EQ(jumps(again, id, 2).jumps(0).first(), 4 + 2 * kJump);
  hello.cursor.set_epoch_id("00000000deadbeef");
  WsClient stranger = connect();
  EXPECT_EQ(stranger.hello(token("b"), {"d9", {}, hello.cursor, 0}).welcome().mode(), pb::MODE_RESET)
      << "an epoch that this store was never in";
}

TEST_P(Restored, MutationsSessionsAndGroupsGoOnBehindAJump) {
  serve();
  pb::ClientFrame group;
  group.mutable_create_group()->set_title("us");
  group.mutable_create_group()->add_members(user("b"));
  WsClient early = device("a");
  const std::string before = early.call(group).group().conversation_id();
  ASSERT_FALSE(before.empty());
  (void)early.read(before, 1);
  copy_data();
  Hello hello{"d1", "i1", {}, 0};
  WsClient a1 = connect();
  hello.generation = a1.login(token("a"), hello).session_generation();
  const std::string lost = a1.call(group).group().conversation_id();
  server().stop();
  ASSERT_EQ(restore().exit_code, 0);
  server().start();
  WsClient back = connect();
  const pb::ServerFrame welcome = back.hello(token("a"), hello);
  ASSERT_TRUE(welcome.has_welcome()) << welcome.ShortDebugString();
  EXPECT_GT(welcome.welcome().session_generation(), hello.generation);
  const std::string made = back.call(group).group().conversation_id();
  EXPECT_NE(made, lost);
  EXPECT_NE(made, before);
  EXPECT_EQ(back.sent_in(made, "hello").seq(), 2 + kJump);
}

TEST_P(Restored, ToAMomentBetweenTheCopyAndTheEnd) {
  serve({.settings = {"store.archive_hours=1", "store.write_buffer_bytes=1048576"}});
  const std::string id = chat("a", "b");
  const auto send = [&](const std::vector<std::string>& texts) {
    WsClient a1 = device("a");
    send_all(a1, user("b"), texts);
  };
  send({"before the copy"});
  copy_data();
  std::vector<std::string> kept = {"before the copy"};
  // More than the log keeps without an archive.
  for (int i = 0; i < 40; ++i) {
    const std::vector<std::string> texts(20, std::string(5'000, static_cast<char>('a' + i % 26)));
    send(texts);
    kept.insert(kept.end(), texts.begin(), texts.end());
  }
  sleep_ms(5);
  const std::int64_t moment = wall_ms();
  sleep_ms(5);
  send({"a mistake"});
  server().stop();
  const std::string log = server().data() + "/store/log";
  EXPECT_FALSE(fs::is_empty(log + "/archive"));

  const Finished elsewhere = restore({"--log", server().data() + "/store"});
  EXPECT_EQ(elsewhere.exit_code, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("no commit log that goes on from the copy"));
  EXPECT_NE(restore({"--log", log, "--until", ""}).exit_code, 0) << "a variable that was not set";
  const Finished nonsense = restore({"--log", log, "--until", "yesterday"});
  EXPECT_EQ(nonsense.exit_code, 1);
  EXPECT_THAT(nonsense.err, HasSubstr("2026-11-30T21:15:00Z"));
  const Finished done = restore({"--log", log, "--until", std::to_string(moment)});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("The last change in it is of 20"));
  server().start();
  {
    WsClient b1 = device("b");
    EXPECT_EQ(texts_of(whole_history(b1, id)), kept);
  }
  send({"goes on"});
  server().stop();

  // All there was, from the directory that was moved aside; and nothing of another history.
  const Finished whole = restore({"--log", server().data() + "/store.replaced-1/log"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Finished foreign = restore({"--log", server().data() + "/store.replaced-2/log"});
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.err, HasSubstr("of another log"));
  server().start();
  kept.emplace_back("a mistake");
  WsClient b1 = device("b");
  EXPECT_EQ(texts_of(whole_history(b1, id)), kept);
}

TEST_P(Restored, ItRefusesWhatWouldDoHarm) {
  serve();
  {
    WsClient a1 = device("a");
    a1.sent(user("b"), "kept");
  }
  copy_data();
  const Finished running = restore();
  EXPECT_EQ(running.exit_code, 1);
  EXPECT_THAT(running.err, HasSubstr("in use by another process"));
  const std::string other = server().data() + "-other";
  const Finished from_running =
      run_program({tidemark_program(), "restore", "--from", server().data(), "--data", other});
  EXPECT_EQ(from_running.exit_code, 1);
  EXPECT_THAT(from_running.err, HasSubstr("in use by another process"));
  EXPECT_FALSE(fs::exists(other));
  server().stop();
  const Finished itself =
      run_program({tidemark_program(), "restore", "--from", server().data(), "--data", server().data()});
  EXPECT_EQ(itself.exit_code, 1);
  const Finished nothing =
      run_program({tidemark_program(), "restore", "--from", "/nowhere", "--data", server().data()});
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("no copy of a data directory"));

  // What is damaged beyond reading is replaced all the same: its epochs are noted beside it.
  std::ofstream(server().data() + "/store/CURRENT_DB") << "nonsense\n";
  const Finished done = restore();
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(fs::exists(server().data() + "/store.replaced-1"));
  server().start();
  WsClient b1 = device("b");
  EXPECT_EQ(texts_of(whole_history(b1, chat("a", "b"))), std::vector<std::string>{"kept"});
  server().stop();

  // Interrupted between its two renames: no empty store may take the place.
  fs::rename(server().data() + "/store", server().data() + "/store.restoring");
  EXPECT_THROW(server().start(), std::runtime_error);
  EXPECT_THAT(server().log(), HasSubstr("interrupted"));
  ASSERT_EQ(restore().exit_code, 0);
  server().start();
}

}  // namespace
}  // namespace tidemark::testing
