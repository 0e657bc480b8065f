// How far others have read in the conversations that are looked at: asked for once, then told as it changes, anew on
// every link. Nothing of it is stored.
#pragma once

#include <map>

#include "core/replica/workspace.h"

namespace tidemark::replica {

class PeerReceipts {
 public:
  explicit PeerReceipts(Workspace& workspace) : ws_(workspace) {}

  /// These conversations from now on, in place of those before. LIMIT_REACHED, CONVERSATION_NOT_FOUND.
  Result<void> watch(const std::vector<ConversationId>& conversations);
  /// What is known of a watched one.
  std::vector<Receipt> of(const ConversationId& conversation) const;

  void on_answer(const Pending& asked, const Receipts& answer);
  void on_told(const Receipts& told);
  void on_refused(const Pending& asked, const Error& error);
  void on_link_down();
  void work();
  std::optional<std::int64_t> next_work_ms() const;

 private:
  struct Watched {
    bool asked = false;
    Retry retry = {};
    std::map<UserId, Receipt> known = {};
    // The membership in which it was asked for (0: not known yet); nothing: none, or the group was large.
    std::optional<Seq> join = {};
    Mark asked_at = {};  // the mark of the conversation then
    bool refused = false;
  };
  void take(Watched& watched, const Receipts& receipts);

  Workspace& ws_;
  std::map<ConversationId, Watched> watched_;
};

}  // namespace tidemark::replica
