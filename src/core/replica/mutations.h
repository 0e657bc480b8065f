// Changes of this user's on their way to the server: each has an ascending number of its installation, is stored before
// its first byte leaves, and is repeated under that number until it is answered (design, section 5).
#pragma once

#include "core/replica/workspace.h"

namespace tidemark::replica {

/// Those kinds that change a message, for everybody.
bool changes_message(MutationKind kind);
/// Done twice, or late, it takes nothing back that was done since; of the other kinds the later commit wins.
bool is_repeatable(MutationKind kind);

class Mutations {
 public:
  Mutations(Workspace& workspace, const StoreImage& image);

  /// As many are unanswered as may be.
  bool full() const { return open_.size() >= ws_.options.mutations_max; }
  bool empty() const { return open_.empty(); }
  /// Gives `item` its number. REQUIRES: not full.
  void add(MutationItem item);
  /// Answered for good: takes it out. Nothing when it is not open.
  std::optional<MutationItem> close(std::uint64_t number);
  /// Takes out those that are not repeatable, by number.
  std::vector<MutationItem> close_unrepeatable();
  /// Not now: asked again later.
  void put_off(std::uint64_t number, const Error& error);

  void on_welcome(std::uint64_t highest_mutation);
  void on_link_down();
  void work();
  std::optional<std::int64_t> next_work_ms() const;

 private:
  struct Open {
    MutationItem item;
    bool in_flight = false;
    Retry retry;
  };
  void ask(Open& open);

  Workspace& ws_;
  std::map<std::uint64_t, Open> open_;  // numbered and not answered
};

}  // namespace tidemark::replica
