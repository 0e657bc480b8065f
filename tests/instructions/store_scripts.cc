// What the store does beside the way of a message.
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "store/warm.h"
#include "tests/instructions/scripts.h"
#include "tests/instructions/world.h"

namespace tidemark::instructions {
namespace {

/// Between the commit log and the sorted files: counts from the first batch of a full overlay until the sorted files
/// are read from again.
class FullOverlay final : public Warm {
 public:
  FullOverlay(std::unique_ptr<Warm> sorted, Meter& meter, std::uint64_t& entries)
      : sorted_(std::move(sorted)), meter_(meter), entries_(entries) {}

  std::shared_ptr<const Snapshot> snapshot() const override {
    meter_.off();
    return sorted_->snapshot();
  }
  Result<void> commit(const Batch& batch) override {
    if (armed_ && !meter_.started()) {
      meter_.start();
      meter_.on();
    }
    for (const Batch::Operation& each : batch.operations())
      if (each.kind == Batch::Kind::put && each.table == Table::entries) ++entries_;
    return sorted_->commit(batch);
  }
  Result<void> recover() override { return sorted_->recover(); }
  WarmStatus status() const override { return sorted_->status(); }
  Result<void> room() const override { return sorted_->room(); }

  /// What comes next is counted.
  void arm() { armed_ = true; }

 private:
  const std::unique_ptr<Warm> sorted_;
  Meter& meter_;
  std::uint64_t& entries_;
  bool armed_ = false;
};

}  // namespace

std::uint64_t sorted_files(Meter& meter, const std::string& directory) {
  constexpr std::size_t kBusyPairs = 200;
  std::uint64_t entries = 0;
  FullOverlay* watch = nullptr;
  World world(meter, {.directory = directory, .write_buffer_bytes = 8 << 20, .between = [&](auto sorted) {
                        auto made = std::make_unique<FullOverlay>(std::move(sorted), meter, entries);
                        watch = made.get();
                        return made;
                      }});
  const auto send_until_written = [&] {
    entries = 0;
    while (entries == 0) {
      for (std::size_t pair = 0; pair < kBusyPairs; ++pair)
        world.send("alice" + std::to_string(1'000 + pair), "bob" + std::to_string(1'000 + pair));
      world.round();
      world.clock().pass(kSecondMs);
    }
  };
  // The first overlay finds no file to be beside.
  send_until_written();
  watch->arm();
  send_until_written();
  TM_CHECK(entries > 1'000, "an overlay holds many messages");
  return entries;
}

}  // namespace tidemark::instructions
