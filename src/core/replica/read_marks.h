// Read pointers and unread flags of this user as he moves them here: applied at once, told to the server under
// ascending numbers, and repeated until answered (design, sections 5 and 6).
#pragma once

#include "core/replica/workspace.h"

namespace tidemark::replica {

class ReadMarks {
 public:
  ReadMarks(Workspace& workspace, const StoreImage& image);

  /// Everything up to `seq` is read; beyond the head means the head. CONVERSATION_NOT_FOUND when not held.
  Result<void> mark_read(const ConversationId& id, Seq seq);
  /// Sets the unread flag; the pointer stays. CONVERSATION_NOT_FOUND when not held.
  Result<void> mark_unread(const ConversationId& id);

  void on_welcome(std::uint64_t highest_mutation);
  void on_mutated(const Pending& asked, const MutatedReply& reply);
  void on_refused(const Pending& asked, const Error& error);
  void on_link_down();
  void work();
  std::optional<std::int64_t> next_work_ms() const;
  /// Nothing waits for an answer.
  bool settled() const { return open_.empty() && wanting_.empty(); }

 private:
  struct Open {
    MutationItem item;
    bool in_flight = false;
    Retry retry;
  };

  void number_next(Held& held);
  void ask(Open& open);
  void close(std::uint64_t number);

  Workspace& ws_;
  std::map<std::uint64_t, Open> open_;  // numbered and not answered
  std::set<ConversationId> wanting_;    // with a change that has no number yet
};

}  // namespace tidemark::replica
