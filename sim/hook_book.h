// What the application was told of, held against the logs: every entry once at least and under one id, those of a
// conversation in its order, nothing that no log has, and in the end everything.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/event.h"
#include "sim/log_book.h"
#include "sim/run_context.h"
#include "store/warm.h"

namespace tidemark::sim {

class HookBook {
 public:
  /// `read_on` brings the book up to date.
  HookBook(RunContext& run, const LogBook& book, std::function<void()> read_on)
      : run_(run), book_(book), read_on_(std::move(read_on)) {}

  /// A post has arrived.
  void take(const std::string& body);
  void given_up(const Event& event);
  /// What waits, was told or was given up is each entry once. REQUIRES: the book has read the snapshot.
  void check(const Snapshot& snapshot) const;
  /// The application has taken everything.
  void check_arrived(const Snapshot& snapshot) const;

 private:
  using Place = std::pair<ConversationId, Seq>;
  bool wanted(const Entry& entry) const;
  void take_entry(const std::string& id, EventKind kind, const Place& place);

  RunContext& run_;
  const LogBook& book_;
  const std::function<void()> read_on_;
  std::map<std::string, std::string> told_;  // by id of the event: what it says
  std::map<Place, std::string> ids_;         // by entry
  std::map<ConversationId, Seq> last_;       // of those that came for the first time
  std::set<Place> given_up_;                 // these may come later
  std::uint64_t lost_ = 0;
};

}  // namespace tidemark::sim
