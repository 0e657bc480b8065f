// A client that keeps to nothing: it asks without waiting for answers and takes none, so that what the server holds for
// it grows as far as the server lets it.
#pragma once

#include <memory>

#include "core/replica/frames.h"
#include "sim/server.h"

namespace tidemark::sim {

class Glutton {
 public:
  Glutton(RunContext& run, SimServer& server) : run_(run), server_(server) {}

  /// It connects as this user, and asks until it has been thrown out or has had enough.
  void start(const UserId& user);

 private:
  void ask();
  replica::Operation any_question();
  void leave();

  RunContext& run_;
  SimServer& server_;
  UserId user_;
  std::shared_ptr<Connection> connection_;
  std::uint64_t life_ = 0;
  std::uint64_t questions_ = 0;
  int left_ = 0;  // questions
};

}  // namespace tidemark::sim
