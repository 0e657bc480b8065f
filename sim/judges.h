// The invariants that judges look after, and how often each judge was asked: one that was never asked has shown
// nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidemark::sim {

// Name, and what one question of it is.
#define TIDEMARK_SIM_JUDGES(X)                                                 \
  X(I1, "acknowledged messages and changes looked for in the log")             \
  X(I2, "entries and rows compared with what they were before")                \
  X(I3, "entries, answers and pushes asked whether they are durable")          \
  X(I4, "ids of messages and notifications looked for a second time")          \
  X(I5, "members asked whether they were told, rows whether they are missing") \
  X(I6, "cursors compared with where they stood")                              \
  X(I7, "rows and objects of devices compared with the log")                   \
  X(I8, "objects of devices compared with what a new device is told")          \
  X(I9, "states, pointers and times asked whether they went back")             \
  X(I10, "rows and pushes asked whether they may be seen")                     \
  X(I11, "bytes, rows and pages searched for what was taken back")             \
  X(I12, "unread numbers counted again")                                       \
  X(I13, "indexes read and compared with the logs")                            \
  X(I14, "rounds asked for sessions that are too many or over")                \
  X(I15, "messages of bots looked for a second time")                          \
  X(I16, "entries and places in lists compared with the order of the logs")    \
  X(I17, "rows of devices compared with what restores have taken")             \
  X(I18, "links, users and devices measured")                                  \
  X(I19, "devices asked whether they are in step")                             \
  X(I20, "cursors asked whether they went past what a device could not read")  \
  X(hooks, "entries asked whether the application was told of them")           \
  X(told, "rows, lists and outboxes compared with what events told of them")

enum class Judge : std::size_t {
#define TIDEMARK_SIM_JUDGE(name, text) name,
  TIDEMARK_SIM_JUDGES(TIDEMARK_SIM_JUDGE)
#undef TIDEMARK_SIM_JUDGE
};

struct JudgeInfo {
  std::string_view name;
  std::string_view text;
};
inline constexpr auto kJudges = std::to_array<JudgeInfo>({
#define TIDEMARK_SIM_JUDGE(name, text) {#name, text},
    TIDEMARK_SIM_JUDGES(TIDEMARK_SIM_JUDGE)
#undef TIDEMARK_SIM_JUDGE
});

struct Asked {
  std::array<std::uint64_t, kJudges.size()> counts{};

  void ask(Judge judge, std::uint64_t times = 1) { counts[static_cast<std::size_t>(judge)] += times; }
  std::uint64_t of(Judge judge) const { return counts[static_cast<std::size_t>(judge)]; }
  void add(const Asked& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  }
};

}  // namespace tidemark::sim
