// What the disk promises, rule by rule; no file system is mounted for it.
#include "forgetful/disk.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace tidemark::testing {
namespace {

constexpr std::uint64_t kRoot = ForgetfulDisk::kRoot;

std::uint64_t file_in(ForgetfulDisk& disk, std::uint64_t directory, const std::string& name) {
  return disk.make_file(directory, name, 0644).value().number;
}

/// A file whose name and content are durable.
std::uint64_t synced_file(ForgetfulDisk& disk, const std::string& name, const std::string& content) {
  const std::uint64_t file = file_in(disk, kRoot, name);
  EXPECT_TRUE(disk.write(file, 0, content));
  EXPECT_TRUE(disk.sync_file(file));
  EXPECT_TRUE(disk.sync_directory(kRoot));
  return file;
}

std::string content_of(const ForgetfulDisk& disk, std::uint64_t file) {
  return disk.read(file, 0, std::size_t{1} << 30).value();
}

std::vector<std::string> names_in(const ForgetfulDisk& disk, std::uint64_t directory) {
  std::vector<std::string> names;
  for (const ForgetfulDisk::Entry& entry : disk.list(directory).value()) names.push_back(entry.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(ForgetfulDisk, BytesWithoutASyncAreForgotten) {
  ForgetfulDisk disk;
  const std::uint64_t file = synced_file(disk, "a", "durable");
  ASSERT_TRUE(disk.write(file, 3, "XXXXXXXXXX"));
  EXPECT_EQ(content_of(disk, file), "durXXXXXXXXXX") << "until then a reader sees them";
  disk.fail_power({});
  EXPECT_EQ(content_of(disk, file), "durable");
  ASSERT_TRUE(disk.write(file, 0, "D"));
  ASSERT_TRUE(disk.sync_file(file));
  disk.fail_power({});
  EXPECT_EQ(content_of(disk, file), "Durable");
}

TEST(ForgetfulDisk, ACutIsForgottenToo) {
  ForgetfulDisk disk;
  const std::string content(20'000, 'c');
  const std::uint64_t file = synced_file(disk, "a", content);
  ASSERT_TRUE(disk.resize(file, 5'000));
  ASSERT_TRUE(disk.resize(file, 9'000));
  ASSERT_TRUE(disk.write(file, 30'000, "end"));
  EXPECT_EQ(content_of(disk, file), content.substr(0, 5'000) + std::string(25'000, '\0') + "end");
  disk.fail_power({});
  EXPECT_EQ(content_of(disk, file), content);
  ASSERT_TRUE(disk.clear(file, 100, 200));
  ASSERT_TRUE(disk.sync_file(file));
  disk.fail_power({});
  EXPECT_EQ(content_of(disk, file), content.substr(0, 100) + std::string(200, '\0') + content.substr(300));
}

TEST(ForgetfulDisk, ASyncOfAFileSaysNothingOfItsName) {
  ForgetfulDisk disk;
  const std::uint64_t file = file_in(disk, kRoot, "a");
  ASSERT_TRUE(disk.write(file, 0, "x"));
  ASSERT_TRUE(disk.sync_file(file));
  disk.fail_power({});
  EXPECT_EQ(names_in(disk, kRoot), Names{});
}

TEST(ForgetfulDisk, ANameWithoutBytesIsAnEmptyFile) {
  ForgetfulDisk disk;
  const std::uint64_t file = file_in(disk, kRoot, "a");
  ASSERT_TRUE(disk.write(file, 0, "x"));
  ASSERT_TRUE(disk.sync_directory(kRoot));
  disk.fail_power({});
  EXPECT_EQ(content_of(disk, file), "");
}

TEST(ForgetfulDisk, WhatWasDoneToNamesIsForgottenUntilTheDirectoryIsSynced) {
  ForgetfulDisk disk;
  const std::uint64_t a = synced_file(disk, "a", "A");
  synced_file(disk, "b", "B");
  const std::uint64_t c = synced_file(disk, "c", "C");
  const auto change = [&] {
    EXPECT_TRUE(disk.rename(kRoot, "a", kRoot, "b"));
    EXPECT_TRUE(disk.unlink(kRoot, "c"));
    EXPECT_TRUE(disk.link(a, kRoot, "d"));
  };
  change();
  EXPECT_EQ(names_in(disk, kRoot), (Names{"b", "d"}));
  EXPECT_EQ(disk.info(a).value().links, 2U);
  EXPECT_EQ(content_of(disk, c), "C") << "whoever has it open may still read it";
  disk.fail_power({});
  EXPECT_EQ(names_in(disk, kRoot), (Names{"a", "b", "c"}));
  EXPECT_EQ(content_of(disk, disk.find(kRoot, "b").value().number), "B");
  change();
  ASSERT_TRUE(disk.sync_directory(kRoot));
  disk.fail_power({});
  EXPECT_EQ(names_in(disk, kRoot), (Names{"b", "d"}));
  EXPECT_EQ(content_of(disk, disk.find(kRoot, "b").value().number), "A");
  EXPECT_FALSE(disk.info(c)) << "nothing leads there any more";
}

TEST(ForgetfulDisk, ARenameBetweenDirectoriesIsInBothOrInNeither) {
  ForgetfulDisk disk;
  const std::uint64_t from = disk.make_directory(kRoot, "from", 0755).value().number;
  const std::uint64_t to = disk.make_directory(kRoot, "to", 0755).value().number;
  ASSERT_TRUE(disk.sync_directory(kRoot));
  file_in(disk, from, "a");
  file_in(disk, to, "other");
  ASSERT_TRUE(disk.rename(from, "a", to, "b"));
  file_in(disk, from, "late");
  ASSERT_TRUE(disk.sync_directory(to));
  disk.fail_power({});
  EXPECT_EQ(names_in(disk, from), Names{}) << "the first name came before it, the last one after it";
  EXPECT_EQ(names_in(disk, to), (Names{"b", "other"}));
  ASSERT_TRUE(disk.rename(to, "b", from, "c"));
  disk.fail_power({});
  EXPECT_EQ(names_in(disk, from), Names{});
  EXPECT_EQ(names_in(disk, to), (Names{"b", "other"}));
}

TEST(ForgetfulDisk, ADirectoryThatIsNotDurableTakesItsFilesAlong) {
  ForgetfulDisk disk;
  const std::uint64_t directory = disk.make_directory(kRoot, "d", 0755).value().number;
  const std::uint64_t file = file_in(disk, directory, "a");
  ASSERT_TRUE(disk.sync_file(file));
  ASSERT_TRUE(disk.sync_directory(directory));
  disk.fail_power({});
  EXPECT_EQ(names_in(disk, kRoot), Names{});
}

TEST(ForgetfulDisk, OfNamesTheLastOnesAreLost) {
  std::set<std::size_t> kept;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ForgetfulDisk disk;
    for (char name = 'a'; name < 'i'; ++name) file_in(disk, kRoot, std::string(1, name));
    disk.fail_power({.part_survives = seed});
    const Names names = names_in(disk, kRoot);
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], std::string(1, static_cast<char>('a' + i)));
    kept.insert(names.size());
  }
  EXPECT_EQ(kept.size(), 9U) << "every number of them was met";
}

/// Each sector is as one of the writes left it, whatever its neighbours are.
TEST(ForgetfulDisk, SectorsSurviveEachOnItsOwn) {
  constexpr std::uint64_t kSector = ForgetfulDisk::kSectorBytes;
  constexpr std::uint64_t kSectors = 24;
  std::set<char> met;
  std::set<std::uint64_t> sizes;
  bool torn_in_a_page = false;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ForgetfulDisk disk;
    const std::uint64_t file = synced_file(disk, "a", std::string(kSectors * kSector, 'a'));
    ASSERT_TRUE(disk.write(file, 0, std::string(kSectors * kSector, 'b')));
    ASSERT_TRUE(disk.write(file, 0, std::string(kSectors * kSector, 'c')));
    ASSERT_TRUE(disk.write(file, kSectors * kSector, std::string(kSector, 'd')));
    disk.fail_power({.part_survives = seed});
    const std::string content = content_of(disk, file);
    sizes.insert(content.size());
    for (std::uint64_t at = 0; at < kSectors * kSector; ++at) {
      met.insert(content[at]);
      ASSERT_EQ(content[at], content[at / kSector * kSector]) << "a sector is never torn";
      torn_in_a_page = torn_in_a_page || content[at] != content[at / 4'096 * 4'096];
    }
    if (content.size() > kSectors * kSector) met.insert(content.back());
    // Whatever it is now, it stays.
    disk.fail_power({});
    EXPECT_EQ(content_of(disk, file), content);
  }
  EXPECT_EQ(met, (std::set<char>{'\0', 'a', 'b', 'c', 'd'}));
  EXPECT_EQ(sizes, (std::set<std::uint64_t>{kSectors * kSector, (kSectors + 1) * kSector}));
  EXPECT_TRUE(torn_in_a_page);
}

TEST(ForgetfulDisk, TheSameSeedLeavesTheSame) {
  const auto left = [](std::uint64_t seed) {
    ForgetfulDisk disk;
    const std::uint64_t file = synced_file(disk, "a", std::string(50'000, 'a'));
    for (char c = 'b'; c < 'z'; ++c)
      EXPECT_TRUE(disk.write(file, static_cast<std::uint64_t>(c) * 300, std::string(9'000, c)));
    disk.fail_power({.part_survives = seed});
    return content_of(disk, file);
  };
  std::set<std::string> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(left(seed), left(seed));
    all.insert(left(seed));
  }
  EXPECT_GT(all.size(), 5U);
}

/// Against a second telling of the rules: a copy of the content at each sync.
TEST(ForgetfulDisk, WhateverIsDoneToAFileItIsAsAtItsLastSync) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 dice(seed);
    const auto up_to = [&](std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most)(dice); };
    ForgetfulDisk disk;
    const std::uint64_t file = synced_file(disk, "a", "");
    std::string durable;
    std::string now;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t at = up_to(20'000);
      switch (up_to(9)) {
        case 0:
          ASSERT_TRUE(disk.sync_file(file));
          durable = now;
          break;
        case 1:
          disk.fail_power({});
          now = durable;
          break;
        case 2:
          ASSERT_TRUE(disk.resize(file, at));
          now.resize(at);
          break;
        case 3:
          ASSERT_TRUE(disk.clear(file, at, 3'000));
          for (std::size_t place = at; place < std::min<std::size_t>(now.size(), at + 3'000); ++place)
            now[place] = '\0';
          break;
        default: {
          const std::string bytes(up_to(9'000) + 1, static_cast<char>('a' + i % 26));
          ASSERT_TRUE(disk.write(file, at, bytes));
          if (now.size() < at + bytes.size()) now.resize(at + bytes.size());
          now.replace(at, bytes.size(), bytes);
        }
      }
      ASSERT_EQ(content_of(disk, file), now) << "after " << i;
    }
    disk.fail_power({});
    ASSERT_EQ(content_of(disk, file), durable);
  }
}

TEST(ForgetfulDisk, WithoutPowerNothingIsChangedOrSynced) {
  ForgetfulDisk disk;
  const std::uint64_t file = synced_file(disk, "a", "durable");
  disk.cut_power_after(1);
  ASSERT_TRUE(disk.write(file, 0, "D"));
  EXPECT_TRUE(disk.powered());
  EXPECT_EQ(disk.sync_file(file).error(), EIO);
  EXPECT_FALSE(disk.powered());
  EXPECT_EQ(disk.struck(), "a");
  EXPECT_EQ(disk.write(file, 0, "X").error(), EIO);
  EXPECT_EQ(disk.make_file(kRoot, "b", 0644).error(), EIO);
  EXPECT_EQ(disk.sync_directory(kRoot).error(), EIO);
  EXPECT_EQ(content_of(disk, file), "Durable");
  disk.fail_power({});
  EXPECT_TRUE(disk.powered());
  EXPECT_EQ(content_of(disk, file), "durable");
  EXPECT_EQ(names_in(disk, kRoot), Names{"a"});
}

TEST(ForgetfulDisk, ALyingDiskForgetsWhatItSaidItHadSynced) {
  ForgetfulDisk disk;
  const std::uint64_t file = synced_file(disk, "a", "durable");
  disk.set_honesty(ForgetfulDisk::Honesty::lies);
  ASSERT_TRUE(disk.write(file, 0, "D"));
  ASSERT_TRUE(disk.sync_file(file));
  file_in(disk, kRoot, "b");
  ASSERT_TRUE(disk.sync_directory(kRoot));
  disk.fail_power({});
  EXPECT_EQ(content_of(disk, file), "durable");
  EXPECT_EQ(names_in(disk, kRoot), Names{"a"});
}

TEST(ForgetfulDisk, WhatIsRefused) {
  ForgetfulDisk disk;
  const std::uint64_t directory = disk.make_directory(kRoot, "d", 0755).value().number;
  const std::uint64_t file = file_in(disk, directory, "a");
  EXPECT_EQ(disk.find(kRoot, "x").error(), ENOENT);
  EXPECT_EQ(disk.make_file(directory, "a", 0644).error(), EEXIST);
  EXPECT_EQ(disk.make_file(file, "a", 0644).error(), ENOTDIR);
  EXPECT_EQ(disk.link(file, directory, "a").error(), EEXIST);
  EXPECT_EQ(disk.unlink(kRoot, "x").error(), ENOENT);
  EXPECT_EQ(disk.unlink(kRoot, "d").error(), EISDIR);
  EXPECT_EQ(disk.remove_directory(kRoot, "d").error(), ENOTEMPTY);
  EXPECT_EQ(disk.remove_directory(directory, "a").error(), ENOTDIR);
  EXPECT_EQ(disk.rename(kRoot, "x", kRoot, "y").error(), ENOENT);
  EXPECT_EQ(disk.rename(directory, "a", kRoot, "d").error(), EISDIR);
  EXPECT_EQ(disk.rename(kRoot, "d", directory, "a").error(), ENOTDIR);
  EXPECT_EQ(disk.write(directory, 0, "x").error(), EISDIR);
  EXPECT_EQ(disk.info(999).error(), ESTALE);
}

}  // namespace
}  // namespace tidemark::testing
