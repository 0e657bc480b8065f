#include "core/replica/peer_receipts.h"

#include <algorithm>

namespace tidemark::replica {
namespace {
constexpr std::size_t kWatchedChatsMax = 8;

std::optional<Seq> membership(const Change& conversation) {
  if (!conversation.member || conversation.large) return std::nullopt;
  return conversation.periods.empty() ? Seq() : conversation.periods.back().join;
}
}  // namespace

Result<void> PeerReceipts::watch(const std::vector<ConversationId>& conversations) {
  if (conversations.size() > kWatchedChatsMax) return fail(ErrorCode::LIMIT_REACHED, "conversation_id", "At most 8.");
  for (const ConversationId& id : conversations)
    if (ws_.find(id) == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  std::erase_if(watched_, [&](const auto& each) {
    if (std::ranges::find(conversations, each.first) != conversations.end()) return false;
    if (each.second.asked && ws_.welcomed) ws_.tell(AskReceipts{each.first, false});
    return true;
  });
  for (const ConversationId& id : conversations) watched_.try_emplace(id);
  return {};
}

std::vector<Receipt> PeerReceipts::of(const ConversationId& conversation) const {
  std::vector<Receipt> receipts;
  if (const auto found = watched_.find(conversation); found != watched_.end())
    for (const auto& [user, receipt] : found->second.known) receipts.push_back(receipt);
  return receipts;
}

void PeerReceipts::take(Watched& watched, const Receipts& receipts) {
  for (const Receipt& told : receipts.receipts) {
    Receipt& known = watched.known[told.user];
    known.user = told.user;
    // Both only move up; an answer may have been overtaken by what was told since.
    known.read = std::max(known.read, told.read);
    known.delivered = std::max(known.delivered, told.delivered);
  }
  ws_.raise(ReceiptsEvent{receipts.conversation, of(receipts.conversation), receipts.off});
}

void PeerReceipts::on_answer(const Pending& asked, const Receipts& answer) {
  const auto found = watched_.find(asked.conversation);
  if (found != watched_.end()) take(found->second, answer);
}

void PeerReceipts::on_told(const Receipts& told) {
  const auto found = watched_.find(told.conversation);
  if (found != watched_.end()) take(found->second, told);
}

void PeerReceipts::on_refused(const Pending& asked, const Error& error) {
  const auto found = watched_.find(asked.conversation);
  if (found == watched_.end()) return;
  found->second.refused = !error_info(error.code).retryable;
  if (found->second.refused) return;
  found->second.asked = false;
  ws_.fail(found->second.retry, error.retry_after_ms);
}

void PeerReceipts::on_link_down() {
  // By the next link they may be others: a restore takes read pointers back.
  for (auto& [id, watched] : watched_) watched = {};
}

void PeerReceipts::work() {
  for (auto& [id, watched] : watched_) {
    if (const auto* held = ws_.find(id)) {
      const std::optional<Seq> join = membership(held->state.object);
      // Who left was told no more, in a large group nobody is: it begins anew when he comes back, or it is small.
      const bool same =
          join.has_value() == watched.join.has_value() && (!join || !*watched.join || join == watched.join);
      // What a restored server knew nothing of may have begun once more.
      const bool news = watched.refused && held->state.object.mark != watched.asked_at;
      if (watched.asked && (!same || news)) watched = {};
      watched.join = join;
    }
    if (watched.asked || !ws_.ready(watched.retry)) continue;
    watched.asked = true;
    if (const auto* held = ws_.find(id)) watched.asked_at = held->state.object.mark;
    Pending pending;
    pending.kind = Pending::Kind::receipts;
    pending.conversation = id;
    ws_.ask(AskReceipts{id, true}, std::move(pending));
  }
}

std::optional<std::int64_t> PeerReceipts::next_work_ms() const {
  std::optional<std::int64_t> next;
  for (const auto& [id, watched] : watched_)
    if (!watched.asked) ws_.sooner(next, watched.retry.not_before_ms);
  return next;
}

}  // namespace tidemark::replica
