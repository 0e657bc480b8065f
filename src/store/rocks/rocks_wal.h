// The end of a write-ahead log after a crash.
//
// A commit is one record of the log and is synced before the next begins, so a crash can leave at most the last record
// half written. RocksDB drops a record that is cut off; but a power failure may also leave one whose middle never
// reached the disk, and then RocksDB refuses to open, as it must for damage anywhere else. The two differ: behind a
// half-written last record no further record begins.
//
// The log (RocksDB's log_format.h): blocks of 32 KiB, in each of them pieces
//   piece := crc32c(type, payload), masked: u32 little-endian · size of payload: u16 little-endian · type: u8 · payload
//   type  := 1 whole record · 2 its first piece · 3 middle · 4 last; no piece begins in the last 6 bytes of a block
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// "000123.log".
bool is_log_name(std::string_view name);

struct LogEnd {
  enum class Kind : std::uint8_t { clean, torn, damaged };
  Kind kind;
  std::uint64_t good_bytes;  // where the record at fault begins; the whole size when clean
};
/// Judges the bytes of a log. A record that is merely cut off at the end counts as torn.
LogEnd judge_log(std::string_view bytes);

/// Looks at the newest log in a database's directory. If it is torn, cuts it behind its last good record, durably, and
/// returns true. Returns false when there is nothing to cut or the damage is another.
Result<bool> cut_torn_log(const std::string& directory);

}  // namespace tidemark
