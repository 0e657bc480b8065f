// Read pointers and unread flags of this user as he moves them here: applied at once, told to the server under
// numbers of their own (design, section 6).
#pragma once

#include "core/replica/mutations.h"

namespace tidemark::replica {

class ReadMarks {
 public:
  ReadMarks(Workspace& workspace, Mutations& mutations, const StoreImage& image);

  /// Everything up to `seq` is read; beyond the head means the head. CONVERSATION_NOT_FOUND when not held.
  Result<void> mark_read(const ConversationId& id, Seq seq);
  /// Sets the unread flag; the pointer stays. CONVERSATION_NOT_FOUND when not held.
  Result<void> mark_unread(const ConversationId& id);

  void on_welcome();
  void on_mutated(const MutationItem& item, const MutatedReply& reply);
  void on_refused(const MutationItem& item, const Error& error);
  /// Of what waits for its number: whether it was done and taken back since is not known.
  void on_new_install(const Error& expired);
  void work();
  /// All of them have their numbers.
  bool settled() const { return wanting_.empty(); }

 private:
  void number_next(Held& held);
  void close(Held& held);

  Workspace& ws_;
  Mutations& mutations_;
  std::set<ConversationId> wanting_;  // with a change that has no number yet
};

}  // namespace tidemark::replica
