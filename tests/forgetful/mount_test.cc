// The mounted disk, as the kernel shows it to any program.
#include "forgetful/mount.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "server_process.h"

namespace tidemark::testing {
namespace {

namespace fs = std::filesystem;

class MountedDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Mount::make(disk_, place_.path());
    if (!made) GTEST_SKIP() << made.error();
    mount_ = std::move(*made);
  }
  std::string path(const std::string& name) const { return place_.path() + "/" + name; }
  /// Power fails, and the machine comes up again.
  void lose_power() {
    mount_.reset();
    disk_.fail_power({});
    mount_ = Mount::make(disk_, place_.path()).value();
  }
  static std::string text_of(const std::string& file) {
    std::ifstream in(file);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  /// Opens, writes, and syncs if it is told to.
  static void put(const std::string& file, std::string_view text, bool sync) {
    const int fd = open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    if (sync) EXPECT_EQ(fdatasync(fd), 0);
    close(fd);
  }
  static void sync_directory(const std::string& directory) {
    const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(fsync(fd), 0);
    close(fd);
  }

  const TempDirectory place_;
  ForgetfulDisk disk_;
  std::unique_ptr<Mount> mount_;
};

TEST_F(MountedDisk, WhatWasNotSyncedIsGone) {
  put(path("synced"), "synced", true);
  put(path("half"), "half", true);
  sync_directory(place_.path());
  put(path("half"), "changed", false);
  put(path("late"), "late", true);
  EXPECT_EQ(text_of(path("half")), "changed");
  lose_power();
  EXPECT_EQ(text_of(path("synced")), "synced");
  EXPECT_EQ(text_of(path("half")), "half");
  EXPECT_FALSE(fs::exists(path("late")));
}

TEST_F(MountedDisk, NamesAreAsOnAnyFileSystem) {
  fs::create_directory(path("d"));
  put(path("a"), "A", false);
  fs::create_hard_link(path("a"), path("d/b"));
  EXPECT_EQ(fs::hard_link_count(path("a")), 2U);
  fs::remove(path("a"));
  EXPECT_EQ(text_of(path("d/b")), "A");
  put(path("c"), "C", false);
  fs::rename(path("c"), path("d/b"));
  EXPECT_EQ(text_of(path("d/b")), "C");
  EXPECT_FALSE(fs::exists(path("c")));
  for (int i = 0; i < 1'000; ++i) put(path("d/" + std::to_string(i)), "", false);
  std::set<std::string> names;
  for (const fs::directory_entry& each : fs::directory_iterator(path("d"))) names.insert(each.path().filename());
  EXPECT_EQ(names.size(), 1'001U);
  EXPECT_GT(fs::remove_all(path("d")), 1'000U);
  EXPECT_FALSE(fs::exists(path("d")));
}

TEST_F(MountedDisk, BytesAreAsOnAnyFileSystem) {
  const int fd = open(path("a").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0640);
  ASSERT_GE(fd, 0);
  struct stat seen = {};
  const auto size = [&] {
    EXPECT_EQ(fstat(fd, &seen), 0);
    return seen.st_size;
  };
  ASSERT_EQ(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20), 0);
  EXPECT_EQ(size(), 0);
  EXPECT_EQ(seen.st_mode & 07777, 0640U);
  ASSERT_EQ(fallocate(fd, 0, 0, 10'000), 0);
  EXPECT_EQ(size(), 10'000);
  const std::string large(300'000, 'x');
  EXPECT_EQ(pwrite(fd, large.data(), large.size(), 5'000), static_cast<ssize_t>(large.size()));
  EXPECT_EQ(size(), 305'000);
  ASSERT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 6'000, 1'000), 0);
  ASSERT_EQ(ftruncate(fd, 8'000), 0);
  const std::string wanted =
      std::string(5'000, '\0') + std::string(1'000, 'x') + std::string(1'000, '\0') + std::string(1'000, 'x');
  EXPECT_EQ(text_of(path("a")), wanted);
  void* const mapped = mmap(nullptr, 8'000, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(std::string_view(static_cast<const char*>(mapped), 8'000), wanted);
  munmap(mapped, 8'000);
  // A file without a name lives on as long as it is open.
  fs::remove(path("a"));
  char byte = 0;
  EXPECT_EQ(pread(fd, &byte, 1, 5'500), 1);
  EXPECT_EQ(byte, 'x');
  close(fd);
  const int appended = open(path("b").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  for (const std::string_view text : {"one ", "two ", "three"})
    EXPECT_EQ(write(appended, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(appended);
  EXPECT_EQ(text_of(path("b")), "one two three");
}

TEST_F(MountedDisk, LocksHold) {
  const int first = open(path("LOCK").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  const int second = open(path("LOCK").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(flock(first, LOCK_EX | LOCK_NB), 0);
  EXPECT_NE(flock(second, LOCK_EX | LOCK_NB), 0);
  close(first);
  EXPECT_EQ(flock(second, LOCK_EX | LOCK_NB), 0);
  close(second);
}

TEST_F(MountedDisk, ItGoesWithItsMount) {
  put(path("a"), "A", true);
  const int open_still = open(path("a").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(open_still, 0);
  mount_.reset();
  EXPECT_FALSE(fs::exists(path("a")));
  char byte = 0;
  EXPECT_LT(read(open_still, &byte, 1), 0) << "also for who has a file open";
  close(open_still);
  EXPECT_EQ(text_of("/proc/mounts").find(place_.path()), std::string::npos);
}

}  // namespace
}  // namespace tidemark::testing
