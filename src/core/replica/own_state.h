// What this user makes of a conversation for himself alone: clearing, removing, deleting, muting, pinning. Applied here
// at once, told to the server under numbers, one at a time for a conversation: meanwhile further wishes become one.
#pragma once

#include "core/replica/conversations.h"
#include "core/replica/mutations.h"

namespace tidemark::replica {

class OwnState {
 public:
  OwnState(Workspace& workspace, Conversations& conversations, Mutations& mutations, const StoreImage& image);

  // CONVERSATION_NOT_FOUND when the device does not hold it.
  /// Hides everything up to `seq`; 0 or beyond the head: all that this device knows of.
  Result<void> clear(const ConversationId& id, Seq seq);
  /// The same, and takes it out of the list until something comes that was not seen here.
  Result<void> remove(const ConversationId& id);
  /// MALFORMED without a range.
  Result<void> delete_for_me(const ConversationId& id, const std::vector<Interval>& ranges);
  Result<void> mute(const ConversationId& id, std::int64_t until);
  Result<void> pin(const ConversationId& id, bool pinned);

  void on_welcome();
  void on_mutated(const MutationItem& item, const MutatedReply& reply);
  void on_refused(const MutationItem& item, const Error& error);
  /// Of what waits for its number: whether it was done and taken back since is not known.
  void on_new_install(const Error& expired);
  void work();
  /// All of them have their numbers.
  bool settled() const { return wanting_.empty(); }

 private:
  Result<Held*> held_for(const ConversationId& id);
  void number_next(Held& held);
  void close(Held& held);
  void want_again(Held& held, const MutationItem& item);
  void preview_anew(Held& held);

  Workspace& ws_;
  Conversations& conversations_;
  Mutations& mutations_;
  std::set<ConversationId> wanting_;  // with a wish that has no number yet
};

/// Those kinds that OwnState numbers.
bool is_own_state(MutationKind kind);

}  // namespace tidemark::replica
