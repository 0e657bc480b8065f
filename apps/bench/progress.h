// Where a run stands, on stderr: a bar on a terminal, otherwise one line a step.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark::bench {

class Progress {
 public:
  /// A step of `total` units; 0: how long it takes is not known.
  explicit Progress(std::string step, std::int64_t total = 0);
  /// A step that was neither done nor told leaves no half line behind.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::int64_t units);
  /// The step ends; the result is shown behind it.
  void done(const std::string& result = {});

 private:
  void draw(std::int64_t units);

  std::string step_;
  std::int64_t total_;
  std::int64_t begun_ns_;
  std::int64_t drawn_ns_ = 0;
  bool terminal_;
  bool done_ = false;
};

}  // namespace tidemark::bench
