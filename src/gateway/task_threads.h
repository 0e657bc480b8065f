// The threads beside the network's: one that runs the commit round, and a few that read.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "gateway/service.h"

namespace tidemark {

/// Names the calling thread for top, perf and gdb; at most 15 bytes.
void name_thread(const char* name);

/// Calls `round` whenever it was woken, again as long as it says so, and at least every `at_least`.
class WriterThread {
 public:
  explicit WriterThread(std::function<bool()> round, std::chrono::milliseconds at_least = std::chrono::seconds(1));
  ~WriterThread();
  void start();
  /// Any thread.
  void wake();
  /// Ends after the round that runs.
  void stop();

 private:
  void run();
  const std::function<bool()> round_;
  const std::chrono::milliseconds at_least_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool awake_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

/// Runs tasks in the order of their coming, as many at once as there are threads.
class ReaderThreads {
 public:
  explicit ReaderThreads(std::size_t count);
  ~ReaderThreads();
  /// Any thread. After stop() the task is dropped.
  void run(Task task);
  void stop();

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tidemark
