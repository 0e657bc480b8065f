// The server's store as it is, row by row, for judges.
#pragma once

#include <string>
#include <string_view>

#include "sim/run_context.h"
#include "store/warm.h"

namespace tidemark::sim {

/// `see` is given each key and value of a table.
template <typename See>
void scan_all(const Snapshot& snapshot, Table table, See see) {
  const auto done = snapshot.scan(table, "", std::string(1, '\xff'), [&](std::string_view key, std::string_view value) {
    see(key, value);
    return true;
  });
  if (!done) throw Violation("I13", "a table cannot be read: " + done.error().message());
}

template <typename Value>
Value readable(Result<Value> value) {
  if (!value) throw Violation("I13", "a row cannot be read: " + value.error().message());
  return std::move(*value);
}

}  // namespace tidemark::sim
