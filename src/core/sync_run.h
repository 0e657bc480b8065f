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
  Mark object_mark = {};    // of the last change of an object that is no conversation
  std::uint32_t limit = 0;  // objects a page
  std::uint64_t bytes = 0;  // of bodies a page
};

/// Objects beside conversations that changed last in (after, to], newest first; at least `most`, if there are so many,
/// and those of one mark all or none. Who begins with nothing is not told what is gone.
std::vector<UserObject> changed_objects(const SyncRun& run, Mark after, Mark to, std::size_t most);

/// The parts of a page that do not depend on what it shows.
SyncPage page_of(const SyncRun& run);

/// A page of bodies "all": the gaps of the changed conversations, one after another.
SyncPage gap_page(const SyncRun& run);

}  // namespace tidemark
