#include "sim/receipts_judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/user_object.h"
#include "sim/device.h"

namespace tidemark::sim {
namespace {

bool shares(const OwnBook& own, const UserId& user) {
  const auto& objects = own.objects(user);
  const auto found = objects.find(name_of_setting(kReceiptsSetting));
  return found == objects.end() || std::get<Setting>(found->second.what).value != "false";
}

}  // namespace

void ReceiptsJudge::published(const std::vector<UserId>& users) {
  // Of a user who is deleted nothing is known: after a restore he may be there again for a while.
  std::erase_if(sharing_, [&](const auto& each) { return std::ranges::find(users, each.first) == users.end(); });
  for (const UserId& user : users) {
    Sharing& sharing = sharing_[user];
    const bool before = std::exchange(sharing.on, shares(own_, user));
    if (before == sharing.on) continue;
    ++sharing.changes;
    run_.hit(Counter::receipts_off);
  }
}

void ReceiptsJudge::learned(const UserId& user, const ConversationId& conversation, Seq head) {
  Seq& known = heads_[{user, conversation}];
  known = std::max(known, head);
}

void ReceiptsJudge::reached(const UserId& user, const Cursor& cursor) {
  auto& furthest = rounds_[user];
  furthest = std::max(furthest, {cursor.epoch.number, cursor.round});
}

/// The last entry that any of his devices was told of, or whose cursor covers it.
Seq ReceiptsJudge::covered(const UserId& user, const ConversationId& conversation) const {
  const auto known = heads_.find({user, conversation});
  Seq last = known == heads_.end() ? Seq() : known->second;
  const auto furthest = rounds_.find(user);
  if (furthest == rounds_.end()) return last;
  for (const auto& [seq, entry] : book_.log(conversation))
    if (std::pair(entry.epoch, entry.round) <= furthest->second) last = std::max(last, seq);
  return last;
}

void ReceiptsJudge::welcomed(const SimDevice& device) {
  links_[&device] = {sharing_, {}};
}

/// He has told nobody since the link stands.
bool ReceiptsJudge::silent_on(const Link& link, const UserId& user) const {
  const auto then = link.sharing.find(user);
  const auto now = sharing_.find(user);
  return then != link.sharing.end() && now != sharing_.end() && !now->second.on &&
         then->second.changes == now->second.changes;
}

/// He has told everybody since the link stands.
bool ReceiptsJudge::tells_on(const Link& link, const UserId& user) const {
  const auto then = link.sharing.find(user);
  const auto now = sharing_.find(user);
  return then != link.sharing.end() && now != sharing_.end() && now->second.on &&
         then->second.changes == now->second.changes;
}

void ReceiptsJudge::told(const SimDevice& device, const ConversationId& conversation,
                         const std::vector<Receipt>& receipts, bool off) {
  run_.hit(Counter::receipts_told);
  Link& link = links_[&device];
  if (silent_on(link, device.user()) && (!off || !receipts.empty()))
    throw Violation("I10", fmt::format("{} is told how far others have read {}, and does not tell himself",
                                       device.name().shown, conversation.value));
  for (const Receipt& receipt : receipts) check(device, link, conversation, receipt);
}

void ReceiptsJudge::check(const SimDevice& device, Link& link, const ConversationId& conversation,
                          const Receipt& receipt) const {
  for (const Judge judge : {Judge::I9, Judge::I10, Judge::I13}) run_.ask(judge);
  const auto fault = [&](const char* invariant, const std::string& what) {
    throw Violation(invariant, fmt::format("{} is told of {} in {}: {}", device.name().shown, receipt.user.value,
                                           conversation.value, what));
  };
  if (silent_on(link, receipt.user)) fault("I10", "he does not tell");
  if (receipt.user == device.user()) fault("I10", "that is himself");
  if (book_.sight(conversation, receipt.user).spans.empty()) fault("I10", "he was never there");
  const Seq read = own_.of(receipt.user, conversation).read;
  if (receipt.read > read) fault("I13", fmt::format("read to {} and not {}", receipt.read.value, read.value));
  if (receipt.delivered < receipt.read) fault("I13", "he has read what has not reached him");
  const Seq head = covered(receipt.user, conversation);
  // What he has read was at his devices, or was read for him by a backend. Where nothing was ever written it means
  // nothing.
  const LogBook::Log& log = book_.log(conversation);
  // A change of what he has cleared or deleted is told to none of his devices; nor is, while it is out of his list,
  // what does not bring a conversation back, and once it is back his floor lies above that.
  const OwnState& own = own_.of(receipt.user, conversation);
  const auto told_to_none = [&](const Entry& entry) {
    if (entry.target && own.hides(entry.target)) return true;
    return !entry.countable() && (own.removed || own.hides(entry.seq));
  };
  auto beyond = log.upper_bound(std::max(head, read));
  while (beyond != log.end() && told_to_none(beyond->second)) ++beyond;
  if (beyond != log.end() && receipt.delivered >= beyond->first)
    fault("I13", fmt::format("{} has reached him, and his devices know of {}", receipt.delivered.value, head.value));
  Receipt& before = link.told[{conversation, receipt.user}];
  if (receipt.read < before.read || receipt.delivered < before.delivered) fault("I9", "it was more before");
  before = receipt;
}

void ReceiptsJudge::check_arrived(const SimDevice& device, const std::vector<UserId>& users) {
  const Link& link = links_[&device];
  if (!tells_on(link, device.user())) return;
  for (const ConversationId& id : device.watches_receipts_of()) {
    const LogBook::Log& log = book_.log(id);
    const auto* held = device.store().conversation(id);
    const bool member = book_.sight(id, device.user()).member();
    if (!member || log.empty() || held == nullptr || held->state.object.large || held->state.only_here()) continue;
    const std::vector<Receipt> receipts = device.engine().receipts(id);
    for (const UserId& user : users) {
      if (user == device.user() || !book_.sight(id, user).member() || !tells_on(link, user)) continue;
      run_.ask(Judge::I19);
      const OwnState& own = own_.of(user, id);
      const auto found = std::ranges::find(receipts, user, &Receipt::user);
      const Receipt known = found == receipts.end() ? Receipt() : *found;
      const Seq head = own.removed ? known.delivered : log.rbegin()->first;
      if (known.read != own.read || known.delivered != head)
        throw Violation("I19", fmt::format("{} knows that {} has read {} to {} and has got {}; it is {} and {}",
                                           device.name().shown, user.value, id.value, known.read.value,
                                           known.delivered.value, own.read.value, head.value));
    }
  }
}

}  // namespace tidemark::sim
