#include "core/replica/outbox.h"

#include <algorithm>

#include "core/conversation_id.h"
#include "core/params.h"
#include "core/planted.h"
#include "core/replica/objects.h"
#include "core/slim.h"

namespace tidemark::replica {
namespace {

/// A server takes ids whose time lies a little ahead of its own, so an echo may be that much older than its id says;
/// what the server is configured to take is not known here, hence a wide margin.
constexpr std::int64_t kSearchMarginMs = 6 * CoreParams{}.future_ms;

Result<ConversationId> address_of(const Draft& draft, const UserId& me) {
  if (draft.to.empty() == draft.conversation.empty())
    return fail(ErrorCode::MALFORMED, "to", "Give either a user or a conversation.");
  if (!draft.to.empty()) {
    TM_TRY(check_addressee(draft.to, "to"));
    return single_conversation(me, draft.to);
  }
  TM_TRY(parse_conversation(draft.conversation));
  return draft.conversation;
}

/// Whether the message that the log holds under this item's id is this one; what was changed since may have been.
bool is_echo(const Entry& entry, const OutboxItem& item) {
  if (entry.dead() || entry.revision) return true;
  return stands_for(entry.body, item.body) && entry.reply_to == item.reply_to && entry.mentions == item.mentions &&
         entry.mention_all == item.mention_all;
}

}  // namespace

Outbox::Outbox(Workspace& workspace, Conversations& conversations, IndexLine& index, const StoreImage& image)
    : ws_(workspace), conversations_(conversations), index_(index) {
  for (const OutboxItem& item : image.outbox) {
    items_[item.local_id].item = item;
    by_echo_[{item.conversation, item.client_msg_id}] = item.local_id;
  }
}

// -------------------------------------------------------------------------------------------- local actions

Result<std::uint64_t> Outbox::add(const Draft& draft) {
  TM_ASSIGN(const ConversationId conversation, address_of(draft, ws_.device().user));
  if (body_bytes(draft.body) > ws_.options.body_bytes_max)
    return fail(ErrorCode::TOO_LARGE, "body", "At most " + std::to_string(ws_.options.body_bytes_max) + " bytes.");
  if (items_.size() >= ws_.options.outbox_max)
    return fail(ErrorCode::LIMIT_REACHED, "outbox", "Too many messages wait to be sent.");
  const std::uint64_t local_id = ws_.edit_device().next_local_id++;
  Waiting& waiting = items_[local_id];
  OutboxItem& item = waiting.item;
  item.local_id = local_id;
  item.conversation = conversation;
  item.to = draft.to;
  item.id_time_ms = ws_.server_now();
  item.client_msg_id = make_uuid_v7(item.id_time_ms, ws_.dice.uuid_random());
  item.body = draft.body;
  item.reply_to = draft.reply_to;
  if (planted(Fault::quote_embeds_text) && draft.reply_to)
    if (const Held* held = ws_.find(conversation); held && held->notes.contains(draft.reply_to))
      if (const auto quoted = ws_.row(*held, draft.reply_to)) item.body.text += " > " + quoted->body.text;
  item.mentions = draft.mentions;
  item.mention_all = draft.mention_all;
  item.priority = draft.priority;
  by_echo_[{conversation, item.client_msg_id}] = local_id;
  store(waiting);
  raise(item, OutboxOutcome::queued);
  return local_id;
}

Outbox::Waiting* Outbox::decidable(std::uint64_t local_id) {
  const auto found = items_.find(local_id);
  if (found == items_.end()) return nullptr;
  const OutboxState state = found->second.item.state;
  return state == OutboxState::undecided || state == OutboxState::failed ? &found->second : nullptr;
}

Result<void> Outbox::resend(std::uint64_t local_id) {
  Waiting* waiting = decidable(local_id);
  if (waiting == nullptr) return fail(ErrorCode::MESSAGE_NOT_FOUND, "local_id");
  waiting->retry = {};
  waiting->renewals = 0;
  renew(*waiting);
  return {};
}

Result<void> Outbox::discard(std::uint64_t local_id) {
  const Waiting* waiting = decidable(local_id);
  if (waiting == nullptr) return fail(ErrorCode::MESSAGE_NOT_FOUND, "local_id");
  raise(waiting->item, OutboxOutcome::discarded);
  forget(local_id);
  return {};
}

// --------------------------------------------------------------------------------------------------- sending

void Outbox::work() {
  if (items_.empty()) return;
  std::set<ConversationId> blocked;
  for (auto& [local_id, waiting] : items_) {
    const OutboxItem& item = waiting.item;
    if (item.state == OutboxState::undecided || item.state == OutboxState::failed) continue;
    if (!blocked.insert(item.conversation).second) continue;
    if (waiting.in_flight) continue;
    if (item.state == OutboxState::searching) search(waiting);
    const bool may_go = item.state == OutboxState::waiting && in_flight_ < ws_.options.sends_in_flight_max;
    if (may_go && ws_.ready(waiting.retry)) send(waiting);
  }
}

void Outbox::send(Waiting& waiting) {
  OutboxItem& item = waiting.item;
  // Stored before the bytes leave: an unanswered attempt must not look like none after a crash.
  ++item.attempts;
  store(waiting);
  waiting.in_flight = true;
  ++in_flight_;
  Send question;
  if (item.to.empty()) {
    question.conversation = item.conversation;
  } else {
    question.to = item.to;
  }
  question.client_msg_id = item.client_msg_id;
  question.client_time = item.id_time_ms;
  question.body = item.body;
  question.reply_to = item.reply_to;
  question.mentions = item.mentions;
  question.mention_all = item.mention_all;
  question.priority = item.priority;
  Pending pending;
  pending.kind = Pending::Kind::send;
  pending.key = item.local_id;
  ws_.ask(std::move(question), std::move(pending));
}

std::optional<std::int64_t> Outbox::next_work_ms() const {
  std::optional<std::int64_t> next;
  for (const auto& [local_id, waiting] : items_) {
    if (!waiting.in_flight && waiting.item.state == OutboxState::waiting) ws_.sooner(next, waiting.retry.not_before_ms);
  }
  return next;
}

void Outbox::on_link_down() {
  in_flight_ = 0;
  for (auto& [local_id, waiting] : items_) {
    waiting.in_flight = false;
    waiting.search_run.reset();
    waiting.retry = {};
  }
}

// --------------------------------------------------------------------------------------------------- answers

std::optional<Body> Outbox::take_own_row(const ConversationId& id, const Entry& entry) {
  const auto found = by_echo_.find({id, entry.client_msg_id});
  if (found == by_echo_.end()) return std::nullopt;
  const OutboxItem& item = items_.at(found->second).item;
  // Another message has taken the id: the send will be refused as a conflict, and go under one of its own.
  if (!is_echo(entry, item)) return std::nullopt;
  std::optional<Body> whole;
  if (entry.body.cut && stands_for(entry.body, item.body)) whole = item.body;
  settle(found->second, entry.seq);
  return whole;
}

void Outbox::settle(std::uint64_t local_id, Seq seq) {
  const auto found = items_.find(local_id);
  raise(found->second.item, OutboxOutcome::sent, seq);
  forget(local_id);
}

void Outbox::forget(std::uint64_t local_id) {
  const auto found = items_.find(local_id);
  if (found->second.in_flight) --in_flight_;
  by_echo_.erase({found->second.item.conversation, found->second.item.client_msg_id});
  std::erase_if(ws_.out.batch.outbox, [&](const OutboxItem& item) { return item.local_id == local_id; });
  ws_.out.batch.outbox_removed.push_back(local_id);
  items_.erase(found);
}

void Outbox::on_sent(const Pending& asked, const SentReply& reply) {
  const auto found = items_.find(asked.key);
  if (found == items_.end()) return;  // its echo was here before
  conversations_.take_own_send(found->second.item, reply);
  settle(asked.key, reply.seq);
}

void Outbox::on_refused(const Pending& asked, const Error& error) {
  const auto found = items_.find(asked.key);
  if (found == items_.end()) return;
  Waiting& waiting = found->second;
  waiting.in_flight = false;
  --in_flight_;
  if (planted(Fault::outbox_forgets) && error_info(error.code).retryable) return forget(asked.key);
  if (error_info(error.code).retryable) return ws_.fail(waiting.retry, error.retry_after_ms);
  if (error.code == ErrorCode::CLIENT_MSG_ID_EXPIRED) {
    waiting.item.state = OutboxState::searching;
    return store(waiting);
  }
  // The id stands for another message: nothing of this one is in the log, so it goes under an id of its own.
  if (error.code == ErrorCode::CLIENT_MSG_ID_CONFLICT) return renew(waiting);
  waiting.item.state = OutboxState::failed;
  waiting.item.error = error;
  store(waiting);
  raise(waiting.item, OutboxOutcome::failed);
}

/// Whether the log holds it is decided by the log alone: by what is stored here it may never have left, and have been
/// sent all the same, if this is a backup that was put back. Sync, then look through every row since the id was made.
/// Its echo among them ends the item (take_own_row). When all are here and it still stands, it is sent anew if only the
/// send just refused has left; otherwise its user is asked.
void Outbox::search(Waiting& waiting) {
  if (!waiting.search_run) waiting.search_run = index_.begin_run();
  if (!index_.done(*waiting.search_run) || !index_.in_step()) return;
  if (!conversations_.covered_back_to(waiting.item.conversation, waiting.item.id_time_ms - kSearchMarginMs)) return;
  waiting.search_run.reset();
  if (waiting.item.attempts <= 1) return renew(waiting);
  waiting.item.state = OutboxState::undecided;
  store(waiting);
  raise(waiting.item, OutboxOutcome::undecided);
}

void Outbox::renew(Waiting& waiting) {
  OutboxItem& item = waiting.item;
  by_echo_.erase({item.conversation, item.client_msg_id});
  item.id_time_ms = ws_.server_now();
  item.client_msg_id = make_uuid_v7(item.id_time_ms, ws_.dice.uuid_random());
  item.attempts = 0;
  item.state = OutboxState::waiting;
  item.error.reset();
  by_echo_[{item.conversation, item.client_msg_id}] = item.local_id;
  // The second time in a row is not chance: slower from then on.
  if (waiting.renewals++ > 0) ws_.fail(waiting.retry);
  store(waiting);
  raise(item, OutboxOutcome::renewed);
}

void Outbox::store(const Waiting& waiting) {
  std::erase_if(ws_.out.batch.outbox, [&](const OutboxItem& item) { return item.local_id == waiting.item.local_id; });
  ws_.out.batch.outbox.push_back(waiting.item);
}

void Outbox::raise(const OutboxItem& item, OutboxOutcome outcome, Seq seq) {
  ws_.raise(OutboxEvent{item.local_id, item.conversation, item.client_msg_id, outcome, seq, item.error});
}

std::vector<OutboxItem> Outbox::items() const {
  std::vector<OutboxItem> items;
  for (const auto& [local_id, waiting] : items_) items.push_back(waiting.item);
  return items;
}

}  // namespace tidemark::replica
