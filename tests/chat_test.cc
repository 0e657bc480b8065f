// The chat in the terminal, line by line: what it keeps, what it does without a server, how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "server_process.h"

namespace tidemark::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// No test of this program writes into the home of whoever runs it.
const std::string& data_home() {
  static const TempDirectory directory;
  return directory.path();
}
const bool kHomeMoved = ::setenv("XDG_DATA_HOME", data_home().c_str(), 1) == 0;

class Chat : public ::testing::Test {
 protected:
  /// The chat with `input` on stdin, as a user who has the server's keys.
  Finished chat(const std::string& user, const std::string& input, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"--user", user, "--data", server_.data(), "--url", url()});
    return chat_with(input, std::move(words));
  }
  static Finished chat_with(const std::string& input, std::vector<std::string> words) {
    const std::string line = "input=$1; program=$2; shift 2; printf '%s' \"$input\" | \"$program\" chat \"$@\"";
    words.insert(words.begin(), {"/bin/sh", "-c", line, "sh", input, tidemark_program()});
    return run_program(words);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  /// The folder of the stores of this server.
  std::string stores() const { return data_home() + "/tidemark/127.0.0.1_" + std::to_string(server_.port()); }

  ServerProcess server_;
  TempDirectory directory_;
};

TEST_F(Chat, KeepsWhatItHasSeenAndShowsItWithoutAServer) {
  ASSERT_EQ(chat("alice", "one\ntwo\n", {"--to", "bob"}).exit_code, 0);
  const Finished first = chat("bob", "");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out,
              AllOf(HasSubstr("message alice_bob 1 alice: one\n"), HasSubstr("message alice_bob 2 alice: two\n"),
                    HasSubstr("link online\n"), Not(HasSubstr("held"))));
  EXPECT_TRUE(fs::exists(stores() + "/bob@pipe.db"));
  EXPECT_EQ(fs::status(stores()).permissions() & fs::perms::mask, fs::perms::owner_all);

  server_.kill_hard();
  const Finished alone = chat("bob", "", {"--to", "alice"});
  EXPECT_EQ(alone.exit_code, 1) << "there was nothing to wait for, and nobody to be in step with";
  EXPECT_THAT(alone.out, AllOf(HasSubstr("holds alice_bob 2 two\n"), HasSubstr("held alice_bob 1 alice: one\n"),
                               HasSubstr("held alice_bob 2 alice: two\n"),
                               HasSubstr("link offline (Connection refused), trying again\n")));
  EXPECT_THAT(alone.err, AllOf(HasSubstr("There is no server at "), HasSubstr("Connection refused")));
  server_.start();
}

TEST_F(Chat, WhatIsWrittenWithoutAServerIsSentByTheNextChat) {
  const std::string store = directory_.path() + "/alice.db";
  ASSERT_EQ(chat("alice", "before\n", {"--to", "bob", "--store", store, "--device", "desk"}).exit_code, 0);
  server_.kill_hard();
  const Finished offline = chat("alice", "meanwhile\n// and /this\n/quit\n", {"--to", "bob", "--store", store});
  EXPECT_EQ(offline.exit_code, 1);
  EXPECT_THAT(offline.out, AllOf(HasSubstr("pending alice_bob meanwhile\n"), Not(HasSubstr("sent alice_bob"))));
  EXPECT_THAT(offline.err, AllOf(HasSubstr("2 message(s) are not sent yet"), HasSubstr(store)));

  server_.start();  // on another port: a store belongs to a user, not to an address
  const Finished again = chat("alice", "", {"--store", store});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("pending alice_bob meanwhile\n"), HasSubstr("sent alice_bob 2\n"),
                               HasSubstr("sent alice_bob 3\n")));
  const Finished bob = chat("bob", "", {"--store", "none"});
  EXPECT_THAT(bob.out, AllOf(HasSubstr("message alice_bob 2 alice: meanwhile\n"),
                             HasSubstr("message alice_bob 3 alice: / and /this\n"), Not(HasSubstr("alice_bob 4"))));
}

TEST_F(Chat, SaysWhatALongAbsenceHides) {
  std::string lines;
  for (int i = 1; i <= 60; ++i) lines += "line " + std::to_string(i) + "\n";
  ASSERT_EQ(chat("alice", lines, {"--to", "bob"}).exit_code, 0);
  const std::string first = chat("bob", "").out;
  EXPECT_THAT(first,
              AllOf(HasSubstr("older alice_bob up to 40 message(s) before 41 are not shown; see: tidemark history "
                              "'alice_bob' --before 41\nmessage alice_bob 41 alice: line 41\n"),
                    HasSubstr("message alice_bob 60 alice: line 60\n"), Not(HasSubstr("alice: line 40\n"))));
  EXPECT_EQ(first.find("older"), first.rfind("older")) << "once";

  ASSERT_EQ(chat("alice", lines, {"--to", "bob"}).exit_code, 0);
  EXPECT_THAT(
      chat("bob", "").out,
      HasSubstr("older alice_bob up to 40 message(s) before 101 are not shown; see: tidemark history 'alice_bob' "
                "--before 101\nmessage alice_bob 101 "));
  server_.kill_hard();
  EXPECT_THAT(
      chat("bob", "", {"--to", "alice"}).out,
      HasSubstr("older alice_bob up to 100 message(s) before 101 are not shown; see: tidemark history 'alice_bob' "
                "--before 101\nheld alice_bob 101 "));
  server_.start();
}

// What the new device sends is answered before it holds the conversation, and the answer does not count older messages.
TEST_F(Chat, ANewDeviceThatWritesAtOnceSaysHowManyAreOlder) {
  std::string lines;
  for (int i = 1; i <= 63; ++i) lines += "line " + std::to_string(i) + "\n";
  ASSERT_EQ(chat("alice", lines, {"--to", "bob"}).exit_code, 0);
  for (int seq = 64; seq < 68; ++seq) {
    const Finished fresh =
        chat("alice", "hi\n", {"--to", "bob", "--device", "new" + std::to_string(seq), "--store", "none"});
    EXPECT_EQ(fresh.exit_code, 0) << fresh.err;
    EXPECT_THAT(fresh.out, HasSubstr("sent alice_bob " + std::to_string(seq) + "\n"));
    // Each line about older messages is followed by the row that they stand before, and what is told was not shown.
    static const std::regex kOlder("older alice_bob up to ([0-9]+) message\\(s\\) before ([0-9]+) are not shown");
    std::set<std::uint64_t> before;
    for (std::sregex_iterator it(fresh.out.begin(), fresh.out.end(), kOlder), end; it != end; ++it) {
      EXPECT_EQ(std::stoull((*it)[1]) + 1, std::stoull((*it)[2])) << fresh.out;
      EXPECT_TRUE(before.insert(std::stoull((*it)[2])).second) << "once: " << fresh.out;
    }
    EXPECT_THAT(before, ::testing::SizeIs(1)) << fresh.out;
  }
}

TEST_F(Chat, WhatCannotBeSentIsNamedByItsText) {
  const Finished failed = chat("alice", "/group club bob\n/leave\nwho hears me?\n", {"--store", "none"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.out, ::testing::ContainsRegex("failed group_1: .* It was: who hears me\\?\n"));
}

TEST_F(Chat, WithoutAServerItSaysForWhatItWaits) {
  server_.kill_hard();
  const Finished idle = chat("alice", "", {"--store", "none"});
  EXPECT_EQ(idle.exit_code, 1);
  EXPECT_THAT(idle.out, Not(HasSubstr("waits")));
  // Whoever sees it can end the waiting.
  const std::string script = R"(
    printf 'hello\n' | "$1" chat --user alice --data "$2" --url "$3" --to bob --store none >"$4" 2>&1 &
    chat=$!
    tries=0
    while ! grep -q "^notice" "$4" && [ $tries -lt 400 ]; do sleep 0.05; tries=$((tries + 1)); done
    kill $chat
    wait $chat
    echo "exit $?"
    cat "$4")";
  const Finished sending = run_program(
      {"/bin/sh", "-c", script, "sh", tidemark_program(), server_.data(), url(), directory_.path() + "/out"});
  EXPECT_THAT(sending.out, AllOf(HasSubstr("exit 1\n"), HasSubstr("pending alice_bob hello\n"),
                                 HasSubstr("notice 1 message(s) are not sent yet; waits 10 s at most for the server\n"),
                                 HasSubstr("1 message(s) were not sent (")));
  server_.start();
}

TEST_F(Chat, AnAdministratorsTokenIsCalledSo) {
  const Finished refused = chat_with("", {"--token", server_.admin_token(), "--url", url()});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("It is an admin token"));
}

TEST_F(Chat, WhoIsAddedSeesNothingThatWasTypedBefore) {
  const Finished alice =
      chat("alice", "/group club bob\nabout zed\nmore about zed\n/add zed\nhello zed\n", {"--store", "none"});
  EXPECT_EQ(alice.exit_code, 0) << alice.err;
  const Finished zed = chat("zed", "", {"--store", "none"});
  EXPECT_THAT(zed.out, AllOf(HasSubstr("alice: hello zed"), Not(HasSubstr("about zed"))));
  // And who leaves has said what he typed.
  ASSERT_EQ(chat("alice", "/group farewell bob\ngoodbye\n/leave\n", {"--store", "none"}).exit_code, 0);
  const Finished bob = chat("bob", "", {"--store", "none"});
  EXPECT_THAT(bob.out, HasSubstr("alice: goodbye"));
}

TEST_F(Chat, GroupsAreRunFromIt) {
  const Finished alice = chat("alice",
                              "/group lunch bob\n/add\n/add carol dave\n/role bob admin\n/silence carol\n/members\n"
                              "/kick dave\n/unsilence carol\n/title \"Tuesday lunch\"\n/policy join open\n"
                              "/policy history 5\n/policy send nobody\n/policy hats on\n/silence carol soon\n",
                              {"--store", "none"});
  EXPECT_EQ(alice.exit_code, 0) << alice.err;
  EXPECT_THAT(alice.out, AllOf(HasSubstr("notice /add goes so: /add dave\n"), HasSubstr("notice added 2 people\n"),
                               HasSubstr("notice bob is admin now\n"),
                               HasSubstr("notice alice (owner), bob (admin), carol (muted), dave\n"),
                               HasSubstr("notice removed dave\n"), HasSubstr("notice unsilenced carol\n"),
                               HasSubstr("notice its name is Tuesday lunch\n"), HasSubstr("notice join: open\n"),
                               HasSubstr("notice history: 5\n"), HasSubstr("A value is outside what is allowed"),
                               HasSubstr("notice /policy is about add, send, join or history\n"),
                               HasSubstr("notice /silence takes minutes: /silence dave 30\n")));
  const Finished erin = chat("erin", "/join group_9\n/join group_1\nhi all\n/dissolve\n", {"--store", "none"});
  EXPECT_THAT(erin.out, AllOf(HasSubstr("There is no such conversation for you"), HasSubstr("notice joined group_1\n"),
                              HasSubstr("sent group_1"), HasSubstr("Your role does not allow this")));
  const Finished owner = chat("alice", "/to group_1\n/role bob owner\n/dissolve\n", {"--store", "none"});
  EXPECT_THAT(owner.out, AllOf(HasSubstr("notice bob is owner now\n"), HasSubstr("Your role does not allow this")));
  const Finished bob = chat("bob", "/to group_1\n/dissolve\n/members\ntoo late\n", {"--store", "none"});
  EXPECT_THAT(bob.out,
              AllOf(HasSubstr("* bob is an admin now\n"), HasSubstr("* alice muted carol\n"),
                    HasSubstr("* bob owns the group now\n"), HasSubstr("notice the group has ended\n"),
                    HasSubstr("notice this group has ended; in it were alice (admin), bob (owner), carol, erin\n"),
                    HasSubstr("This conversation is closed")));
}

TEST_F(Chat, TakesBackAndSaysOtherwise) {
  const Finished alice = chat("alice", "one\ntwo\n/edit two again\n/recall 1\n/recall nothing\n", {"--to", "bob"});
  EXPECT_EQ(alice.exit_code, 0) << alice.err;
  EXPECT_THAT(alice.out, AllOf(HasSubstr("edit done alice_bob 2\n"), HasSubstr("recall done alice_bob 1\n"),
                               HasSubstr("notice /recall takes the number of a message: /recall 57\n")));
  const Finished bob = chat("bob", "/to alice\n/recall\n");
  EXPECT_THAT(bob.out, AllOf(HasSubstr("message alice_bob 1 alice: message recalled\n"),
                             HasSubstr("message alice_bob 2 alice: two again (edited)\n"),
                             HasSubstr("notice there is no message of yours here\n"), Not(HasSubstr("one"))));
}

TEST_F(Chat, ReactsToWhatOthersSaid) {
  ASSERT_EQ(chat("alice", "one\ntwo\n", {"--to", "bob"}).exit_code, 0);
  chat("bob", "/to alice\n");  // holds what was said from now on
  const Finished bob = chat("bob", "/to alice\n/react yes\n/react no 1\n/unreact no 1\n/react\n");
  EXPECT_THAT(bob.out, AllOf(HasSubstr("reaction done alice_bob 2\n"), HasSubstr("reaction done alice_bob 1\n"),
                             HasSubstr("changed alice_bob 2 alice: two  yes 1*\n"),
                             HasSubstr("notice /react takes an emoji and the number of a message")));
  EXPECT_THAT(chat("alice", "/to bob\n").out, AllOf(HasSubstr("alice: two  yes 1\n"), HasSubstr("alice: one\n")));
}

TEST_F(Chat, InMemoryItLeavesNothing) {
  EXPECT_EQ(chat("alice", "hello\n", {"--to", "bob", "--store", "none"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(stores()));
  server_.kill_hard();
  const Finished lost = chat("alice", "hello\n/quit\n", {"--to", "bob", "--store", "none"});
  EXPECT_EQ(lost.exit_code, 1);
  EXPECT_THAT(lost.err, HasSubstr("1 message(s) were not sent ("));
  server_.start();
}

TEST_F(Chat, ASecondChatOfTheSameDeviceIsToldWhatToDo) {
  const std::string script = R"(
    "$1" chat --user alice --data "$2" --url "$3" --follow </dev/null >"$4" 2>&1 &
    first=$!
    tries=0
    while ! grep -qs "link online" "$4" && [ $tries -lt 400 ]; do sleep 0.05; tries=$((tries + 1)); done
    "$1" chat --user alice --data "$2" --url "$3" </dev/null; echo "second $?"
    "$1" chat --user alice --data "$2" --url "$3" --device other </dev/null; echo "other $?"
    kill $first
    wait $first)";
  const Finished both = run_program(
      {"/bin/sh", "-c", script, "sh", tidemark_program(), server_.data(), url(), directory_.path() + "/first"});
  EXPECT_THAT(both.out, AllOf(HasSubstr("second 1\n"), HasSubstr("other 0\n")));
  EXPECT_EQ(
      both.err,
      "tidemark: A chat of alice on the device pipe is running already; take --device NAME for another device.\n");
}

TEST_F(Chat, ARefusedTokenEndsItWithTheReason) {
  const std::string expired = server_.expired_token("alice");
  for (const char* follow : {"--lines", "--follow"}) {
    const Finished refused = chat_with("", {"--token", expired, "--url", url(), follow});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, AllOf(StartsWith("tidemark: The token is missing, wrong, expired"), EndsWith("\n")));
  }
  const Finished sending = chat_with("hello\n", {"--token", expired, "--url", url(), "--to", "bob"});
  EXPECT_EQ(sending.exit_code, 1);
  EXPECT_THAT(sending.err, HasSubstr("1 message(s) are not sent yet"));
}

TEST_F(Chat, WhatIsNoTokenIsCalledSo) {
  for (const char* token : {"abc", "a.b.c", "..", "eyJ9.e30.x"}) {
    const Finished refused = chat_with("", {"--token", token, "--url", url()});
    EXPECT_EQ(refused.exit_code, 1) << token;
    EXPECT_THAT(refused.err, StartsWith("tidemark: token: That is no token")) << token;
  }
}

TEST_F(Chat, NamesOfAllKindsAreNamesOfFiles) {
  const std::string user = "../dir/ä@b %";
  ASSERT_EQ(chat(user, "", {"--device", "a/b"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(stores() + "/%2E.%2Fdir%2Fä%40b %25@a%2Fb.db"));
}

TEST_F(Chat, AFileThatIsNoStoreOrSomebodyElsesIsLeftAlone) {
  const std::string letter = directory_.path() + "/letter.txt";
  std::ofstream(letter) << std::string(3'000, 'x');
  const Finished refused = chat("alice", "", {"--store", letter});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(letter), HasSubstr("is no store of Tidemark")));
  EXPECT_EQ(fs::file_size(letter), 3'000U);

  const std::string store = directory_.path() + "/alice.db";
  ASSERT_EQ(chat("alice", "", {"--store", store}).exit_code, 0);
  const Finished other = chat("bob", "", {"--store", store});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("It belongs to another user"));
  const Finished device = chat("alice", "", {"--store", store, "--device", "phone"});
  EXPECT_EQ(device.exit_code, 1);
  EXPECT_THAT(device.err, HasSubstr("It belongs to the device pipe"));
}

}  // namespace
}  // namespace tidemark::testing
