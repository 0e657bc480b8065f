#include "sim/under_way.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string_view>

namespace tidemark::sim {
namespace {

/// Where a handler of signals may look: nothing here is locked or allocated.
struct Place {
  std::atomic<bool> taken{false};
  std::atomic<bool> named{false};
  std::atomic<std::uint64_t> seed{0};
  std::atomic<RunMode> mode{RunMode::safety};
};
std::array<Place, 256> places;  // of more runs at a time the rest goes without

void write_all(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void name_runs(int) {
  for (const Place& place : places) {
    if (!place.named) continue;
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), place.seed.load()).ptr;
    write_all("under way: seed ");
    write_all({digits.data(), static_cast<std::size_t>(end - digits.data())});
    write_all(place.mode == RunMode::safety ? " (safety)\n" : " (liveness)\n");
  }
}

}  // namespace

UnderWay::UnderWay(const RunOptions& run) : place_(0) {
  while (place_ < places.size() && places[place_].taken.exchange(true)) ++place_;
  if (place_ == places.size()) return;
  places[place_].seed = run.seed;
  places[place_].mode = run.mode;
  places[place_].named = true;
}

UnderWay::~UnderWay() {
  if (place_ == places.size()) return;
  places[place_].named = false;
  places[place_].taken = false;
}

void name_runs_on_abort() {
  struct sigaction action{};
  action.sa_handler = name_runs;  // when it returns, abort() goes on
  sigaction(SIGABRT, &action, nullptr);
}

}  // namespace tidemark::sim
