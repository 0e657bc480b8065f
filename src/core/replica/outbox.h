// Messages on their way out (design, section 5). Each is stored with its id before its first byte leaves, sent in
// order within its conversation, one at a time, and kept until its place in the log is known or its user has decided.
#pragma once

#include <set>

#include "core/replica/conversations.h"
#include "core/replica/index_line.h"
#include "core/replica/workspace.h"

namespace tidemark::replica {

class Outbox {
 public:
  Outbox(Workspace& workspace, Conversations& conversations, IndexLine& index, const StoreImage& image);

  /// The item's local id. MALFORMED for an impossible address, TOO_LARGE for a body beyond the limit, LIMIT_REACHED
  /// when too many messages wait.
  Result<std::uint64_t> add(const Draft& draft);
  /// Sends an undecided or failed item again, as a new message. MESSAGE_NOT_FOUND when there is none.
  Result<void> resend(std::uint64_t local_id);
  /// Forgets an undecided or failed item. MESSAGE_NOT_FOUND when there is none.
  Result<void> discard(std::uint64_t local_id);

  /// One of the user's own messages as the log holds it: ends the item it came from.
  std::optional<Body> take_own_row(const ConversationId& id, const Entry& entry);
  void on_sent(const Pending& asked, const SentReply& reply);
  void on_refused(const Pending& asked, const Error& error);
  void on_link_down();
  void work();
  std::optional<std::int64_t> next_work_ms() const;

  std::vector<OutboxItem> items() const;

 private:
  struct Waiting {
    OutboxItem item;
    bool in_flight = false;
    std::uint32_t renewals = 0;
    std::optional<IndexLine::Run> search_run;
    Retry retry;
  };
  using Echo = std::pair<ConversationId, std::string>;

  void store(const Waiting& waiting);
  void raise(const OutboxItem& item, OutboxOutcome outcome, Seq seq = {});
  void renew(Waiting& waiting);
  void settle(std::uint64_t local_id, Seq seq);
  void forget(std::uint64_t local_id);
  void search(Waiting& waiting);
  void send(Waiting& waiting);
  Waiting* decidable(std::uint64_t local_id);

  Workspace& ws_;
  Conversations& conversations_;
  IndexLine& index_;
  std::map<std::uint64_t, Waiting> items_;  // in the order of their making
  std::map<Echo, std::uint64_t> by_echo_;
  std::size_t in_flight_ = 0;
};

}  // namespace tidemark::replica
