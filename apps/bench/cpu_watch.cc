#include "apps/bench/cpu_watch.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "apps/bench/clock.h"

namespace tidemark::bench {
namespace {

double ticks_as_seconds(double ticks) {
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Name and CPU seconds from a /proc/.../stat line: the name stands in parentheses, the 14th and 15th fields are times.
std::pair<std::string, double> thread_time(const std::filesystem::path& task) {
  std::ifstream in(task / "stat");
  std::string line;
  std::getline(in, line);
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return {"", 0};
  std::istringstream rest(line.substr(close + 1));
  std::string field;
  for (int i = 3; i < 14; ++i) rest >> field;
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return {line.substr(open + 1, close - open - 1), ticks_as_seconds(user + system)};
}

}  // namespace

CpuWatch::CpuWatch(pid_t server) : server_(server), begin_(sample()) {}

CpuWatch::Sample CpuWatch::sample() const {
  Sample made;
  made.wall_ns = now_ns();
  made.client_ns = thread_cpu_ns();
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  for (int field = 1; field <= 8; ++field) {
    double ticks = 0;
    stat >> ticks;
    const bool idle = field == 4 || field == 5;  // idle, iowait
    (idle ? made.idle_s : made.busy_s) += ticks_as_seconds(ticks);
  }
  if (server_ == 0) return made;
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(server_) + "/task", failed))
    made.threads[std::atoi(task.path().filename().c_str())] = thread_time(task.path());
  return made;
}

CpuShares CpuWatch::shares() const {
  const Sample end = sample();
  const double wall = as_seconds(end.wall_ns - begin_.wall_ns);
  if (wall <= 0) return {};
  CpuShares shares;
  shares.client = as_seconds(end.client_ns - begin_.client_ns) / wall;
  for (const auto& [tid, thread] : end.threads) {
    const auto before = begin_.threads.find(tid);
    const double used = (thread.second - (before == begin_.threads.end() ? 0 : before->second.second)) / wall;
    shares.server += used;
    if (used >= 0.005) shares.threads.emplace_back(thread.first + "/" + std::to_string(tid), used);
  }
  std::ranges::sort(shares.threads, std::greater(), [](const auto& each) { return each.second; });
  shares.client_s = shares.client * wall;
  shares.server_s = shares.server * wall;
  shares.idle = (end.idle_s - begin_.idle_s) / wall;
  shares.others = std::max(0.0, (end.busy_s - begin_.busy_s) / wall - shares.client - shares.server);
  return shares;
}

}  // namespace tidemark::bench
