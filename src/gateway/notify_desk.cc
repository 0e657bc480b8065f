#include "gateway/notify_desk.h"

#include "base/log.h"

namespace tidemark {
namespace {

/// Whether a user may see less than before, or has read: what he was notified of may be true no more.
bool takes_away(const Notice& notice) {
  if (!notice.entry) return true;  // his own state changed
  switch (notice.entry->kind) {
    case EntryKind::recall:
    case EntryKind::deletion:
      return true;
    case EntryKind::member:
      return notice.entry->member->action == MemberAction::left ||
             notice.entry->member->action == MemberAction::removed;
    case EntryKind::config:
      return notice.entry->config->dissolved;
    case EntryKind::message:
    case EntryKind::edit:
    case EntryKind::reaction:
      return false;
  }
  return false;
}

}  // namespace

void NotifyDesk::published(const std::vector<Notice>& notices) {
  const std::int64_t now_ms = links_.now_ms();
  bool urgent = false;
  for (const Notice& notice : notices) {
    const bool message = notice.entry && notice.entry->countable();
    if (!message && !takes_away(notice)) continue;
    urgent = urgent || (message && notice.entry->priority == Priority::high);
    for (const Receiver& receiver : notice.receivers) {
      if (message && notice.entry->sender != receiver.user)
        notifier_.message(receiver.user, receiver.to, links_.online(receiver.user), now_ms, notice.entry->priority);
      else if (!message && (notice.entry || receiver.summary))
        notifier_.changed(receiver.user, now_ms);
    }
  }
  if (urgent) tick();
}

void NotifyDesk::missed(const std::vector<NotifySender::Missed>& users) {
  const std::int64_t now_ms = links_.now_ms();
  for (const auto& [user, mark] : users) notifier_.message(user, mark, links_.online(user), now_ms);
}

void NotifyDesk::outdated(const std::vector<UserId>& users) {
  for (const UserId& user : users) notifier_.changed(user, links_.now_ms());
}

void NotifyDesk::answered(const Notifier::Turn& turn, bool told) {
  if (told) return notifier_.done(turn);
  if (notifier_.failed(turn, links_.now_ms(), random_.next_u64())) return;
  ++given_up_;
  log_warning("notification_given_up");
}

void NotifyDesk::tick() {
  const auto acknowledged = [this](const UserId& user) { return links_.acknowledged(user); };
  for (Notifier::Turn& turn : notifier_.due(links_.now_ms(), acknowledged)) take_turn_(std::move(turn));
}

}  // namespace tidemark
