#include "store/log/commit_log.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace tidemark {
namespace {

constexpr std::string_view kMagic("tidemark log 1\n\0", 16);
constexpr std::string_view kSpare = "spare-";  // made beforehand; the names differ, for one may be about to get another
const std::string kBegun = "begun";            // made by the writer
constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kHeaderBytes = 16 + 5 * kNumberBytes;
constexpr std::size_t kRecordHead = 4 * kNumberBytes;
constexpr std::size_t kSumPlace = 3 * kNumberBytes;

std::uint64_t number_at(std::string_view bytes, std::size_t place) {
  std::uint64_t number = 0;
  for (std::size_t i = kNumberBytes; i-- > 0;) number = number << 8 | static_cast<std::uint8_t>(bytes[place + i]);
  return number;
}

void put_number(std::string& bytes, std::size_t place, std::uint64_t number) {
  for (std::size_t i = 0; i < kNumberBytes; ++i) bytes[place + i] = static_cast<char>(number >> (8 * i));
}

std::size_t padded(std::size_t bytes) {
  return (bytes + 7) & ~std::size_t{7};
}

/// Of a header or record at `place` of a segment: its numbers before the checksum, and what follows that.
std::uint64_t checksum_of(std::uint64_t id, std::uint64_t segment, std::uint64_t place, std::string_view before,
                          std::string_view after) {
  std::string where(2 * kNumberBytes, '\0');
  put_number(where, 0, segment);
  put_number(where, kNumberBytes, place);
  const XXH64_hash_t seed = XXH3_64bits_withSeed(before.data(), before.size(), id);
  return XXH3_64bits_withSeed(after.data(), after.size(), XXH3_64bits_withSeed(where.data(), where.size(), seed));
}

std::string name_of(std::uint64_t segment) {
  return fmt::format("log-{:016x}", segment);
}

std::optional<std::uint64_t> segment_named(std::string_view name) {
  if (!name.starts_with("log-") || name.size() != 20) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 4, end, number, 16);
  if (error != std::errc() || stop != end || name_of(number) != name) return std::nullopt;
  return number;
}

/// Of a file in the archive: its segment's name, and the time of its last record.
std::optional<std::pair<std::string_view, std::int64_t>> archived(std::string_view file) {
  if (!file.starts_with(kArchive)) return std::nullopt;
  file.remove_prefix(kArchive.size());
  const std::size_t dot = file.find('.');
  if (dot == std::string_view::npos || !segment_named(file.substr(0, dot))) return std::nullopt;
  std::int64_t time_ms = 0;
  const char* const end = file.data() + file.size();
  const auto [stop, error] = std::from_chars(file.data() + dot + 1, end, time_ms);
  if (error != std::errc() || stop != end) return std::nullopt;
  return std::pair(file.substr(0, dot), time_ms);
}

struct Header {
  std::uint64_t id = 0;
  std::uint64_t segment = 0;
  std::uint64_t first = 0;
  std::uint64_t end_before = 0;
};

std::string encode(const Header& header) {
  std::string bytes(kMagic);
  bytes.resize(kHeaderBytes);
  put_number(bytes, 16, header.id);
  put_number(bytes, 24, header.segment);
  put_number(bytes, 32, header.first);
  put_number(bytes, 40, header.end_before);
  put_number(bytes, 48, checksum_of(header.id, header.segment, 0, std::string_view(bytes).substr(0, 48), {}));
  return bytes;
}

std::optional<Header> decode_header(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  const Header header{.id = number_at(bytes, 16),
                      .segment = number_at(bytes, 24),
                      .first = number_at(bytes, 32),
                      .end_before = number_at(bytes, 40)};
  if (encode(header) != bytes.substr(0, kHeaderBytes)) return std::nullopt;
  return header;
}

struct Found {
  LogRecord record;
  std::size_t end = 0;
};

/// What stands before a record's checksum: the size of the payload with a checksum of its own, which tells quickly that
/// some bytes are no record, whatever somebody wrote into a message; its number and its time.
std::string head_of(std::uint64_t id, std::uint64_t segment, std::uint64_t place, const LogRecord& record) {
  std::string head(kSumPlace, '\0');
  const std::uint64_t size = record.payload.size();
  put_number(head, 0, size);
  put_number(head, kNumberBytes, record.number);
  put_number(head, 2 * kNumberBytes, static_cast<std::uint64_t>(record.time_ms));
  put_number(head, 0, size | checksum_of(id, segment, place, head, {}) << 32);
  return head;
}

/// The record that begins at this place, if a whole one does.
std::optional<Found> record_at(const Header& header, std::string_view bytes, std::size_t place) {
  if (place > bytes.size() || bytes.size() - place < kRecordHead) return std::nullopt;
  const std::uint64_t size = number_at(bytes, place) & 0xffff'ffff;
  if (size > bytes.size() - place - kRecordHead) return std::nullopt;
  const std::string_view head = bytes.substr(place, kSumPlace);
  const Found found{.record = {.number = number_at(head, kNumberBytes),
                               .time_ms = static_cast<std::int64_t>(number_at(head, 2 * kNumberBytes)),
                               .payload = bytes.substr(place + kRecordHead, size)},
                    .end = place + padded(kRecordHead + size)};
  if (found.record.number < header.first || found.end > bytes.size()) return std::nullopt;
  if (head != head_of(header.id, header.segment, place, found.record)) return std::nullopt;
  const std::uint64_t sum = checksum_of(header.id, header.segment, place, head, found.record.payload);
  return sum == number_at(bytes, place + kSumPlace) ? std::optional(found) : std::nullopt;
}

/// Does any whole record begin at or behind this place?
bool any_record_behind(const Header& header, std::string_view bytes, std::size_t place) {
  for (; place < bytes.size(); place += 8)
    if (record_at(header, bytes, place)) return true;
  return false;
}

std::unexpected<Error> damaged(const LogFiles& files, const std::string& name, std::uint64_t place,
                               std::string_view what) {
  return fail(ErrorCode::INTERNAL, {},
              fmt::format("the commit log {}/{} is damaged at byte {}: {}; put a backup back with `tidemark restore`",
                          files.place(), name, place, what));
}

}  // namespace

std::uint64_t end_of_segment(std::string_view bytes) {
  const std::optional<Header> header = decode_header(bytes);
  std::uint64_t end = header ? kHeaderBytes : 0;
  while (const auto found = header ? record_at(*header, bytes, end) : std::nullopt) end = found->end;
  return end;
}

std::optional<std::string> segment_in(std::string_view file) {
  if (segment_named(file)) return std::string(file);
  if (const auto found = archived(file)) return std::string(found->first);
  return std::nullopt;
}

Result<std::unique_ptr<CommitLog>> CommitLog::open(LogFiles& files, CommitLogOptions options, std::uint64_t id,
                                                   std::uint64_t known, const Visit& visit) {
  std::unique_ptr<CommitLog> log(new CommitLog(files, options, id));
  TM_ASSIGN(const std::vector<std::string> all, files.list());
  std::vector<std::string> names;
  std::vector<std::string> useless;
  for (const std::string& name : all) {
    const std::optional<std::uint64_t> number = segment_named(name);
    // Segments go in order, the oldest first; one that came back after a crash is behind a gap.
    if (number && !names.empty() && *number != *segment_named(names.back()) + 1)
      std::ranges::move(std::exchange(names, {}), std::back_inserter(useless));
    if (number) names.push_back(name);
    if (name.starts_with(kSpare) || name == kBegun) useless.push_back(name);
  }
  TM_ASSIGN(const Newest newest, log->read_all(names, known, visit));
  for (const std::string& name : useless) TM_TRY(files.remove(name));
  if (newest.place == 0) {
    // Whatever a segment without records followed, nobody may find it longer than it is now.
    if (!names.empty()) TM_TRY(log->begin_segment(log->segments_.back().end, {}, log->last_time_ms_));
    return log;
  }
  --log->last_;
  log->segments_.back().end = newest.place;
  TM_TRY(log->append(newest.payload, log->last_time_ms_));
  return log;
}

Result<CommitLog::Newest> CommitLog::read_all(const std::vector<std::string>& names, std::uint64_t known,
                                              const Visit& visit) {
  Newest newest;
  std::string bytes;
  std::optional<Header> header;
  const auto read = [&](const std::string& name) -> Result<void> {
    TM_ASSIGN(bytes, files_.read(name));
    header = decode_header(bytes);
    if (!header || header->segment != *segment_named(name)) return damaged(files_, name, 0, "it has no valid header");
    if (header->id != id_) return damaged(files_, name, 0, "it is of another log");
    return {};
  };
  if (!names.empty()) {
    TM_TRY(read(names.front()));
    if (header->first > known + 1) return damaged(files_, names.front(), 0, "records before its first one are missing");
    last_ = header->first - 1;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const std::string here = std::exchange(bytes, {});
    const Header mine = *header;
    const bool is_newest = i + 1 == names.size();
    // Of all but the newest the next one's header tells where the records end.
    std::size_t end = here.size();
    if (!is_newest) {
      TM_TRY(read(names[i + 1]));
      if (header->end_before > end) return damaged(files_, name, end, "it was cut short");
      end = header->end_before;
    }
    const std::string_view records = std::string_view(here).substr(0, end);
    std::size_t place = kHeaderBytes;
    std::size_t last_place = 0;
    std::optional<Found> found;
    while (place < end && (found = record_at(mine, records, place)) && found->record.number == last_ + 1) {
      if (found->record.number > known) TM_TRY(visit(found->record));
      last_ = found->record.number;
      last_place = std::exchange(place, found->end);
      last_time_ms_ = found->record.time_ms;
      if (is_newest) newest.payload = found->record.payload;
    }
    if (!is_newest && (place != end || header->first != last_ + 1))
      return damaged(files_, name, place, "a record is not what was written");
    if (is_newest && any_record_behind(mine, records, place))
      return damaged(files_, name, place, "a record is not what was written, and others follow it");
    newest.place = last_place;
    segments_.push_back(
        {.number = mine.segment, .first = mine.first, .end = place, .size = here.size(), .last_ms = last_time_ms_});
  }
  if (last_ < known)
    return fail(ErrorCode::INTERNAL, {},
                fmt::format("the commit log in {} ends with record {}, but {} was in it; put a backup back with "
                            "`tidemark restore`",
                            files_.place(), last_, known));
  return newest;
}

std::string CommitLog::record_of(std::uint64_t segment, std::uint64_t place, const LogRecord& record) const {
  TM_CHECK(record.payload.size() < std::uint64_t{1} << 32, "a commit round is not that large");
  std::string bytes = head_of(id_, segment, place, record);
  const std::uint64_t sum = checksum_of(id_, segment, place, bytes, record.payload);
  bytes.resize(kRecordHead);
  put_number(bytes, kSumPlace, sum);
  bytes.append(record.payload).resize(padded(kRecordHead + record.payload.size()), '\0');
  return bytes;
}

Result<void> CommitLog::append(std::string_view payload, std::int64_t time_ms) {
  if (failed_) return fail(ErrorCode::RETRY_LATER, {}, "the commit log failed and has not been taken up again");
  failed_ = true;
  const Segment segment = newest();
  const std::size_t bytes = padded(kRecordHead + payload.size());
  const LogRecord record{.number = last_ + 1, .time_ms = time_ms, .payload = payload};
  if (file_ && bytes <= segment.size - segment.end) {
    TM_TRY(file_->write(segment.end, record_of(segment.number, segment.end, record)));
    TM_TRY(file_->sync());
    const std::lock_guard lock(mutex_);
    segments_.back().end += bytes;
    segments_.back().last_ms = time_ms;
  } else {
    TM_TRY(begin_segment(segment.end, record_of(segment.number + 1, kHeaderBytes, record), time_ms));
  }
  ++last_;
  last_time_ms_ = time_ms;
  failed_ = false;
  return {};
}

/// All zero before there is one. This thread alone changes it.
CommitLog::Segment CommitLog::newest() const {
  const std::lock_guard lock(mutex_);
  return segments_.empty() ? Segment{.number = 0, .first = 0, .end = 0, .size = 0, .last_ms = 0} : segments_.back();
}

void CommitLog::close() {
  if (!failed_ && file_ && newest().size - newest().end >= kRecordHead) (void)append({}, last_time_ms_);
  failed_ = true;
}

Result<void> CommitLog::go_on() {
  if (!failed_) return {};
  TM_TRY(begin_segment(newest().end, {}, last_time_ms_));
  failed_ = false;
  return {};
}

Result<void> CommitLog::begin_segment(std::uint64_t end_before, const std::string& record, std::int64_t time_ms) {
  Segment made{.number = 1,
               .first = last_ + 1,
               .end = kHeaderBytes + record.size(),
               .size = options_.segment_bytes,
               .last_ms = time_ms};
  Spare file;
  {
    const std::lock_guard lock(mutex_);
    if (!segments_.empty()) made.number = segments_.back().number + 1;
    if (made.end <= options_.segment_bytes) file = std::exchange(spare_, {});
  }
  const auto fill = [&]() -> Result<void> {
    if (!file.opened) {
      made.size = std::max(made.end, made.size);
      file.name = kBegun;
      TM_ASSIGN(file.opened, files_.create(file.name, made.size));
    }
    TM_TRY(file.opened->write(
        0, encode({.id = id_, .segment = made.number, .first = made.first, .end_before = end_before}) + record));
    TM_TRY(file.opened->sync());
    return files_.rename(file.name, name_of(made.number));
  };
  if (auto done = fill(); !done) {
    (void)files_.remove(file.name);
    return done;
  }
  file_ = std::move(file.opened);
  const std::lock_guard lock(mutex_);
  // Much that was reserved behind the last record of the segment before is of no use there; that it goes is no
  // condition.
  if (!segments_.empty() && segments_.back().size - end_before > segments_.back().size / 8 &&
      files_.truncate(name_of(segments_.back().number), end_before))
    segments_.back().size = end_before;
  segments_.push_back(made);
  return {};
}

std::string CommitLog::next_spare() {
  return fmt::format("{}{}", kSpare, ++spares_);
}

Result<void> CommitLog::prepare() {
  {
    const std::lock_guard lock(mutex_);
    if (spare_.opened) return {};
  }
  if (!files_.room()) return {};  // who commits is told
  return keep_spare([this](const std::string& name) { return files_.create(name, options_.segment_bytes); });
}

/// A file that cannot be made is not left behind either: the next try has another name.
Result<void> CommitLog::keep_spare(
    const std::function<Result<std::unique_ptr<LogFile>>(const std::string& name)>& make) {
  Spare made{.opened = nullptr, .name = next_spare()};
  auto opened = make(made.name);
  if (!opened) {
    (void)files_.remove(made.name);
    return std::unexpected(std::move(opened).error());
  }
  made.opened = std::move(*opened);
  const std::lock_guard lock(mutex_);
  spare_ = std::move(made);
  return {};
}

Result<void> CommitLog::drop_below(std::uint64_t number, std::int64_t now_ms) {
  const auto oldest = [&]() -> std::optional<Segment> {
    const std::lock_guard lock(mutex_);
    if (segments_.size() < 2 || segments_[1].first > number + 1) return std::nullopt;
    return segments_.front();
  };
  // In order, one after the other: none is forgotten before it is dealt with.
  for (auto segment = oldest(); segment; segment = oldest()) {
    if (auto done = retire(*segment, now_ms); !done) {
      TM_ASSIGN(const std::vector<std::string> all, files_.list());
      if (std::ranges::find(all, name_of(segment->number)) != all.end()) return done;
    }
    const std::lock_guard lock(mutex_);
    segments_.erase(segments_.begin());
  }
  return {};
}

Result<void> CommitLog::retire(const Segment& segment, std::int64_t now_ms) {
  const std::string name = name_of(segment.number);
  if (options_.archive_ms > 0) {
    // What lies behind its end never counted, and nothing else says so there.
    TM_TRY(files_.truncate(name, segment.end));
    return files_.rename(name, fmt::format("{}{}.{}", kArchive, name, segment.last_ms ? segment.last_ms : now_ms));
  }
  bool wanted = false;
  {
    const std::lock_guard lock(mutex_);
    wanted = !spare_.opened && segment.size == options_.segment_bytes;
  }
  if (!wanted) return files_.remove(name);
  return keep_spare([&](const std::string& as) -> Result<std::unique_ptr<LogFile>> {
    TM_TRY(files_.rename(name, as));
    return files_.open(as);
  });
}

Result<void> CommitLog::clear_archive(std::int64_t now_ms) {
  TM_ASSIGN(const std::vector<std::string> all, files_.list());
  for (const std::string& name : all) {
    const auto found = archived(name);
    if (found && (options_.archive_ms == 0 || found->second < now_ms - options_.archive_ms))
      TM_TRY(files_.remove(name));
  }
  return {};
}

}  // namespace tidemark
