// The commands of people and scripts: what they print, and how they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server_process.h"

namespace tidemark::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Cli : public ::testing::Test {
 protected:
  /// Runs the program with the words, as a user who has the server's keys.
  Finished run(std::vector<std::string> words, const std::string& user_flag, const std::string& user) {
    words.insert(words.begin(), tidemark_program());
    for (const std::string& word :
         {user_flag, user, std::string("--data"), server_.data(), std::string("--url"), url()})
      words.push_back(word);
    return run_program(words);
  }
  Finished send(const std::string& from, std::vector<std::string> words) {
    words.insert(words.begin(), "send");
    return run(std::move(words), "--from", from);
  }
  /// The chat with `input` on stdin.
  Finished chat(const std::string& user, const std::string& to, const std::string& input) {
    const std::string line =
        "printf '%s' \"$1\" | \"$2\" chat --user \"$3\" --to \"$4\" --data \"$5\" --url \"$6\" --device test";
    return run_program({"/bin/sh", "-c", line, "sh", input, tidemark_program(), user, to, server_.data(), url()});
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

  ServerProcess server_;
};

TEST_F(Cli, SendsAndShowsHistoryAndSync) {
  const Finished sent = send("alice", {"bob", "Hello", "Bob"});
  EXPECT_EQ(sent.exit_code, 0) << sent.err;
  EXPECT_EQ(sent.out, "alice_bob:1  sent\n");
  EXPECT_EQ(send("bob", {"alice", "你好，Alice"}).exit_code, 0);

  const Finished history = run({"history", "bob"}, "--user", "alice");
  EXPECT_EQ(history.exit_code, 0) << history.err;
  EXPECT_THAT(history.out,
              AllOf(HasSubstr("  1  "), HasSubstr("  alice   Hello Bob\n"), HasSubstr("  bob     你好，Alice\n")));
  EXPECT_LT(history.out.find("Hello Bob"), history.out.find("你好"));

  const Finished sync = run({"sync"}, "--user", "alice");
  EXPECT_EQ(sync.exit_code, 0) << sync.err;
  EXPECT_THAT(sync.out,
              AllOf(HasSubstr("alice_bob          1    2  "), HasSubstr("你好，Alice"), HasSubstr("next: --cursor ")));
  const std::string cursor = sync.out.substr(sync.out.find("--cursor ") + 9);
  const Finished again = run({"sync", "--cursor", cursor.substr(0, cursor.find('\n'))}, "--user", "alice");
  EXPECT_THAT(again.out, StartsWith("nothing new\n"));
}

TEST_F(Cli, SendsFilesThatGoOneDay) {
  EXPECT_EQ(send("alice", {"bob", "--attach", "https://f.example/1", "--attach", "https://f.example/2"}).exit_code, 0);
  EXPECT_EQ(send("alice", {"bob", "look", "--attach", "https://f.example/3", "--attach-days", "30"}).exit_code, 0);
  const Finished history = run({"history", "alice"}, "--user", "bob");
  EXPECT_THAT(history.out, AllOf(HasSubstr("  [https://f.example/1] [https://f.example/2]\n"),
                                 HasSubstr("  look [https://f.example/3]\n")));
  EXPECT_THAT(run({"body", "alice_bob:1"}, "--user", "bob").out, Not(HasSubstr("until")));
  EXPECT_THAT(run({"body", "alice_bob:2"}, "--user", "bob").out,
              AllOf(HasSubstr("https://f.example/3"), HasSubstr("until 20")));
  const Finished nothing = send("alice", {"bob"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--attach"));
}

TEST_F(Cli, APortThatIsNoneIsNoAddress) {
  for (const int port : {0, server_.port() + 65'536, 99'999}) {
    const Finished none = run_program({tidemark_program(), "send", "bob", "hi", "--user", "alice", "--data",
                                       server_.data(), "--url", "http://127.0.0.1:" + std::to_string(port)});
    EXPECT_EQ(none.exit_code, 1) << port;
    EXPECT_THAT(none.err, HasSubstr("is no address of a server"));
  }
}

TEST_F(Cli, TheSameIdIsOneMessage) {
  EXPECT_EQ(send("alice", {"bob", "once", "--id", "m1"}).out, "alice_bob:1  sent\n");
  EXPECT_EQ(send("alice", {"bob", "once", "--id", "m1"}).out, "alice_bob:1  was sent before\n");
  const Finished other = send("alice", {"bob", "something else", "--id", "m1"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, StartsWith("tidemark: CLIENT_MSG_ID_CONFLICT (client_msg_id): "));
}

TEST_F(Cli, EditsAndRecallsWhatWasSent) {
  ASSERT_EQ(send("alice", {"bob", "wrnog"}).exit_code, 0);
  const Finished edited = run({"edit", "alice_bob:1", "right", "now"}, "--from", "alice");
  EXPECT_EQ(edited.out, "alice_bob:1  edited\n") << edited.err;
  EXPECT_THAT(run({"history", "alice"}, "--user", "bob").out, AllOf(HasSubstr("right now"), Not(HasSubstr("wrnog"))));
  const Finished late = run({"edit", "alice_bob:1", "other", "--base-revision", "0"}, "--from", "alice");
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_THAT(late.err, StartsWith("tidemark: REVISION_CONFLICT (base_revision): "));
  EXPECT_THAT(run({"recall", "alice_bob:1"}, "--from", "bob").err, StartsWith("tidemark: FORBIDDEN (message_id): "));
  EXPECT_EQ(run({"recall", "alice_bob:1"}, "--from", "alice").out, "alice_bob:1  recalled\n");
  EXPECT_EQ(run({"recall", "alice_bob:1"}, "--from", "alice").out, "alice_bob:1  is so already\n");
  EXPECT_THAT(run({"history", "alice"}, "--user", "bob").out, Not(HasSubstr("right now")));
}

TEST_F(Cli, ReactsAndShowsWhoDoes) {
  ASSERT_EQ(send("alice", {"bob", "lunch?"}).exit_code, 0);
  EXPECT_EQ(run({"react", "alice_bob:1", "yes"}, "--from", "bob").out, "alice_bob:1  reacted to\n");
  EXPECT_EQ(run({"react", "alice_bob:1", "yes"}, "--from", "bob").out, "alice_bob:1  is so already\n");
  EXPECT_EQ(run({"react", "alice_bob:1", "yes"}, "--from", "alice").out, "alice_bob:1  reacted to\n");
  EXPECT_EQ(run({"reactions", "alice_bob:1"}, "--from", "bob").out, "bob  yes\nalice  yes\n");
  EXPECT_EQ(run({"reactions", "alice_bob:1", "no"}, "--from", "bob").out, "");
  EXPECT_EQ(run({"react", "alice_bob:1", "yes", "--off"}, "--from", "alice").out,
            "alice_bob:1  no longer reacted to\n");
  EXPECT_THAT(run({"history", "alice"}, "--user", "bob").out,
              AllOf(HasSubstr("lunch?  yes 1*"), HasSubstr("bob put yes on 1"), HasSubstr("alice took yes from 1")));
  EXPECT_THAT(run({"react", "alice_bob:7", "yes"}, "--from", "bob").err,
              StartsWith("tidemark: MESSAGE_NOT_FOUND (message_id): "));
}

TEST_F(Cli, TellsWhoHasReadAndWhatIsUnread) {
  ASSERT_EQ(send("alice", {"bob", "one"}).exit_code, 0);
  ASSERT_EQ(send("alice", {"bob", "two"}).exit_code, 0);
  EXPECT_THAT(run({"totals"}, "--user", "bob").out, AllOf(HasSubstr("unread    2\n"), HasSubstr("badge     2\n")));
  EXPECT_THAT(run({"receipts", "alice_bob"}, "--user", "alice").out, HasSubstr("bob"));
  ASSERT_EQ(run({"settings", "receipts", "false"}, "--user", "bob").exit_code, 0);
  EXPECT_EQ(run({"receipts", "alice_bob"}, "--user", "alice").out, "nobody tells\n");
  EXPECT_THAT(run({"receipts", "alice_bob"}, "--user", "bob").out, HasSubstr("you are told of nobody"));
}

TEST_F(Cli, DevicesAreListedNamedAndLoggedOut) {
  EXPECT_EQ(run({"devices", "list"}, "--user", "alice").out, "no devices\n");
  ASSERT_EQ(this->chat("alice", "bob", "hello\n").exit_code, 0);
  const std::string list = run({"devices", "list"}, "--user", "alice").out;
  const std::string device = list.substr(list.find('\n') + 1, list.find(' ', list.find('\n')) - list.find('\n') - 1);
  EXPECT_THAT(list, HasSubstr("logged in"));
  const Finished named = run({"devices", "rename", device, "The", "desk"}, "--user", "alice");
  EXPECT_EQ(named.out, device + "  is called The desk\n") << named.err;
  EXPECT_THAT(run({"devices", "logout", device}, "--user", "alice").out,
              AllOf(HasSubstr("The desk"), HasSubstr("logged out")));
  EXPECT_EQ(run({"devices", "remove", device}, "--user", "alice").out, "no devices\n");
  EXPECT_THAT(run({"devices", "logout", device}, "--user", "alice").err,
              StartsWith("tidemark: DEVICE_NOT_FOUND (device): "));
  EXPECT_EQ(run({"devices"}, "--user", "alice").exit_code, 2);
}

TEST_F(Cli, HistoryGoesBackPageByPageOrAllAtOnce) {
  for (int i = 1; i <= 5; ++i) ASSERT_EQ(send("alice", {"bob", "text", std::to_string(i)}).exit_code, 0);
  const Finished page = run({"history", "alice_bob", "--limit", "2"}, "--user", "bob");
  EXPECT_THAT(page.out, AllOf(HasSubstr("text 4"), HasSubstr("text 5"), Not(HasSubstr("text 3")),
                              HasSubstr("more: tidemark history alice_bob --before 4 --limit 2 --user bob ")));
  // What it says to run can be run as it stands.
  const std::string more = page.out.substr(page.out.find("history alice_bob --before"));
  const Finished older = run_program({"/bin/sh", "-c", "\"$1\" " + more, "sh", tidemark_program()});
  EXPECT_THAT(older.out, AllOf(HasSubstr("text 2"), HasSubstr("text 3"), Not(HasSubstr("text 4")))) << older.err;
  const Finished all = run({"history", "alice_bob", "--limit", "2", "--all"}, "--user", "bob");
  EXPECT_LT(all.out.find("text 1"), all.out.find("text 5"));
  EXPECT_THAT(all.out, Not(HasSubstr("more:")));
  const Finished json = run({"history", "alice_bob", "--limit", "2", "--json"}, "--user", "bob");
  EXPECT_THAT(json.out, AllOf(StartsWith("{\"conversation_id\":\"alice_bob\","), HasSubstr("\"page_token\":")));
}

TEST_F(Cli, ALongMessageIsShownWholeWhenAskedFor) {
  std::string text = "first line\n";
  for (int i = 0; i < 900; ++i) text += "word" + std::to_string(i) + ' ';
  text += "\nlast \x1b[2Jline";
  ASSERT_EQ(send("alice", {"bob", text}).exit_code, 0);
  const Finished page = run({"history", "alice"}, "--user", "bob");
  EXPECT_THAT(page.out, AllOf(HasSubstr("first line"), Not(HasSubstr("word899")),
                              HasSubstr("all of it: tidemark body alice_bob:1 --user bob ")));
  const Finished whole = run({"body", "alice_bob:1"}, "--from", "bob");
  EXPECT_THAT(whole.out, AllOf(StartsWith("first line\nword0 "), HasSubstr(" word899 \nlast  [2Jline\n")));
  EXPECT_THAT(run({"body", "alice_bob:1", "--json"}, "--user", "bob").out,
              AllOf(StartsWith("{\"message_id\":\"alice_bob:1\""), HasSubstr("word899")));
  EXPECT_THAT(run({"body", "alice_bob:2"}, "--user", "bob").err,
              StartsWith("tidemark: MESSAGE_NOT_FOUND (message_id): "));
}

TEST_F(Cli, TextOfOthersCannotCommandTheTerminal) {
  ASSERT_EQ(send("alice", {"bob", "a\x1b[2Jb"}).exit_code, 0);
  EXPECT_THAT(run({"history", "alice"}, "--user", "bob").out, AllOf(HasSubstr("a [2Jb"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(run({"sync"}, "--user", "bob").out, Not(HasSubstr("\x1b")));
}

TEST_F(Cli, ErrorsSayWhatToDoAndEndWithOne) {
  const Finished none = run_program({tidemark_program(), "send", "bob", "hi", "--from", "alice", "--data",
                                     server_.data(), "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err,
              AllOf(HasSubstr("There is no server at http://127.0.0.1:1"), HasSubstr("tidemark serve --data")));
  const Finished url = run_program({tidemark_program(), "sync", "--token", "t", "--url", "127.0.0.1:7700"});
  EXPECT_EQ(url.exit_code, 1);
  EXPECT_THAT(url.err, HasSubstr("http://127.0.0.1:7700"));
  const Finished token = run_program({tidemark_program(), "sync", "--token", "t", "--url", this->url()});
  EXPECT_EQ(token.exit_code, 1);
  EXPECT_THAT(token.err, StartsWith("tidemark: BAD_TOKEN"));
  const Finished foreign = run({"history", "carol_dave"}, "--user", "alice");
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.err, StartsWith("tidemark: CONVERSATION_NOT_FOUND"));
}

TEST_F(Cli, AChatWithoutATerminalSendsLinesAndTellsWhatHappens) {
  const Finished chat = this->chat("alice", "bob", "first\n//second\n");
  EXPECT_EQ(chat.exit_code, 0) << chat.err;
  EXPECT_THAT(chat.out,
              AllOf(HasSubstr("open alice_bob\n"), HasSubstr("sent alice_bob 1\n"), HasSubstr("sent alice_bob 2\n")));
  const Finished history = run({"history", "alice"}, "--user", "bob");
  EXPECT_THAT(history.out, AllOf(HasSubstr("first\n"), HasSubstr("/second\n")));
  const Finished group = this->chat("alice", "bob", "/group \"Tuesday lunch\" bob\nhello all\n");
  EXPECT_EQ(group.exit_code, 0) << group.err;
  EXPECT_THAT(group.out, AllOf(HasSubstr("notice made the group Tuesday lunch\n"), HasSubstr("open group_1\n")));
  EXPECT_THAT(run({"sync"}, "--user", "bob").out, HasSubstr("Tuesday lunch (group_1)"));
}

TEST(CliUsage, AnUnknownCommandIsNamedAndAllCommandsAreListed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"nope", "--data", "x"}, "tidemark: unknown command \"nope\"\n"},
      {{"--nope"}, "tidemark: unknown flag \"--nope\"\n"},
      {{}, "tidemark: give a command\n"}};
  for (const auto& [words, sentence] : cases) {
    std::vector<std::string> command = {tidemark_program()};
    command.insert(command.end(), words.begin(), words.end());
    const Finished told = run_program(command);
    EXPECT_EQ(told.exit_code, 2);
    EXPECT_THAT(told.err, StartsWith(sentence));
    for (const char* known : {"serve", "token", "send", "edit", "recall", "history", "sync", "chat", "demo", "config"})
      EXPECT_THAT(told.err, HasSubstr("\n  " + std::string(known) + " "));
    EXPECT_EQ(told.out, "");
  }
}

TEST(CliUsage, AFlagBeyondItsRangeIsNamedWithWhatIsAllowed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"history", "a_b", "--limit", "0"}, "history: --limit: must be a whole number of 1 or more, not \"0\""},
      {{"history", "a_b", "--limit", "2x"}, "history: --limit: must be a whole number of 1 or more, not \"2x\""},
      {{"history", "a_b", "--before", "-3"}, "history: --before: must be a whole number of 1 or more, not \"-3\""},
      {{"history", "a_b", "--after", "18446744073709551616"},
       "--after: must be a whole number from 1 to 18446744073709"},
      {{"sync", "--tail", "51"}, "sync: --tail: must be a whole number from 1 to 50, not \"51\""},
      {{"sync", "--bodies", "some"}, "sync: --bodies: must be one of none, recent, all, not \"some\""},
      {{"token", "alice", "--ttl", "0"}, "token: --ttl: must be a whole number from 1 to 315360000, not \"0\""},
      {{"token", "alice", "--device", ""}, "token: --device: must not be empty"},
      {{"token", "alice", "--admin", "--level", "vip"}, "token: --admin excludes --level"},
      {{"send", "bob", "hi", "--id", ""}, "send: --id: must not be empty"},
      {{"send", "bob", "hi", "--attach-days", "1"}, "send: --attach-days requires --attach"},
      {{"serve", "--nope"}, "tidemark serve: The following argument was not expected: --nope"}};
  for (const auto& [words, sentence] : cases) {
    std::vector<std::string> command = {tidemark_program()};
    command.insert(command.end(), words.begin(), words.end());
    const Finished told = run_program(command);
    EXPECT_EQ(told.exit_code, 2);
    EXPECT_THAT(told.err, AllOf(HasSubstr(sentence), HasSubstr("--help for more.\n")));
  }
}

TEST_F(Cli, ATokenForAMistypedDirectoryIsRefusedAndNothingIsMade) {
  const std::string typo = server_.data() + "-typo";
  const Finished none = run_program({tidemark_program(), "token", "alice", "--data", typo});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, AllOf(HasSubstr(typo + " holds no data of Tidemark"),
                              HasSubstr("Start the server once with --data " + typo + ", or check the path.")));
  EXPECT_FALSE(std::filesystem::exists(typo));
  const Finished made = run_program({tidemark_program(), "token", "alice", "--data", server_.data()});
  EXPECT_EQ(made.exit_code, 0) << made.err;
}

TEST(CliDemo, TheStoryOfSixDevicesEndsWithNothingLost) {
  const Finished demo = run_program({tidemark_program(), "demo", "--fast"});
  EXPECT_EQ(demo.exit_code, 0) << demo.out << demo.err;
  EXPECT_THAT(demo.out, HasSubstr("Nothing was lost.\n"));
}

}  // namespace
}  // namespace tidemark::testing
