#include "core/replica/mutations.h"

#include "base/check.h"

namespace tidemark::replica {

bool changes_message(MutationKind kind) {
  return kind >= MutationKind::recall && kind <= MutationKind::react;
}

bool is_repeatable(MutationKind kind) {
  switch (kind) {
    case MutationKind::read:
    case MutationKind::recall:
    case MutationKind::react:
    case MutationKind::clear:
    case MutationKind::remove:
    case MutationKind::delete_for_me:
      return true;
    case MutationKind::mark_unread:
    case MutationKind::edit:
    case MutationKind::mute:
    case MutationKind::pin:
    case MutationKind::draft:
    case MutationKind::setting:
    case MutationKind::block:
      return false;
  }
  return false;
}

Mutations::Mutations(Workspace& workspace, const StoreImage& image) : ws_(workspace) {
  for (const MutationItem& item : image.mutations) open_[item.number].item = item;
}

void Mutations::add(MutationItem item) {
  TM_CHECK(!full(), "there is room for another change");
  item.number = ws_.edit_device().next_mutation++;
  ws_.out.batch.mutations.push_back(item);
  const std::uint64_t number = item.number;
  open_[number].item = std::move(item);
}

std::optional<MutationItem> Mutations::close(std::uint64_t number) {
  auto found = open_.extract(number);
  if (found.empty()) return std::nullopt;
  std::erase_if(ws_.out.batch.mutations, [&](const MutationItem& item) { return item.number == number; });
  ws_.out.batch.mutations_removed.push_back(number);
  return std::move(found.mapped().item);
}

std::vector<MutationItem> Mutations::close_unrepeatable() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, open] : open_)
    if (!is_repeatable(open.item.kind)) numbers.push_back(number);
  std::vector<MutationItem> closed;
  for (const std::uint64_t number : numbers) closed.push_back(*close(number));
  return closed;
}

void Mutations::put_off(std::uint64_t number, const Error& error) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  found->second.in_flight = false;
  ws_.fail(found->second.retry, error.retry_after_ms);
}

void Mutations::on_welcome(std::uint64_t highest_mutation) {
  if (ws_.device().next_mutation <= highest_mutation) ws_.edit_device().next_mutation = highest_mutation + 1;
}

void Mutations::on_link_down() {
  for (auto& [number, open] : open_) {
    open.in_flight = false;
    open.retry = {};
  }
}

/// Changes of one message go one at a time: the later of two edits must not be overtaken by a retry of the earlier.
void Mutations::work() {
  std::set<std::pair<ConversationId, Seq>> blocked;
  for (auto& [number, open] : open_) {
    if (changes_message(open.item.kind) && !blocked.emplace(open.item.conversation, open.item.seq).second) continue;
    if (!open.in_flight && ws_.ready(open.retry)) ask(open);
  }
}

void Mutations::ask(Open& open) {
  open.in_flight = true;
  Pending pending;
  pending.kind = Pending::Kind::mutate;
  pending.conversation = open.item.conversation;
  pending.key = open.item.number;
  ws_.ask(Mutate{open.item}, std::move(pending));
}

std::optional<std::int64_t> Mutations::next_work_ms() const {
  std::optional<std::int64_t> next;
  for (const auto& [number, open] : open_)
    if (!open.in_flight) ws_.sooner(next, open.retry.not_before_ms);
  return next;
}

}  // namespace tidemark::replica
