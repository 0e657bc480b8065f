// The examples of examples/ against a real server, killed while they work; and the document that shows their code.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <thread>

#include "world.h"

namespace tidemark::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

std::string example(const std::string& name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / "examples" / name).string();
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void sleep_ms(std::int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

/// A program that runs while the test goes on.
class Running {
 public:
  explicit Running(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, 0);
    ::dup2(nothing, 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~Running() { kill_hard(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void kill_hard() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// The exit code if it ends by itself within the time.
  std::optional<int> wait(std::int64_t patience_ms) {
    for (std::int64_t waited = 0; waited < patience_ms; waited += 2, sleep_ms(2)) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) != pid_) continue;
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return std::nullopt;
  }

 private:
  pid_t pid_ = -1;
};

class Examples : public OwnServer {
 protected:
  void SetUp() override { serve(); }
  std::string url() const { return "ws://127.0.0.1:" + std::to_string(server().port()) + "/v1/ws"; }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }
  std::vector<std::string> command(const std::string& name, const std::string& who,
                                   std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {example(name), url(), user(who), token(who), file(name + ".db")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  TempDirectory directory_;
  std::mt19937 dice_{7};
};
INSTANTIATE_TEST_SUITE_P(Client, Examples, ::testing::Values(Dialect::binary), dialect_name);

TEST_P(Examples, TheImporterSendsEveryLineOnceThoughItAndTheServerAreKilled) {
  std::vector<std::string> lines;
  std::ofstream out(file("lines.txt"));
  for (int i = 1; i <= 120; ++i) {
    lines.push_back("line " + std::to_string(i));
    out << lines.back() << (i % 10 == 0 ? "\n\n" : "\n");
  }
  out.close();
  std::optional<int> ended;
  int killed = 0;
  for (int round = 0; round < 60 && !ended; ++round) {
    if (round % 5 == 3) server().restart_hard();
    Running import(command("import", "a", {user("b"), file("lines.txt")}));
    // The last one may take its time.
    ended = import.wait(killed < 15 ? 50 + static_cast<std::int64_t>(dice_() % 200) : 60'000);
    if (!ended) ++killed;
  }
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(*ended, 0);
  EXPECT_GT(killed, 0) << "or this shows nothing";
  WsClient reader = device("b");
  EXPECT_THAT(texts_of(whole_history(reader, chat("a", "b"))), ElementsAreArray(lines));

  const Finished again = run_program(command("import", "a", {user("b"), file("lines.txt")}));
  EXPECT_EQ(again.out, "120 sent, 0 not\n");
  EXPECT_EQ(whole_history(reader, chat("a", "b")).size(), 120U) << "it is known that all were sent";
}

TEST_P(Examples, TheImporterTellsWhichLineWasRefused) {
  std::ofstream(file("lines.txt")) << "good\n" << std::string(100'000, 'x') << "\nnever reached\n";
  const Finished refused = run_program(command("import", "a", {user("b"), file("lines.txt")}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("import: line 2: "));
  EXPECT_EQ(refused.out, "1 sent, 0 not\n");
}

TEST_P(Examples, TheBotAnswersEveryMessageOnceThoughItIsKilled) {
  WsClient anna = device("anna");
  int asked = 0;
  for (int round = 0; round < 8; ++round) {
    Running bot(command("bot", "bot"));
    for (int i = 0; i < 4; ++i) {
      send_all(anna, user("bot"), {"question " + std::to_string(++asked)});
      sleep_ms(dice_() % 40);
    }
    if (round == 4) server().restart_hard(), anna = device("anna");
    sleep_ms(50 + dice_() % 150);
  }
  // More than a page while it is away.
  send_all(anna, user("bot"), numbered("late ", 130));
  asked += 130;
  const Running bot(command("bot", "bot"));
  std::map<std::uint64_t, int> answers;
  for (int patience = 0; patience < 600 && answers.size() < static_cast<std::size_t>(asked); ++patience, sleep_ms(50)) {
    answers.clear();
    for (const pb::Message& row : whole_history(anna, chat("anna", "bot")))
      if (row.sender() == user("bot")) ++answers[row.reply_to()];
  }
  sleep_ms(300);
  answers.clear();
  std::size_t questions = 0;
  for (const pb::Message& row : whole_history(anna, chat("anna", "bot"))) {
    if (row.sender() == user("bot"))
      ++answers[row.reply_to()];
    else
      ++questions;
  }
  EXPECT_EQ(questions, static_cast<std::size_t>(asked));
  EXPECT_EQ(answers.size(), questions);
  for (const auto& [seq, times] : answers) EXPECT_EQ(times, 1) << "message " << seq;
}

TEST_P(Examples, TheWatcherPrintsWhatHappensAndWhatItHolds) {
  WsClient anna = device("anna");
  send_all(anna, user("watcher"), {"hello", "again"});
  const std::string id = chat("anna", "watcher");
  const Finished first = run_program(command("watch", "watcher", {"800"}));
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr(id + ": message 1 " + user("anna") + ": hello\n"), HasSubstr("in step\n"),
                               HasSubstr(id + ": 2 unread\n")));
  const std::vector<std::string> again = command("watch", "watcher", {"800"});
  server().kill_hard();
  const Finished alone = run_program(again);
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_THAT(alone.out, AllOf(HasSubstr(id + ": with " + user("anna") + ", 2 unread, again\n"),
                               HasSubstr("  " + user("anna") + ": hello\n"), HasSubstr("offline: Connection refused\n"),
                               Not(HasSubstr("message"))));
  server().start();
}

TEST_P(Examples, EachSaysWhatItTakesAndWhyItIsRefused) {
  for (const char* name : {"bot", "import", "watch"}) {
    const Finished usage = run_program({example(name)});
    EXPECT_EQ(usage.exit_code, 2);
    EXPECT_THAT(usage.err, HasSubstr("usage: " + std::string(name) + " URL USER TOKEN STORE"));
  }
  std::vector<std::string> words = command("bot", "bot");
  words[3] = server().expired_token(user("bot"));
  const Finished refused = run_program(words);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("bot: refused: The token is missing, wrong, expired"));
}

// ----------------------------------------------------------------------------------------------- docs/client.md

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Without what all lines are indented by.
std::string outdented(const std::vector<std::string>& lines) {
  std::size_t indent = std::string::npos;
  for (const std::string& line : lines)
    if (!line.empty()) indent = std::min(indent, line.find_first_not_of(' '));
  std::string text;
  for (const std::string& line : lines) text += (line.empty() ? "" : line.substr(indent)) + "\n";
  return text;
}

/// The blocks of C++ in a document.
std::vector<std::string> code_of(const std::string& document) {
  std::vector<std::string> blocks;
  bool inside = false;
  std::vector<std::string> block;
  for (const std::string& line : lines_of(document)) {
    if (line == "```cpp") {
      inside = true;
    } else if (line == "```" && inside) {
      inside = false;
      blocks.push_back(outdented(std::exchange(block, {})));
    } else if (inside) {
      block.push_back(line);
    }
  }
  return blocks;
}

/// Whether some lines that follow each other in the source say this, wherever they are indented.
bool is_in(const std::string& source, const std::string& block) {
  const std::vector<std::string> lines = lines_of(source);
  const std::size_t size = lines_of(block).size();
  for (std::size_t at = 0; at + size <= lines.size(); ++at) {
    const auto from = lines.begin() + static_cast<std::ptrdiff_t>(at);
    if (outdented({from, from + static_cast<std::ptrdiff_t>(size)}) == block) return true;
  }
  return false;
}

TEST(DocsClient, EveryPieceOfCodeStandsInAnExampleThatIsCompiledAndRun) {
  const fs::path root = TIDEMARK_SOURCE_DIR;
  std::vector<std::string> sources;
  for (const auto& entry : fs::directory_iterator(root / "examples"))
    if (entry.path().extension() == ".cc") sources.push_back(text_of(entry.path()));
  ASSERT_GE(sources.size(), 3U);
  const std::vector<std::string> blocks = code_of(text_of(root / "docs" / "client.md"));
  EXPECT_GE(blocks.size(), 6U);
  for (const std::string& block : blocks)
    EXPECT_TRUE(std::ranges::any_of(sources, [&](const std::string& source) { return is_in(source, block); }))
        << "no example has\n"
        << block;
}

TEST(DocsClient, ExamplesUseNothingButThePublicHeader) {
  for (const auto& entry : fs::directory_iterator(fs::path(TIDEMARK_SOURCE_DIR) / "examples")) {
    std::vector<std::string> own;
    for (const std::string& line : lines_of(text_of(entry.path())))
      if (line.starts_with("#include \"")) own.push_back(line);
    EXPECT_THAT(own, Each("#include \"client/client.h\"")) << entry.path();
  }
}

}  // namespace
}  // namespace tidemark::testing
