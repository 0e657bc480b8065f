#include "sim/rights.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/run_context.h"

namespace tidemark::sim {
namespace {

/// A group as its log has made it so far.
class GroupSoFar {
 public:
  GroupSoFar(const ConversationId& id, const LogBook::Log& log) : id_(id) {
    for (const auto& [seq, entry] : log) {
      // What one commit brings is one step.
      if (entry.round != round_) check_owner();
      round_ = entry.round;
      at_ = &entry;
      take();
    }
    check_owner();
  }

 private:
  struct In {
    UserId user;
    Role role = Role::member;
    Seq join;
  };

  [[noreturn]] void fault(const std::string& what) const {
    throw Violation("I10", fmt::format("{}:{} by {}: {}", id_.value, at_->seq.value, at_->sender.value, what));
  }
  void need(bool allowed, const char* what) const {
    if (!allowed) fault(what);
  }

  In* find(const UserId& user) {
    const auto found = std::ranges::find(in_, user, &In::user);
    return found == in_.end() ? nullptr : &*found;
  }
  /// 0: not in it, then member, admin, owner.
  int rank(const UserId& user) {
    const In* found = find(user);
    return found == nullptr ? 0 : 1 + static_cast<int>(found->role);
  }
  int owners() const { return static_cast<int>(std::ranges::count(in_, Role::owner, &In::role)); }
  void check_owner() const {
    if (!in_.empty() && !ended_ && owners() != 1) fault(fmt::format("the group has {} owners", owners()));
  }

  void take() {
    const bool erases = at_->kind == EntryKind::recall || at_->kind == EntryKind::deletion;
    need(!ended_ || erases, "the group has ended");
    if (at_->kind == EntryKind::message || at_->kind == EntryKind::edit) take_words();
    if (at_->member) take_member(*at_->member);
    if (at_->config) take_config(*at_->config);
  }

  void take_words() {
    need(rank(at_->sender) >= (policy_.send == Allowed::members ? 1 : 2), "may not write");
    const auto mute = mutes_.find(at_->sender);
    need(mute == mutes_.end() || mute->second <= at_->server_time, "is muted");
    need(at_->kind == EntryKind::message || at_->sender == at_->target_sender, "is not its author");
  }

  void take_member(const MemberChange& change) {
    const UserId& first = change.users.front();
    const int mine = rank(at_->sender);
    switch (change.action) {
      case MemberAction::joined:
        return take_joined(change, mine);
      case MemberAction::left:
        need(mine > 0 && first == at_->sender, "leaves for somebody else");
        return drop(first);
      case MemberAction::removed:
        need(mine >= 2 && rank(first) > 0 && mine > rank(first), "may not remove him");
        return drop(first);
      case MemberAction::muted:
        need(mine >= 2 && rank(first) > 0 && mine > rank(first), "may not mute him");
        mutes_[first] = change.muted_until;
        return;
      case MemberAction::role:
        need(mine == 3 || (first == at_->sender && change.role == Role::owner && heir() == first),
             "may not give roles");
        need(rank(first) > 0, "gives a role to a stranger");
        find(first)->role = change.role;
        if (change.role == Role::owner) mutes_.erase(first);
        return;
    }
  }

  void take_joined(const MemberChange& change, int mine) {
    for (const UserId& user : change.users) need(rank(user) == 0, "adds who is in");
    const bool by_himself = change.users.size() == 1 && change.users.front() == at_->sender;
    const bool made_now = !known_;
    known_ = true;
    if (!made_now && by_himself) need(policy_.join == JoinPolicy::open, "joins a closed group");
    if (!made_now && !by_himself) need(mine >= (policy_.add == Allowed::members ? 1 : 2), "may not add");
    for (const UserId& user : change.users) in_.push_back({user, Role::member, at_->seq});
    if (made_now) in_.front().role = Role::owner;
  }

  void take_config(const ConfigChange& change) {
    const int mine = rank(at_->sender);
    if (change.large) return;  // it follows the size, whoever made that
    need(mine >= 2 || (change.title.empty() && !change.data), "may not name it");
    need(mine == 3 || (!change.policy && !change.dissolved), "may not change it");
    if (change.policy) policy_ = *change.policy;
    ended_ = change.dissolved;
  }

  void drop(const UserId& user) {
    std::erase_if(in_, [&](const In& each) { return each.user == user; });
  }
  /// Who is next while there is no owner.
  UserId heir() const {
    if (owners() > 0 || in_.empty()) return {};
    const auto rank = [](const In& each) { return std::tuple(each.role == Role::admin ? 0 : 1, each.join, each.user); };
    return std::ranges::min_element(in_, {}, rank)->user;
  }

  const ConversationId& id_;
  const Entry* at_ = nullptr;
  std::uint64_t round_ = 0;
  bool known_ = false;
  bool ended_ = false;
  std::vector<In> in_;  // in order of joining
  GroupPolicy policy_;
  std::map<UserId, std::int64_t> mutes_;
};

}  // namespace

void check_rights(const ConversationId& id, const LogBook::Log& log) {
  if (id.value.starts_with("group_") && !log.empty()) GroupSoFar(id, log);
}

}  // namespace tidemark::sim
