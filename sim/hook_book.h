// What the application was told of, held against the logs: every entry once at least and under one id, those of a
// conversation in its order, nothing that no log has, and in the end everything.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/event.h"
#include "sim/log_book.h"
#include "sim/run_context.h"
#include "store/warm.h"

namespace tidemark::sim {

class HookBook {
 public:
  /// `read_on` brings the book up to date; `server_ms` is the latest time that the server's clock has shown.
  HookBook(RunContext& run, const LogBook& book, std::function<void()> read_on, std::function<std::int64_t()> server_ms)
      : run_(run), book_(book), read_on_(std::move(read_on)), server_ms_(std::move(server_ms)) {}

  /// A post has arrived.
  void take(const std::string& body);
  void given_up(const Event& event);
  /// An edit of a message, as it was published.
  void edited(const ConversationId& conversation, const Entry& edit);
  /// What waits, was told or was given up is each entry once. REQUIRES: the book has read the snapshot.
  void check(const std::shared_ptr<const Snapshot>& snapshot);
  /// The application has taken everything.
  /// What expired up to `expired_to` is among it.
  void check_arrived(const std::shared_ptr<const Snapshot>& snapshot, std::int64_t expired_to) const;

 private:
  using Place = std::pair<ConversationId, Seq>;
  struct Edit {
    std::uint32_t epoch = 0;
    std::uint64_t round = 0;
    std::vector<std::int64_t> expiries;
  };
  bool wanted(const Entry& entry) const;
  void take_entry(const std::string& id, EventKind kind, const Place& place);
  void take_expired(const std::string& id, const FileExpiry& file);
  /// Every file that has an expiry is told, waits to be told, or has not expired yet.
  void check_files(const std::shared_ptr<const Snapshot>& snapshot, const std::set<FileExpiry>& waiting) const;
  bool told(const FileExpiry& file) const;
  /// Between these two events an edit took the file away, so that a later one may have brought it back.
  bool went_between(const FileExpiry& file, const EventName& a, const EventName& b) const;
  void see_unpublished_edits();

  RunContext& run_;
  const LogBook& book_;
  const std::function<void()> read_on_;
  const std::function<std::int64_t()> server_ms_;
  std::map<std::string, std::string> told_;                              // by id of the event: what it says
  std::map<Place, std::string> ids_;                                     // by entry
  std::map<std::pair<FileExpiry, std::uint32_t>, std::string> expired_;  // ids, by epoch of the event
  std::map<Place, std::map<Seq, Edit>> edits_;                           // by message and revision
  std::map<ConversationId, Seq> last_;                                   // of those that came for the first time
  std::set<Place> given_up_;                                             // these may come later
  std::uint64_t lost_ = 0;
};

}  // namespace tidemark::sim
