#include "engine/ephemerals.h"

#include <algorithm>

namespace tidemark {

void Ephemerals::hold(const UserId& user, Shared ephemeral) {
  std::deque<Shared>& held = held_[user];
  std::erase_if(held, [&](const Shared& each) {
    return each->sender == ephemeral->sender && each->sender_device == ephemeral->sender_device &&
           each->conversation == ephemeral->conversation && each->type == ephemeral->type;
  });
  held.push_back(std::move(ephemeral));
  if (held.size() > per_user_max_) held.pop_front();
}

std::vector<Ephemerals::Shared> Ephemerals::alive(const UserId& user, std::int64_t now_ms) const {
  std::vector<Shared> all;
  const auto found = held_.find(user);
  if (found == held_.end()) return all;
  std::ranges::copy_if(found->second, std::back_inserter(all),
                       [&](const Shared& each) { return each->expires_at_ms > now_ms; });
  return all;
}

void Ephemerals::tick(std::int64_t now_ms) {
  for (auto held = held_.begin(); held != held_.end();) {
    std::erase_if(held->second, [&](const Shared& each) { return each->expires_at_ms <= now_ms; });
    held = held->second.empty() ? held_.erase(held) : std::next(held);
  }
}

}  // namespace tidemark
