// Whether a device that is in step holds and shows what the logs say; asked by the simulator and by the tests with real
// processes.
#pragma once

#include <memory>
#include <string>

#include "core/params.h"
#include "core/replica/memory_store.h"
#include "sim/log_book.h"
#include "sim/old_version.h"
#include "sim/texts.h"

namespace tidemark::sim {

struct HeldDevice {
  std::string shown;  // in messages
  UserId user;
  const replica::MemoryStore& store;
  const OldVersion* old_version = nullptr;  // null: it knows all entries
};

/// What the server's store holds at one moment.
struct Truth {
  const LogBook& book;    // has read the snapshot
  const GoneTexts& gone;  // that were taken back
  std::shared_ptr<const Snapshot> snapshot;
  const CoreParams& params;
  Asked& asked;
};

/// Throws a Violation of I5, I7, I8, I10, I11, I12, I17 or I19. REQUIRES: the device says that it is in step.
void check_in_step(const HeldDevice& device, const Truth& truth);

}  // namespace tidemark::sim
