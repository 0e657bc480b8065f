// Processes killed in the midst of commits and recoveries; logs cut short, damaged or missing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "store/rocks/rocks_wal.h"
#include "store/rocks/rocks_world.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

// ---- A child process: this program again, told by the environment what to do instead of running tests.

constexpr const char* kJob = "TIDEMARK_STORE_TEST_CHILD";  // "<what>:<directory>:<pipe>"

/// Commits numbered batches for ever and reports each confirmed number through the pipe.
[[noreturn]] void commit_until_killed(const std::string& directory, int pipe) {
  RocksOptions options = small_options(directory);
  options.memtable_bytes = 2u << 20;  // so that it is often killed while memtables are written out
  options.max_wal_bytes = 1u << 20;
  auto warm = RocksWarm::open(options);
  if (!warm) _exit(2);
  unsigned number = 0;
  if (const auto last = (*warm)->snapshot()->get(Table::meta, "last"); last && *last) number = std::stoul(**last);
  for (;;) {
    Batch batch = batch_of(++number);
    batch.put(Table::entries, numbered("big", number), std::string(20'000, 'x'));
    if (!(*warm)->commit(batch)) _exit(3);
    if (::write(pipe, &number, sizeof number) != sizeof number) _exit(4);
  }
}

/// Dies in the step of a recovery that the directory's file "step" names.
[[noreturn]] void die_in_recovery(const std::string& directory) {
  const auto files = std::make_shared<FaultFileSystem>();
  QuickEnv env(files);
  RocksOptions options = small_options(directory + "/store");
  options.env = &env;
  const std::string deadly = bytes_of_file(directory + "/step");
  options.recovery_fault = [&](std::string_view step) -> bool {
    if (step == deadly) ::kill(::getpid(), SIGKILL);
    return false;
  };
  auto warm = RocksWarm::open(options);
  if (!warm || !(*warm)->commit(batch_of(1))) _exit(2);
  files->fail_log_sync(1, false);
  if ((*warm)->commit(batch_of(2))) _exit(3);
  (void)(*warm)->recover();
  _exit(4);
}

class Child final : public testing::Environment {
 public:
  void SetUp() override {
    const char* job = std::getenv(kJob);
    if (!job) return;
    set_log(LogLevel::off, LogFormat::text);
    const std::string text = job;
    const std::size_t first = text.find(':');
    const std::size_t second = text.rfind(':');
    const std::string what = text.substr(0, first);
    const std::string directory = text.substr(first + 1, second - first - 1);
    if (what == "commit") commit_until_killed(directory, std::stoi(text.substr(second + 1)));
    if (what == "recover") die_in_recovery(directory);
    _exit(9);
  }
};
[[maybe_unused]] testing::Environment* const child = testing::AddGlobalTestEnvironment(new Child);

/// Starts this program as a child that does one thing. A new program, since RocksDB's threads do not survive a fork.
pid_t start_child(const std::string& what, const std::string& directory, int pipe) {
  const std::string job = std::string(kJob) + "=" + what + ":" + directory + ":" + std::to_string(pipe);
  std::vector<char*> environment;
  for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
  environment.push_back(const_cast<char*>(job.c_str()));
  environment.push_back(nullptr);
  const pid_t process = ::fork();
  if (process != 0) return process;
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  char name[] = "/proc/self/exe";
  char* arguments[] = {name, nullptr};
  ::execve(name, arguments, environment.data());
  _exit(8);
}

TEST(RocksCrash, kill_9_loses_no_confirmed_batch_and_leaves_no_half_one) {
  const TemporaryDirectory temporary;
  const std::string directory = temporary.path() + "/store";
  std::minstd_rand random(7);
  unsigned confirmed = 0;
  for (int round = 0; round < (kSanitized ? 3 : 8); ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t process = start_child("commit", directory, pipe[1]);
    ::close(pipe[1]);
    // Killed after some batches, a little later than the report of the last one.
    const unsigned batches = 1 + random() % 120;
    unsigned number = 0;
    for (unsigned i = 0; i < batches && ::read(pipe[0], &number, sizeof number) == sizeof number; ++i)
      confirmed = number;
    ::usleep(static_cast<useconds_t>(random() % 3000));
    ::kill(process, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, with " << WEXITSTATUS(status);
    while (::read(pipe[0], &number, sizeof number) == sizeof number) confirmed = number;
    ::close(pipe[0]);

    const auto warm = RocksWarm::open(small_options(directory));
    ASSERT_TRUE(warm) << warm.error().message();
    const auto snapshot = (*warm)->snapshot();
    const auto last = snapshot->get(Table::meta, "last");
    ASSERT_TRUE(last && *last);
    const auto present = static_cast<unsigned>(std::stoul(**last));
    ASSERT_GE(present, confirmed) << "round " << round;
    ASSERT_LE(present, confirmed + 1) << "round " << round;
    for (unsigned i = 1; i <= present; ++i) ASSERT_EQ(parts_there(*snapshot, i), std::size(kTables)) << "batch " << i;
    ASSERT_EQ(parts_there(*snapshot, present + 1), 0u);
  }
  EXPECT_GT(confirmed, 3u);
}

TEST(RocksCrash, a_process_killed_in_a_recovery_leaves_a_store_that_opens) {
  for (const char* step : {"prepare", "link", "open", "verify", "probe", "publish", "published"}) {
    SCOPED_TRACE(step);
    const TemporaryDirectory temporary;
    write_file(temporary.path() + "/step", step);
    const pid_t process = start_child("recover", temporary.path(), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, with " << WEXITSTATUS(status);
    const auto warm = RocksWarm::open(small_options(temporary.path() + "/store"));
    ASSERT_TRUE(warm) << warm.error().message();
    EXPECT_EQ(parts_there(*(*warm)->snapshot(), 1), std::size(kTables));
    const std::size_t parts = parts_there(*(*warm)->snapshot(), 2);
    EXPECT_TRUE(parts == 0 || parts == std::size(kTables));
    ASSERT_TRUE((*warm)->commit(batch_of(3)));
  }
}

TEST(RocksCrash, a_second_process_is_told_which_directory_is_in_use_and_by_whom) {
  const TemporaryDirectory temporary;
  const std::string directory = temporary.path() + "/store";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t process = start_child("commit", directory, pipe[1]);
  ::close(pipe[1]);
  unsigned number = 0;
  ASSERT_EQ(::read(pipe[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
  const auto second = RocksWarm::open(small_options(directory));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().detail, HasSubstr(directory));
  EXPECT_THAT(second.error().detail, HasSubstr("process id " + std::to_string(process)));
  ::kill(process, SIGKILL);
  ASSERT_EQ(::waitpid(process, nullptr, 0), process);
  ::close(pipe[0]);
  EXPECT_TRUE(RocksWarm::open(small_options(directory)));
}

// ---- Logs.

/// A store that died with `batches` batches in its log; the log's path.
std::filesystem::path store_with_log(RocksWorld& world, unsigned batches) {
  auto warm = world.open().value();
  for (unsigned number = 1; number <= batches; ++number) {
    Batch batch = batch_of(number);
    batch.put(Table::entries, numbered("big", number), std::string(number * 1'000, 'x'));  // some span several blocks
    EXPECT_TRUE(warm->commit(batch));
  }
  world.crash(warm);
  return files_of(world.directory(), ".log").back();
}

TEST(RocksCrash, a_log_cut_short_anywhere_gives_whole_batches_up_to_the_cut) {
  RocksWorld world;
  const auto log = store_with_log(world, 40);
  const std::string whole = bytes_of_file(log);
  const std::filesystem::path saved = world.directory() + "-saved";
  std::filesystem::copy(world.directory(), saved, std::filesystem::copy_options::recursive);
  std::minstd_rand random(11);
  unsigned previous = 0;
  std::vector<std::size_t> cuts;
  for (int i = 0; i < (kSanitized ? 8 : 25); ++i) cuts.push_back(random() % whole.size());
  std::ranges::sort(cuts);
  cuts.push_back(whole.size());
  for (const std::size_t cut : cuts) {
    std::filesystem::remove_all(world.directory());
    std::filesystem::copy(saved, world.directory(), std::filesystem::copy_options::recursive);
    write_file(log, whole.substr(0, cut));
    const auto warm = world.open();
    ASSERT_TRUE(warm) << warm.error().message();
    const unsigned last = whole_prefix(**warm, 40);
    EXPECT_GE(last, previous);
    previous = last;
  }
  EXPECT_EQ(previous, 40u);
}

TEST(RocksCrash, damage_in_the_last_record_drops_it_and_damage_before_it_is_refused) {
  RocksWorld world;
  const auto log = store_with_log(world, 40);
  const std::string whole = bytes_of_file(log);
  const std::filesystem::path saved = world.directory() + "-saved";
  std::filesystem::copy(world.directory(), saved, std::filesystem::copy_options::recursive);
  const std::size_t last_record = whole.size() - 39'000;  // its value alone has 40,000 bytes, over three blocks
  std::minstd_rand random(13);
  for (int i = 0; i < (kSanitized ? 12 : 40); ++i) {
    std::filesystem::remove_all(world.directory());
    std::filesystem::copy(saved, world.directory(), std::filesystem::copy_options::recursive);
    const bool in_last = i % 2 == 0;
    const std::size_t at = in_last ? last_record + random() % 38'000 : 8'000 + random() % (last_record - 60'000);
    SCOPED_TRACE("byte " + std::to_string(at) + " of " + std::to_string(whole.size()));
    if (i % 4 < 2) {
      flip_byte(log, at);
    } else {  // a page that never reached the disk
      std::string bytes = whole;
      bytes.replace(at, std::min<std::size_t>(4096, bytes.size() - at), std::min<std::size_t>(4096, bytes.size() - at),
                    '\0');
      write_file(log, bytes);
    }
    const auto warm = world.open();
    if (in_last) {
      ASSERT_TRUE(warm) << warm.error().message();
      EXPECT_EQ(whole_prefix(**warm, 40), 39u);
    } else {
      ASSERT_FALSE(warm) << "opened with batches up to " << whole_prefix(**warm, 40);
      EXPECT_EQ(warm.error().code, ErrorCode::INTERNAL);
      EXPECT_THAT(warm.error().detail, HasSubstr(world.directory()));
    }
  }
}

TEST(RocksCrash, a_missing_log_is_refused) {
  RocksWorld world;
  RocksOptions options = world.options();
  auto warm = RocksWarm::open(options).value();
  std::vector<std::filesystem::path> logs;
  unsigned number = 0;
  // A table that was written long ago keeps its log alive while others go on in new ones.
  while (logs.size() < 2 && number < 400) {
    Batch batch = number == 0 ? batch_of(1) : Batch{};
    batch.put(Table::entries, numbered("big", number++), std::string(100'000, 'x'));
    ASSERT_TRUE(warm->commit(batch));
    logs = files_of(world.directory(), ".log");
  }
  ASSERT_EQ(logs.size(), 2u);
  world.crash(warm);
  std::filesystem::remove(logs.front());
  const auto opened = RocksWarm::open(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::INTERNAL) << opened.error().message();
}

TEST(RocksWal, tells_a_torn_end_from_damage_in_the_middle) {
  RocksWorld world;
  const auto log = store_with_log(world, 10);
  const std::string whole = bytes_of_file(log);
  EXPECT_EQ(judge_log(whole).kind, LogEnd::Kind::clean);
  EXPECT_EQ(judge_log("").kind, LogEnd::Kind::clean);
  for (std::size_t size = whole.size() - 9'000; size < whole.size(); size += 97) {
    const LogEnd end = judge_log(std::string_view(whole).substr(0, size));
    EXPECT_EQ(end.kind, LogEnd::Kind::torn) << size;
    EXPECT_LE(end.good_bytes, size);
    EXPECT_EQ(judge_log(std::string_view(whole).substr(0, end.good_bytes)).kind, LogEnd::Kind::clean);
  }
  EXPECT_EQ(judge_log(whole + std::string(5'000, '\0')).kind, LogEnd::Kind::torn);
  EXPECT_EQ(judge_log(whole + std::string(5'000, '\0')).good_bytes, whole.size());
  for (std::size_t at = 0; at < whole.size() - 12'000; at += 501) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    EXPECT_EQ(judge_log(bytes).kind, LogEnd::Kind::damaged) << at;
  }
}

}  // namespace
}  // namespace tidemark
