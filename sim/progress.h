// How far a session is, while it goes on: one line that is written anew on a terminal, or a line now and then in a log.
#pragma once

#include <functional>
#include <string>

#include "sim/report.h"

namespace tidemark::sim {

class Progress {
 public:
  enum class Where : std::uint8_t { terminal, log, nowhere };
  /// `before` may be null, and must outlive this.
  Progress(Where where, Goal goal, const Met* before, std::function<void(const std::string&)> write)
      : where_(where), goal_(goal), before_(before), write_(std::move(write)) {}

  void show(const Session& session);
  /// Takes the line off a terminal.
  void clear();

 private:
  /// From 0 to 1.
  double part_of(const Session& session) const;

  const Where where_;
  const Goal goal_;
  const Met* before_;
  const std::function<void(const std::string&)> write_;
  double shown_s_ = 0;
  int tenths_ = 0;  // shown in a log
  std::size_t failures_ = 0;
  bool line_stands_ = false;
};

}  // namespace tidemark::sim
