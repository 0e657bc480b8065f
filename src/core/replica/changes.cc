#include "core/replica/changes.h"

#include "core/params.h"
#include "core/replica/objects.h"

namespace tidemark::replica {

// -------------------------------------------------------------------------------------------- local actions

Result<void> Changes::check(const ConversationId& id, Seq seq, Whose whose) {
  const Held* held = ws_.find(id);
  if (held == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  if (const auto note = held->notes.find(seq); note != held->notes.end()) {
    if (!note->second.countable) return fail(ErrorCode::MESSAGE_NOT_FOUND, "seq");
    if (whose == Whose::own && !note->second.mine) return fail(ErrorCode::FORBIDDEN, "seq");
    if (note->second.state >= MessageState::recalled) return fail(ErrorCode::MESSAGE_DELETED, "seq");
  }
  if (mutations_.full()) return fail(ErrorCode::LIMIT_REACHED, "mutations", "Too many changes wait to be answered.");
  return {};
}

Result<void> Changes::recall(const ConversationId& id, Seq seq) {
  TM_TRY(check(id, seq, Whose::own));
  MutationItem item;
  item.kind = MutationKind::recall;
  item.conversation = id;
  item.seq = seq;
  add(std::move(item));
  return {};
}

Result<void> Changes::edit(const ConversationId& id, Seq seq, const Body& body, std::optional<Seq> base_revision) {
  TM_TRY(check(id, seq, Whose::own));
  if (body_bytes(body) > ws_.options.body_bytes_max)
    return fail(ErrorCode::TOO_LARGE, "body", "At most " + std::to_string(ws_.options.body_bytes_max) + " bytes.");
  MutationItem item;
  item.kind = MutationKind::edit;
  item.conversation = id;
  item.seq = seq;
  item.body = body;
  item.base_revision = base_revision;
  add(std::move(item));
  return {};
}

Result<void> Changes::react(const ConversationId& id, Seq seq, const std::string& reaction, bool on) {
  TM_TRY(check(id, seq, Whose::anybody));
  constexpr std::size_t kBytesMax = CoreParams{}.reaction_bytes_max;
  if (reaction.empty() || reaction.size() > kBytesMax)
    return fail(ErrorCode::OUT_OF_RANGE, "reaction", "1 to " + std::to_string(kBytesMax) + " bytes.");
  MutationItem item;
  item.kind = MutationKind::react;
  item.conversation = id;
  item.seq = seq;
  item.name = reaction;
  item.on = on;
  add(std::move(item));
  return {};
}

void Changes::add(MutationItem item) {
  ws_.raise(ChangeEvent{item.conversation, item.kind, item.seq, ChangeOutcome::queued});
  mutations_.add(std::move(item));
}

// --------------------------------------------------------------------------------------------------- answers

void Changes::on_done(const MutationItem& item) {
  ws_.raise(ChangeEvent{item.conversation, item.kind, item.seq, ChangeOutcome::done});
}

void Changes::on_refused(const MutationItem& item, const Error& error) {
  // The number stood for something else, so this has never been done; and a recall or a reaction may be done twice. An
  // edit under a number too old to be known may have been done, and others after it: its user decides.
  const bool again = error.code == ErrorCode::MUTATION_CONFLICT ||
                     (error.code == ErrorCode::MUTATION_EXPIRED && item.kind != MutationKind::edit);
  if (again) return mutations_.add(item);
  ws_.raise(ChangeRefusedEvent{item.conversation, item.kind, item.seq, item.body, error});
}

}  // namespace tidemark::replica
