// The commit log: what was committed, one checksummed record after the other, in numbered segment files. A record is
// durable when append() returns. The log knows nothing of what a record holds.
//
//   log-<number, 16 hex digits>   a segment; numbers are consecutive
//   spare-<n>, begun              segments that are not yet, or no longer, part of the log
//   archive/log-<number>.<time>   segments that are no longer needed, kept to restore a backup to a point in time; the
//                                 time is that of the last record
//
//   segment := header record* and whatever was there before
//   header  := "tidemark log 1\n" 0x00 · log id · segment's number · number of its first record
//              · where the records of the segment before it end, 0 in the first · checksum           u64 each
//   record  := size of payload u32 · checksum of size, number and time, upper half, u32 · number u64 · time of writing,
//              milliseconds since 1970, u64 · checksum u64 · payload · zeros up to a multiple of 8
//   numbers are little-endian; a checksum is XXH3 of 64 bits, seeded with the log's id, over the segment's number, the
//   place in the segment and all else of the header or record
//
// Why a crash and damage can be told apart: a record is synced before the next is begun, and a segment before its
// successor gets its name, so a crash can spoil the last record alone. A record that fails its checksum is dropped as
// half written only if it is in the newest segment and none follows it; anything else is damage, and the log does not
// open. A segment is not written to again after an opening or a failure: its successor's header says where its records
// end, and whatever lies behind that place never counts. An opening writes the newest record once more, into a segment
// of its own: nothing tells whether it was synced when the process died, and a system that failed to write a page may
// show it and never write it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/log/log_files.h"

namespace tidemark {

struct CommitLogOptions {
  std::uint64_t segment_bytes = 64u << 20;  // a larger record gets a larger segment
  std::int64_t archive_ms = 0;              // how long segments that are not needed are kept; 0: they are used again
};

/// The segment that a file of the log's directory holds, by its name in the log, also when it lies in the archive;
/// nothing for other files.
std::optional<std::string> segment_in(std::string_view file);

/// Where the whole records of a segment end, given what its file holds; 0 when that is no segment.
std::uint64_t end_of_segment(std::string_view bytes);

struct LogRecord {
  std::uint64_t number = 0;
  std::int64_t time_ms = 0;  // when it was written, by the writer's clock
  std::string_view payload;
};

/// One writer; prepare() and drop_below() may be called by another thread meanwhile.
class CommitLog {
 public:
  /// Called for each record in turn; the view dies with the call. A failure ends the opening with it.
  using Visit = std::function<Result<void>(const LogRecord& record)>;

  /// Opens the log, or makes one, and gives every record above `known` to `visit`. `id` was random when the log was
  /// made and is kept elsewhere: it keeps foreign bytes from passing as records. INTERNAL that names file and place
  /// when records above `known` are missing or damaged, or when the log has another id.
  static Result<std::unique_ptr<CommitLog>> open(LogFiles& files, CommitLogOptions options, std::uint64_t id,
                                                 std::uint64_t known, const Visit& visit);

  /// The number of the last record; the first is 1.
  std::uint64_t last() const { return last_; }
  std::int64_t last_time_ms() const { return last_time_ms_; }
  /// Adds a record and returns when it is durable; its number is last(). After a failure the record is not part of the
  /// log, and every later append fails, until go_on() succeeded.
  Result<void> append(std::string_view payload, std::int64_t time_ms);
  /// After a failure: begins a new segment behind the last good record, so that what failed is not there, also after a
  /// crash. Does nothing when all is well.
  Result<void> go_on();
  /// A clean end: adds an empty record if there is room for it. It vouches for the record before it, which could not be
  /// told from a half written one if it were spoiled. The last call.
  void close();
  /// Makes the next segment's file if there is none, so that append() need not wait for it. Any thread, the one that
  /// calls drop_below().
  Result<void> prepare();
  /// Removes segments that hold no record above `number`; never the newest. One of them may become the next segment's
  /// file: what it holds does not count there, since a checksum is of one segment alone. With an archive they go there
  /// instead. What fails is tried again by the next call. Any thread, one at a time.
  Result<void> drop_below(std::uint64_t number, std::int64_t now_ms);
  /// Removes what the archive has kept long enough; all of it when nothing is to be kept any more. The same thread.
  Result<void> clear_archive(std::int64_t now_ms);

 private:
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t first = 1;   // the number of its first record
    std::uint64_t end = 0;     // where its records end
    std::uint64_t size = 0;    // of its file
    std::int64_t last_ms = 0;  // the time of its last record
  };
  CommitLog(LogFiles& files, CommitLogOptions options, std::uint64_t id) : files_(files), options_(options), id_(id) {}

  /// A file that may become a segment.
  struct Spare {
    std::unique_ptr<LogFile> opened;
    std::string name;
  };
  struct Newest {
    std::uint64_t place = 0;  // of the last record; 0: the newest segment has none
    std::string payload;
  };
  Result<Newest> read_all(const std::vector<std::string>& names, std::uint64_t known, const Visit& visit);
  Segment newest() const;
  Result<void> begin_segment(std::uint64_t end_before, const std::string& record, std::int64_t time_ms);
  std::string next_spare();
  Result<void> retire(const Segment& segment, std::int64_t now_ms);
  Result<void> keep_spare(const std::function<Result<std::unique_ptr<LogFile>>(const std::string& name)>& make);
  std::string record_of(std::uint64_t segment, std::uint64_t place, const LogRecord& record) const;

  LogFiles& files_;
  const CommitLogOptions options_;
  const std::uint64_t id_;
  std::uint64_t last_ = 0;
  std::int64_t last_time_ms_ = 0;
  std::unique_ptr<LogFile> file_;  // of the newest segment; none: a new one has to be begun
  bool failed_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<Segment> segments_;
  Spare spare_;

  std::uint64_t spares_ = 0;  // of the thread that makes them: how many there were
};

}  // namespace tidemark
