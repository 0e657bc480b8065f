#include "gateway/task_threads.h"

#include <pthread.h>

namespace tidemark {

WriterThread::WriterThread(std::function<bool()> round, std::chrono::milliseconds at_least)
    : round_(std::move(round)), at_least_(at_least) {}

WriterThread::~WriterThread() {
  stop();
}

void WriterThread::start() {
  thread_ = std::thread([this] { run(); });
}

void WriterThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  woken_.notify_one();
}

void WriterThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void name_thread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}

void WriterThread::run() {
  name_thread("commit");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_.wait_for(lock, at_least_, [this] { return awake_ || stopping_; });
    if (stopping_) return;
    awake_ = false;
    lock.unlock();
    const bool more = round_();
    lock.lock();
    awake_ = awake_ || more;
  }
}

ReaderThreads::ReaderThreads(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

ReaderThreads::~ReaderThreads() {
  stop();
}

void ReaderThreads::run(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  woken_.notify_one();
}

void ReaderThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  woken_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void ReaderThreads::work() {
  name_thread("reader");
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds may take the lock
    lock.lock();
  }
}

}  // namespace tidemark
