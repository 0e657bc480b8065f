#include "apps/bench/machine.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace tidemark::bench {
namespace {

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string describe_commit() {
  const std::string command = "git -C '" + own_directory() + "' describe --always --dirty --tags 2>/dev/null";
  std::string text;
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return "unknown";
  std::array<char, 128> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) text += line.data();
  const bool good = pclose(pipe) == 0;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return good && !text.empty() ? text : "unknown";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string file_system_name(long type) {
  switch (type) {
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case XFS_SUPER_MAGIC:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlay";
    case TMPFS_MAGIC:
      return "tmpfs";
    default: {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "type %lx", static_cast<unsigned long>(type));
      return text.data();
    }
  }
}

}  // namespace

std::string own_directory() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
}

Machine describe_machine(const std::string& directory) {
  Machine machine;
  utsname names{};
  uname(&names);
  machine.system = std::string(names.sysname) + " " + names.release + " " + names.machine;
  machine.processor = processor_name();
  machine.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  struct statfs info{};
  if (statfs(directory.c_str(), &info) == 0) {
    machine.file_system = file_system_name(info.f_type);
    machine.in_memory = info.f_type == TMPFS_MAGIC;
  }
  double loads[1] = {0};
  if (getloadavg(loads, 1) == 1) machine.load_before = loads[0];
  machine.commit = describe_commit();
  machine.time = utc_now();
  return machine;
}

}  // namespace tidemark::bench
