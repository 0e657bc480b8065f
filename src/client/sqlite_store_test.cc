// The store in a file: what both stores have in common, and what becomes of it when processes die, disks fill up and
// bytes change.
#include "client/sqlite_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/property_testing.h"
#include "client/replica_store_conformance.h"
#include "client/sqlite.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

/// A folder that goes away with everything in it.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tidemark_store_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name = "store.db") const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::unique_ptr<ReplicaStore> open_or_fail(const std::string& path) {
  auto store = open_sqlite_store(path);
  EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message());
  return store ? std::move(*store) : nullptr;
}

/// The refusal; a store that opens is not refused.
Error refusal_of(const std::string& path) {
  const auto store = open_sqlite_store(path);
  return store ? Error{ErrorCode::INTERNAL, "", "it was opened"} : store.error();
}

/// What a store that was just opened shows, or why it refuses.
Result<std::string> shown(const std::string& path) {
  TM_ASSIGN(const std::unique_ptr<ReplicaStore> store, open_sqlite_store(path));
  return everything(*store);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class MemoryWorld {
 public:
  std::shared_ptr<ReplicaStore> open() { return make_memory_store(); }
};

/// Between any two looks at it the store is closed and opened again.
class SqliteWorld {
 public:
  std::shared_ptr<ReplicaStore> open() { return std::make_shared<Reopening>(folder_.file()); }

 private:
  class Reopening final : public ReplicaStore {
   public:
    explicit Reopening(std::string path) : path_(std::move(path)) {}
    Result<void> apply(const replica::StoreBatch& batch) override {
      if (!store_) store_ = open_or_fail(path_);
      return store_->apply(batch);
    }
    Result<replica::StoreImage> load() override {
      if (++loads_ % 4 == 0) store_.reset();
      if (!store_) store_ = open_or_fail(path_);
      return store_->load();
    }
    Result<std::vector<TimelineRow>> rows(const ConversationId& conversation, Seq before, std::size_t limit) override {
      return store_->rows(conversation, before, limit);
    }

   private:
    const std::string path_;
    std::unique_ptr<ReplicaStore> store_;
    int loads_ = 0;
  };
  Folder folder_;
};

/// Fewer random histories than usual: each opens a file and syncs it many times.
const bool kFewerHistories = cases_of_each_property(30);

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, ReplicaStoreConformance, MemoryWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, ReplicaStoreConformance, SqliteWorld);

// ------------------------------------------------------------------------------------------------- one process

TEST(SqliteStore, TheFileIsItsOwnersAlone) {
  const Folder folder;
  BatchMaker maker(1);
  const auto store = open_or_fail(folder.file());
  ASSERT_TRUE(store->apply(maker.next()).has_value());
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(fs::status(entry).permissions() & fs::perms::mask, fs::perms::owner_read | fs::perms::owner_write)
        << entry.path();
}

TEST(SqliteStore, OfWhatWasErasedNothingIsLeftInItsFiles) {
  const std::string secret = "what nobody else may read";
  const Folder folder;
  const auto left = [&] {
    std::string all;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      std::ifstream file(entry.path(), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  };
  const auto store = open_or_fail(folder.file());
  BatchMaker maker(3);
  for (int i = 0; i < 30; ++i) {
    replica::StoreBatch batch = maker.next();
    replica::ObjectState draft;
    draft.object.what = SavedDraft{ConversationId("chat_1")};
    std::get<SavedDraft>(draft.object.what).body.text = secret + std::string(static_cast<std::size_t>(i) * 300, 'x');
    batch.objects.push_back(draft);
    for (replica::StoredRow& row : batch.rows) {
      auto entry = std::make_shared<Entry>(*row.entry);
      entry->body.text = secret;
      row.entry = std::move(entry);
    }
    ASSERT_TRUE(store->apply(batch).has_value());
  }
  ASSERT_THAT(left(), HasSubstr(secret));
  ASSERT_TRUE(store->erase_all({}).has_value());
  EXPECT_EQ(left().find(secret), std::string::npos);
}

TEST(SqliteStore, ASecondOpenerIsToldWhoseFileItIs) {
  const Folder folder;
  const auto first = open_or_fail(folder.file());
  const Error second = refusal_of(folder.file());
  EXPECT_EQ(second.code, ErrorCode::TOO_MANY_CONNECTIONS);
  EXPECT_EQ(second.field, "store");
  EXPECT_EQ(second.detail, folder.file() + " is in use by another process.");
  BatchMaker maker(1);
  EXPECT_TRUE(first->apply(maker.next()).has_value()) << "the first is not disturbed";
}

TEST(SqliteStore, WhatIsNoStoreIsRefusedAndLeftAlone) {
  const Folder folder;
  const auto refused = [&](const std::string& path) {
    const std::string before = fs::is_regular_file(path) ? read_file(path) : "";
    const Error error = refusal_of(path);
    EXPECT_EQ(error.code, ErrorCode::MALFORMED);
    EXPECT_EQ(error.field, "store");
    EXPECT_THAT(error.detail, HasSubstr(path));
    if (fs::is_regular_file(path)) EXPECT_TRUE(read_file(path) == before);
    return error.detail;
  };
  write_file(folder.file("letter.txt"), std::string(5'000, 'x'));
  EXPECT_THAT(refused(folder.file("letter.txt")), HasSubstr("is no store of Tidemark"));
  write_file(folder.file("short"), "x");
  EXPECT_THAT(refused(folder.file("short")), HasSubstr("is no store of Tidemark"));
  fs::create_directory(folder.file("folder"));
  EXPECT_THAT(refused(folder.file("folder")), HasSubstr("cannot be opened"));
  EXPECT_THAT(refused(folder.file("nowhere/store.db")), HasSubstr("cannot be made: No such file or directory"));
  {
    sqlite::Database other;
    ASSERT_EQ(other.open(folder.file("other.db")), 0);
    ASSERT_EQ(other.run("CREATE TABLE rows(x); INSERT INTO rows VALUES(1)"), 0);
  }
  EXPECT_THAT(refused(folder.file("other.db")), HasSubstr("of another program"));
  EXPECT_EQ(refusal_of("").field, "store");
}

TEST(SqliteStore, AnEmptyFileBecomesAStore) {
  const Folder folder;
  write_file(folder.file(), "");
  EXPECT_NE(open_or_fail(folder.file()), nullptr);
}

TEST(SqliteStore, AVersionThatIsNotKnownIsRefused) {
  const Folder folder;
  open_or_fail(folder.file());
  for (const char* version : {"0", "1", "4", "6", "-1"}) {
    {
      sqlite::Database database;
      ASSERT_EQ(database.open(folder.file()), 0);
      ASSERT_EQ(database.run((std::string("PRAGMA user_version=") + version).c_str()), 0);
    }
    const Error refused = refusal_of(folder.file());
    EXPECT_EQ(refused.code, ErrorCode::MALFORMED);
    EXPECT_THAT(refused.detail, AllOf(HasSubstr(folder.file()), HasSubstr("format version " + std::string(version)),
                                      HasSubstr("use the program that has written it")));
  }
}

// ---------------------------------------------------------------------------------------------------- damage

struct Harm {
  BatchMaker& dice;
  std::string operator()(std::string bytes) const {
    if (bytes.empty()) return bytes;
    const std::size_t at = dice.below(bytes.size());
    switch (dice.below(5)) {
      case 0:  // bits
        bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1U << dice.below(8)));
        break;
      case 1:  // a sector of zeros
        for (std::size_t i = at / 512 * 512; i < std::min(bytes.size(), at / 512 * 512 + 512); ++i) bytes[i] = '\0';
        break;
      case 2:  // the end is missing
        bytes.resize(at);
        break;
      case 3: {  // a page stands where another should
        const std::size_t page = at / 4096 * 4096;
        const std::size_t other = dice.below(bytes.size()) / 4096 * 4096;
        bytes.replace(page, 4096, bytes.substr(other, 4096));
        break;
      }
      default:  // noise
        for (std::size_t i = at; i < std::min(bytes.size(), at + 40); ++i)
          bytes[i] = static_cast<char>(dice.below(256));
    }
    return bytes;
  }
};

TEST(SqliteStore, ADamagedFileIsRefusedAndNeverMisread) {
  const Folder folder;
  BatchMaker maker(77, 6'000);  // bodies that need pages of their own
  {
    const auto store = open_or_fail(folder.file());
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(store->apply(maker.next()).has_value());
  }
  const std::string good = read_file(folder.file());
  const std::string truth = shown(folder.file()).value_or("");
  ASSERT_NE(truth, "");
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    const std::string bytes = Harm{maker}(good);
    if (bytes.empty()) continue;
    write_file(folder.file("damaged.db"), bytes);
    const auto seen = shown(folder.file("damaged.db"));
    if (seen) {
      // What is free may say anything.
      ASSERT_TRUE(*seen == truth) << "round " << round;
      continue;
    }
    ++refused;
    EXPECT_EQ(seen.error().field, "store") << seen.error().message();
    EXPECT_THAT(seen.error().detail, HasSubstr(folder.file("damaged.db")));
  }
  EXPECT_GT(refused, 200) << "of 300; there is little that is free";
}

TEST(SqliteStore, ADamagedLogGivesWhatOnceWasOrIsRefused) {
  const Folder folder;
  BatchMaker maker(78, 6'000);
  std::vector<std::string> states;
  replica::MemoryStore model;
  states.push_back(everything(model));
  const auto store = open_or_fail(folder.file());
  // Until the log was begun anew, over older pages of its own, and some commits have followed, but not so many that
  // the file has been given their pages: from then on an older state is a mixture, and refused.
  std::string begun(32, '\0');
  int since = 0;
  for (int i = 0; i < 250 || since != 8; ++i) {
    ASSERT_LT(i, 1'000);
    std::string header(32, '\0');
    std::ifstream(folder.file() + "-wal", std::ios::binary).read(header.data(), 32);
    since = header == begun ? since + 1 : 0;
    begun = header;
    const replica::StoreBatch batch = maker.next();
    ASSERT_TRUE(store->apply(batch).has_value());
    model.apply(batch);
    states.push_back(everything(model));
  }
  const std::string file = read_file(folder.file());
  const std::string log = read_file(folder.file() + "-wal");
  ASSERT_GT(log.size(), 100'000U);
  const std::string copy = folder.file("copy.db");
  int older = 0;
  for (int round = 0; round < 100; ++round) {
    fs::remove(copy);
    write_file(copy, file);
    write_file(copy + "-wal", round == 0 ? log : Harm{maker}(log));
    const auto seen = shown(copy);
    if (!seen) {
      EXPECT_THAT(seen.error().detail, HasSubstr(copy));
      continue;
    }
    ASSERT_THAT(states, Contains(*seen)) << "round " << round;
    if (*seen != states.back()) ++older;
    if (round == 0) ASSERT_EQ(*seen, states.back()) << "undamaged, nothing is lost";
  }
  EXPECT_GT(older, 10);
}

TEST(SqliteStore, AMessageThatChangedUnderTheOpenStoreIsNotShown) {
  const Folder folder;
  const ConversationId id("1001_1002");
  BatchMaker maker(3);
  replica::StoreBatch batch;
  batch.conversations.push_back(maker.conversation(id));
  replica::StoredRow row = maker.row(id, Seq(1));
  auto entry = std::make_shared<Entry>(*row.entry);
  entry->body.text = std::string(20'000, 'x') + "the last word" + std::string(20'000, 'x');
  row.entry = entry;
  batch.rows.push_back(row);
  ASSERT_TRUE(open_or_fail(folder.file())->apply(batch).has_value());
  std::string bytes = read_file(folder.file());
  const std::size_t at = bytes.find("the last word");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'T';
  write_file(folder.file(), bytes);
  const auto store = open_or_fail(folder.file());
  ASSERT_TRUE(store->load().has_value()) << "bodies are not looked at";
  const auto rows = store->rows(id, {}, 10);
  ASSERT_FALSE(rows.has_value());
  EXPECT_THAT(rows.error().detail, HasSubstr("is damaged (a message is not what was written). Move it"));
}

// ------------------------------------------------------------------------------------------------- a full disk

/// Applies until the store refuses, and returns the batch that it did not take. One that was refused before comes
/// first: later ones may rest on it.
std::optional<replica::StoreBatch> fill(ReplicaStore& store, replica::MemoryStore& model, BatchMaker& maker,
                                        std::optional<replica::StoreBatch> refused = std::nullopt) {
  for (int i = 0; i < 2'000; ++i) {
    replica::StoreBatch batch = refused ? std::move(*refused) : maker.next();
    refused.reset();
    if (!store.apply(batch)) return batch;
    model.apply(batch);
  }
  return std::nullopt;
}

/// The refused batch left nothing behind, and is taken when there is room.
void check_recovery(const std::string& path, std::unique_ptr<ReplicaStore> store, replica::MemoryStore& model,
                    const replica::StoreBatch& refused, BatchMaker& maker) {
  EXPECT_EQ(everything(*store).value_or("refused"), everything(model));
  ASSERT_TRUE(store->apply(refused).has_value());
  model.apply(refused);
  EXPECT_EQ(everything(*store).value_or("refused"), everything(model));
  const replica::StoreBatch next = maker.next();
  ASSERT_TRUE(store->apply(next).has_value());
  model.apply(next);
  store.reset();
  EXPECT_EQ(shown(path).value_or("refused"), everything(model));
}

TEST(SqliteStore, OnAFullDiskNothingIsHalfAppliedAndLaterItGoesOn) {
  const Folder folder;
  const std::string disk = folder.file("disk");
  fs::create_directory(disk);
  if (::mount("tidemark-test", disk.c_str(), "tmpfs", 0, "size=3m") != 0) GTEST_SKIP() << "no disk may be mounted here";
  {
    write_file(disk + "/ballast", std::string(1U << 20, 'x'));
    const std::string path = disk + "/store.db";
    auto store = open_or_fail(path);
    BatchMaker maker(9, 20'000);
    replica::MemoryStore model;
    std::optional<replica::StoreBatch> refused;
    for (int round = 0; round < 2; ++round) {
      refused = fill(*store, model, maker, std::move(refused));
      ASSERT_TRUE(refused.has_value());
      const auto again = store->apply(*refused);
      ASSERT_FALSE(again.has_value());
      EXPECT_EQ(again.error().code, ErrorCode::RETRY_LATER);
      EXPECT_THAT(again.error().detail, AllOf(HasSubstr("There is no room for "), HasSubstr(path)));
      EXPECT_EQ(everything(*store).value_or("refused"), everything(model));
      if (round == 0) {
        // Full over a restart, too.
        store.reset();
        store = open_or_fail(path);
        EXPECT_EQ(everything(*store).value_or("refused"), everything(model));
      } else {
        fs::remove(disk + "/ballast");
        check_recovery(path, std::move(store), model, *refused, maker);
      }
    }
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST(SqliteStore, AWriteThatFailsLeavesNothingBehind) {
  // A file that may not grow is a disk that fails: the system refuses the write half-way.
  const Folder folder;
  BatchMaker maker(10, 20'000);
  replica::MemoryStore model;
  auto store = open_or_fail(folder.file());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit narrow{1'234'567, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &narrow), 0);
  const auto refused = fill(*store, model, maker);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(refused.has_value());
  check_recovery(folder.file(), std::move(store), model, *refused, maker);
}

// ---------------------------------------------------------------------------------------------- other processes

/// Applies batches for ever, telling each through the pipe once it is taken.
[[noreturn]] void apply_for_ever(const std::string& path, std::uint64_t seed, int told) {
  auto store = open_sqlite_store(path);
  if (!store) ::_exit(1);
  const auto image = (*store)->load();
  if (!image) ::_exit(2);
  BatchMaker maker(seed, 3'000);
  std::uint64_t made = 0;
  for (; made < image->device.next_local_id; ++made) (void)maker.next();
  for (;;) {
    if (!(*store)->apply(maker.next())) ::_exit(3);
    ++made;
    if (::write(told, &made, sizeof made) != sizeof made) ::_exit(4);
  }
}

TEST(SqliteStore, AKilledProcessLeavesAPrefixOfItsBatches) {
  constexpr std::uint64_t kSeed = 2024;
  constexpr int kRounds = 40;
  const Folder folder;
  ASSERT_TRUE(open_or_fail(folder.file())->apply([] {
    replica::StoreBatch begin;
    begin.device.emplace().next_local_id = 0;  // batches taken so far
    return begin;
  }()));
  BatchMaker maker(kSeed, 3'000);
  BatchMaker dice(99);
  replica::MemoryStore model;
  std::uint64_t applied = 0;
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) apply_for_ever(folder.file(), kSeed, ends[1]);
    ::close(ends[1]);
    std::uint64_t told = 0, last = applied;
    // At least one batch; then death comes at any moment.
    if (::read(ends[0], &told, sizeof told) == sizeof told) last = told;
    std::this_thread::sleep_for(std::chrono::microseconds(dice.below(40'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);
    while (::read(ends[0], &told, sizeof told) == sizeof told) last = told;
    ::close(ends[0]);

    const auto store = open_or_fail(folder.file());
    const auto image = store->load();
    ASSERT_TRUE(image.has_value());
    const std::uint64_t held = image->device.next_local_id;
    ASSERT_GE(held, last) << "what was taken is there";
    ASSERT_LE(held, last + 1) << "at most the one that was being taken";
    ASSERT_GT(held, applied);
    for (; applied < held; ++applied) model.apply(maker.next());
    ASSERT_TRUE(everything(*store).value_or("refused") == everything(model)) << "round " << round;
  }
  EXPECT_GT(applied, 2U * kRounds);
}

TEST(SqliteStore, AnotherProcessIsToldThatTheFileIsInUse) {
  const Folder folder;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = open_sqlite_store(folder.file());
    const char opened = store.has_value() ? 'y' : 'n';
    (void)!::write(ends[1], &opened, 1);
    for (;;) ::pause();
  }
  char opened = 0;
  ASSERT_EQ(::read(ends[0], &opened, 1), 1);
  ASSERT_EQ(opened, 'y');
  const Error refused = refusal_of(folder.file());
  EXPECT_EQ(refused.code, ErrorCode::TOO_MANY_CONNECTIONS);
  EXPECT_THAT(refused.detail, AllOf(HasSubstr(folder.file()), HasSubstr("in use by another process")));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_NE(open_or_fail(folder.file()), nullptr) << "the lock went with the process";
}

}  // namespace
}  // namespace tidemark
