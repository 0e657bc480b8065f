#include "engine/receipt_watch.h"

#include <algorithm>

namespace tidemark {

void ReceiptWatch::watch(SessionId link, const ConversationId& conversation) {
  std::vector<ConversationId>& mine = by_link_[link];
  std::erase(mine, conversation);
  mine.push_back(conversation);
  watched_[conversation].changed.try_emplace(link);
  if (mine.size() <= kWatchedMax) return;
  const ConversationId oldest = mine.front();
  unwatch(link, oldest);
}

void ReceiptWatch::unwatch(SessionId link, const ConversationId& conversation) {
  if (const auto mine = by_link_.find(link); mine != by_link_.end()) {
    std::erase(mine->second, conversation);
    if (mine->second.empty()) by_link_.erase(mine);
  }
  const auto found = watched_.find(conversation);
  if (found == watched_.end()) return;
  found->second.changed.erase(link);
  if (found->second.changed.empty()) forget(conversation);
}

void ReceiptWatch::down(SessionId link) {
  const auto mine = by_link_.find(link);
  if (mine == by_link_.end()) return;
  const std::vector<ConversationId> conversations = mine->second;
  for (const ConversationId& conversation : conversations) unwatch(link, conversation);
}

void ReceiptWatch::forget(const ConversationId& conversation) {
  for (const UserId& user : watched_.at(conversation).users) {
    const auto found = by_user_.find(user);
    if (found == by_user_.end()) continue;
    found->second.erase(conversation);
    if (found->second.empty()) by_user_.erase(found);
  }
  waiting_.erase(conversation);
  watched_.erase(conversation);
}

void ReceiptWatch::know(const ConversationId& conversation, std::span<const UserId> users) {
  const auto found = watched_.find(conversation);
  if (found == watched_.end()) return;
  for (const UserId& user : users)
    if (found->second.users.insert(user).second) by_user_[user].insert(conversation);
}

void ReceiptWatch::read(const ConversationId& conversation, const UserId& user) {
  const auto found = watched_.find(conversation);
  if (found == watched_.end()) return;
  for (auto& [link, changed] : found->second.changed) changed.insert(user);
  waiting_.insert(conversation);
}

void ReceiptWatch::acknowledged(const UserId& user) {
  const auto found = by_user_.find(user);
  if (found == by_user_.end()) return;
  for (const ConversationId& conversation : found->second) read(conversation, user);
}

std::vector<ReceiptWatch::Due> ReceiptWatch::take_due(std::int64_t now_ms) {
  std::vector<Due> due;
  std::erase_if(waiting_, [&](const ConversationId& conversation) {
    Watched& watched = watched_.at(conversation);
    if (now_ms - watched.told_ms < every_ms_) return false;
    watched.told_ms = now_ms;
    for (auto& [link, changed] : watched.changed) {
      if (changed.empty()) continue;
      due.push_back({link, conversation, {changed.begin(), changed.end()}});
      changed.clear();
    }
    return true;
  });
  return due;
}

void ReceiptWatch::put_back(const Due& due) {
  const auto found = watched_.find(due.conversation);
  if (found == watched_.end()) return;
  const auto link = found->second.changed.find(due.link);
  if (link == found->second.changed.end()) return;
  link->second.insert(due.users.begin(), due.users.end());
  waiting_.insert(due.conversation);
}

}  // namespace tidemark
