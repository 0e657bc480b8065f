// Where a script plays: the server's own parts from the bytes of a connection down to the disk, in one thread and in
// time of its own, so that a script is the same in every run. What the server does in threads happens here where it is
// called for: a round when the script says so, a read at once, sorted files only when an overlay is full.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/ports.h"
#include "engine/engine.h"
#include "gateway/config.h"
#include "gateway/links.h"
#include "gateway/metrics.h"
#include "gateway/service.h"
#include "tests/instructions/meter.h"

namespace tidemark::instructions {

class VirtualClock final : public Clock {
 public:
  std::int64_t wall_ms() const override { return kStartMs + passed_ms_; }
  std::int64_t steady_ms() const override { return passed_ms_; }
  void pass(std::int64_t ms) { passed_ms_ += ms; }

 private:
  static constexpr std::int64_t kStartMs = 1'790'000'000'000;
  std::int64_t passed_ms_ = 1'000'000;
};

/// A fixed stream of numbers.
class FixedRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) override;

 private:
  std::uint64_t state_ = 1;
};

/// What is put between the commit log and the sorted files.
using Between = std::function<std::unique_ptr<Warm>(std::unique_ptr<Warm> sorted)>;

struct WorldOptions {
  std::string directory;  // where the store is made
  std::int64_t write_buffer_bytes = StoreConfig().write_buffer_bytes;
  Between between = {};
};

class World {
 public:
  World(Meter& meter, WorldOptions options);
  ~World();

  /// Queues a message as a backend sends it.
  void send(const std::string& from, const std::string& to);
  /// Everything that waits is committed, answered and delivered. Counted.
  void round();
  /// The server stops, what it has written goes into sorted files, and it starts anew. REQUIRES: no device is there.
  void settle();

  Meter& meter() { return meter_; }
  VirtualClock& clock() { return clock_; }
  Random& random() { return random_; }
  Links& links() { return *links_; }
  Engine& engine() { return *engine_; }
  std::uint64_t next_link() { return next_link_++; }
  /// A fresh client_msg_id.
  std::string message_id();
  /// The text of every message, 100 bytes.
  static const std::string& text();

 private:
  void open();
  void close();

  Meter& meter_;
  const WorldOptions options_;
  const Config config_;
  VirtualClock clock_;
  FixedRandom random_;
  Metrics metrics_;
  std::unique_ptr<Warm> warm_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Links> links_;
  std::uint64_t next_link_ = 1;
};

}  // namespace tidemark::instructions
