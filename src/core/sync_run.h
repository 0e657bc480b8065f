// One run of sync: what all its pages have in common. Internal to the reads of core.
#pragma once

#include "core/reads.h"

namespace tidemark {

struct SyncRun {
  View& view;
  const CoreParams& params;
  const SyncQuery& query;
  Epoch epoch;
  Mode mode = Mode::delta;
  // The device has everything up to here; 0 when it starts anew.
  Mark low = {};
  std::uint64_t low_round = 0;
  // The run goes up to here; fixed by its first page.
  Mark p0 = {};
  std::uint64_t p0_round = 0;
  Mark head = {};
  std::uint32_t limit = 0;  // objects a page
  std::uint64_t bytes = 0;  // of bodies a page
};

/// The parts of a page that do not depend on what it shows.
SyncPage page_of(const SyncRun& run);

/// A page of bodies "all": the gaps of the changed conversations, one after another.
SyncPage gap_page(const SyncRun& run);

}  // namespace tidemark
