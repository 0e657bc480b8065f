#include "engine/delivery.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "core/body.h"
#include "core/planted.h"
#include "core/preview.h"
#include "core/slim.h"

namespace tidemark {
namespace {

constexpr std::size_t kHeaderBytes = 160;  // about what an item takes besides its body
constexpr std::size_t kReactionBytes = 40;

std::size_t size_of(const Entry* entry) {
  if (entry == nullptr) return kHeaderBytes;
  const Body& body = entry->body;
  return kHeaderBytes + body.text.size() + body.summary.size() + body.data.size() + body.encrypted.size() +
         body.attachments.size() * kHeaderBytes + entry->reactions.size() * kReactionBytes;
}

/// For the planted fault alone.
void keep_last(std::vector<PushRef>& pending, std::size_t& bytes) {
  auto item = share(*pending.back().item);
  item->index_after = pending.front().item->index_after;
  pending.back().item = std::move(item);
  pending.erase(pending.begin(), pending.end() - 1);
  bytes = pending.back().size_bytes;
}

using Blanks = std::unordered_map<const SharedEntry*, std::shared_ptr<SharedEntry>>;

/// What may still be told instead of the entry; nothing where it tells nothing of the dead message.
std::shared_ptr<const Entry> blank_of(const Entry& entry, const std::shared_ptr<const Entry>& dead) {
  if (entry.seq == dead->seq) return dead;
  if ((entry.kind != EntryKind::edit && entry.kind != EntryKind::reaction) || entry.target != dead->seq) return nullptr;
  auto blank = std::make_shared<Entry>(entry);
  erase_content(*blank);
  blank->reaction.reset();
  return blank;
}

/// All who share an entry share what takes its place.
void erase_from(PushRef& ref, const std::shared_ptr<const Entry>& dead, Blanks& blanks) {
  const auto change = [&ref](auto part, auto value) {
    auto item = share(*ref.item);
    (*item).*part = std::move(value);
    ref.item = std::move(item);
  };
  if (ref.item->summary && ref.item->summary->preview.seq == dead->seq) {
    auto summary = std::make_shared<Change>(*ref.item->summary);
    summary->preview = preview_of(*dead, 0);
    change(&PushItem::summary, std::shared_ptr<const Change>(std::move(summary)));
  }
  if (!ref.shared) return;
  auto [blank, first] = blanks.try_emplace(ref.shared.get());
  if (first)
    if (auto entry = blank_of(*ref.shared->entry, dead))
      blank->second = std::make_shared<SharedEntry>(SharedEntry{ref.shared->conversation, std::move(entry), {}});
  if (!blank->second) return;
  ref.shared = blank->second;
  change(&PushItem::entry, ref.shared->entry);
}

}  // namespace

void Delivery::attach(const Attach& attach, std::int64_t now_ms) {
  auto& slot = users_[attach.user];
  if (!slot) {
    slot = std::make_unique<User>();
    slot->id = attach.user;
    slot->head = attach.login.head.mark;
  }
  User& user = *slot;
  const std::vector<ConversationId> before = user.large;
  for (const ConversationId& id : before) follow(user, id, false);
  for (const ConversationId& id : attach.login.large_groups) follow(user, id, true);
  const auto same = std::ranges::find(user.sessions, attach.device, &Session::device);
  if (same != user.sessions.end()) {
    const SessionId old = (*same)->id;
    detach(old, now_ms);
    port_.end(old, LinkEnd::replaced);
  }
  auto made = std::make_unique<Session>();
  Session& session = *made;
  session.id = attach.session;
  session.user = &user;
  session.device = attach.device;
  session.foreground = attach.foreground;
  user.sessions.push_back(&session);
  TM_CHECK(sessions_.emplace(session.id, std::move(made)).second, "a session is attached once");

  if (attach.login.mode == Mode::delta) {
    session.acknowledged = attach.cursor;
    session.acknowledged_round = attach.round;
  }
  if (attach.login.mode != Mode::delta) return hint(session);
  answered(session.id, attach.cursor, true, now_ms, attach.round);
}

void Delivery::detach(SessionId id, std::int64_t now_ms) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  User& user = *found->second->user;
  close_all(*found->second);
  std::erase(user.sessions, found->second.get());
  if (user.sessions.empty()) user.idle_since_ms = now_ms;
  sessions_.erase(found);
}

void Delivery::publish(const std::vector<Notice>& notices, std::int64_t now_ms) {
  std::vector<SessionId> offered;
  for (const Notice& notice : notices) {
    forget(notice);
    std::shared_ptr<SharedEntry> shared;
    const auto entry = slim(notice.entry, options_.inline_bytes);
    for (const Receiver& receiver : notice.receivers)
      if (receiver.large)
        if (const auto found = users_.find(receiver.user); found != users_.end())
          follow(*found->second, notice.conversation, *receiver.large);
    for (const Receiver& receiver : notice.receivers) {
      const auto found = users_.find(receiver.user);
      if (found == users_.end()) continue;
      if (notice.entry && !shared) shared = std::make_shared<SharedEntry>(SharedEntry{notice.conversation, entry, {}});
      PushRef ref;
      // A push may end in the middle of a round: whole gaps are bounded by the round before.
      const bool own = notice.entry && notice.entry->sender == receiver.user;
      ref.item = share(PushItem{receiver.after, receiver.to, notice.round - 1, receiver.sort_time, receiver.mentioned,
                                own ? notice.entry->client_msg_id : std::string(), receiver.summary, receiver.objects,
                                notice.conversation, entry});
      ref.shared = shared;
      ref.size_bytes = size_of(entry.get());
      User& user = *found->second;
      const bool leaves = receiver.summary && !receiver.summary->member;
      if (leaves || receiver.large.value_or(false) || (receiver.summary && receiver.summary->large))
        note_holder(user, notice.conversation);
      if (!notice.entry && !receiver.summary && !receiver.objects) {
        moved(user, receiver.to);
        continue;
      }
      remember(user, ref);
      for (Session* session : user.sessions) {
        offer(*session, ref);
        if (!session->pending.empty() && (offered.empty() || offered.back() != session->id))
          offered.push_back(session->id);
      }
    }
    if (notice.large && notice.entry) {
      if (!shared) shared = std::make_shared<SharedEntry>(SharedEntry{notice.conversation, entry, {}});
      tell_open(notice, shared, offered);
    }
  }
  for (const SessionId id : offered)
    if (const auto found = sessions_.find(id); found != sessions_.end() && !waits_for_company(*found->second, now_ms))
      flush(*found->second, now_ms);
}

void Delivery::forget(const Notice& notice) {
  if (!notice.dead) return;
  Blanks blanks;
  const auto erase = [&](PushRef& ref) {
    if (ref.item->conversation == notice.conversation) erase_from(ref, notice.dead, blanks);
  };
  const auto erase_all = [&](User& user) {
    std::ranges::for_each(user.recent, erase);
    for (Session* session : user.sessions) std::ranges::for_each(session->pending, erase);
  };
  // Whoever was told of the message is told that it is gone, but for the holders.
  for (const Receiver& receiver : notice.receivers)
    if (const auto found = users_.find(receiver.user); found != users_.end()) erase_all(*found->second);
  for (Session* session : told_besides(notice)) std::ranges::for_each(session->pending, erase);
  const auto holders = holders_.find(notice.conversation);
  if (holders == holders_.end()) return;
  const auto of_it = [&](const PushRef& ref) { return ref.item->conversation == notice.conversation; };
  const std::vector<User*> before(holders->second.begin(), holders->second.end());
  for (User* user : before) {
    erase_all(*user);
    const bool waits = std::ranges::any_of(
        user->sessions, [&](const Session* session) { return std::ranges::any_of(session->pending, of_it); });
    if (!waits && std::ranges::none_of(user->recent, of_it)) drop_holder(*user, notice.conversation);
  }
}

void Delivery::note_holder(User& user, const ConversationId& id) {
  if (holders_[id].insert(&user).second) user.held.push_back(id);
}

void Delivery::drop_holder(User& user, const ConversationId& id) {
  const auto holders = holders_.find(id);
  holders->second.erase(&user);
  if (holders->second.empty()) holders_.erase(holders);
  std::erase(user.held, ConversationId(id));
}

// ---------------------------------------------------------------------------------------------- large groups

void Delivery::follow(User& user, const ConversationId& id, bool large) {
  const bool known = std::ranges::find(user.large, id) != user.large.end();
  if (known == large) return;
  if (!large) {
    std::erase(user.large, id);
    Group& group = groups_[id];
    group.users.erase(&user);
    std::erase_if(group.open, [&](const Session* session) { return session->user == &user; });
    if (group.users.empty()) groups_.erase(id);
    return;
  }
  user.large.push_back(id);
  Group& group = groups_[id];
  group.users.insert(&user);
  for (Session* session : user.sessions)
    if (std::ranges::find(session->open, id) != session->open.end()) group.open.push_back(session);
}

void Delivery::close_all(Session& session) {
  for (const ConversationId& id : session.open)
    if (const auto group = groups_.find(id); group != groups_.end()) {
      std::erase(group->second.open, &session);
      if (!session.pending.empty()) note_holder(*session.user, id);
    }
  session.open.clear();
}

void Delivery::focus(SessionId id, std::vector<ConversationId> open) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = *found->second;
  close_all(session);
  session.open = std::move(open);
  for (const ConversationId& conversation : session.open)
    if (std::ranges::find(session.user->large, conversation) != session.user->large.end())
      groups_[conversation].open.push_back(&session);
}

void Delivery::foreground(SessionId id, bool on) {
  if (const auto found = sessions_.find(id); found != sessions_.end()) found->second->foreground = on;
}

bool Delivery::in_large_groups(SessionId id) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && !found->second->user->large.empty();
}

std::vector<Delivery::Session*> Delivery::told_besides(const Notice& notice) {
  std::vector<Session*> told;
  if (!notice.large) return told;
  const auto received = [&](const User& user) {
    return std::ranges::find(notice.receivers, user.id, &Receiver::user) != notice.receivers.end();
  };
  if (const auto group = groups_.find(notice.conversation); group != groups_.end())
    for (Session* session : group->second.open)
      if (!received(*session->user)) told.push_back(session);
  // What its sender's other devices do not have open they are told at once all the same.
  if (const auto sender = users_.find(notice.entry->sender); sender != users_.end() && !received(*sender->second))
    for (Session* session : sender->second->sessions)
      if (std::ranges::find(told, session) == told.end()) told.push_back(session);
  return told;
}

void Delivery::tell_open(const Notice& notice, const std::shared_ptr<SharedEntry>& shared,
                         std::vector<SessionId>& offered) {
  PushItem item;
  item.conversation = notice.conversation;
  item.entry = shared->entry;
  PushRef others;
  others.shared = shared;
  others.size_bytes = size_of(shared->entry.get());
  PushRef own = others;
  item.mentioned = notice.entry->mention_all;
  others.item = share(item);
  item.mentioned = false;
  item.client_msg_id = notice.entry->client_msg_id;
  own.item = share(std::move(item));
  for (Session* session : told_besides(notice)) {
    const bool sends = session->user->id == notice.entry->sender;
    if (sends) note_holder(*session->user, notice.conversation);
    offer_entry(*session, sends ? own : others);
    if (!session->pending.empty() && (offered.empty() || offered.back() != session->id)) offered.push_back(session->id);
  }
  if (const auto group = groups_.find(notice.conversation); group != groups_.end()) {
    group->second.head = notice.entry->seq;
    group->second.changed = true;
  }
}

void Delivery::offer_entry(Session& session, const PushRef& ref) {
  if (!session.armed) {
    session.missed = true;
    return;
  }
  session.pending.push_back(ref);
  session.pending_bytes += ref.size_bytes;
}

/// At most once a second; its cost depends on who is here, not on how much was said.
void Delivery::tell_heads() {
  std::map<SessionId, std::vector<KnownHead>> notices;
  for (auto& [id, group] : groups_) {
    const bool changed = std::exchange(group.changed, false);
    for (const User* user : group.users)
      for (const Session* session : user->sessions) {
        const bool open = std::ranges::find(session->open, id) != session->open.end();
        if (!session->foreground || !(open ? session->missed : changed) || !group.head) continue;
        std::vector<KnownHead>& notice = notices[session->id];
        if (notice.size() < options_.heads_entries) notice.push_back({id, group.head});
      }
  }
  const auto seconds = static_cast<std::int64_t>(notices.size() / options_.asking_per_second);
  const std::int64_t spread_ms = std::min(options_.spread_max_ms, seconds * 1'000);
  for (const auto& [id, notice] : notices) {
    // What it does not take now it learns at its heartbeat.
    if (port_.blocked(id)) continue;
    sessions_.at(id)->missed = false;
    port_.heads(id, notice, spread_ms);
  }
}

// ------------------------------------------------------------------------------------------------- one session

void Delivery::moved(User& user, Mark head) {
  if (head <= user.head) return;  // a login told of it before
  user.head = head;
  user.recent.clear();
  user.recent_bytes = 0;
  for (Session* session : user.sessions) hint(*session);
}

void Delivery::remember(User& user, const PushRef& ref) {
  if (ref.item->index_to <= user.head) return;  // a login told of it before
  if (ref.item->index_after != user.head) {
    user.recent.clear();
    user.recent_bytes = 0;
  }
  user.head = ref.item->index_to;
  user.recent.push_back(ref);
  user.recent_bytes += ref.size_bytes;
  while (user.recent.size() > options_.push_entries || user.recent_bytes > options_.push_bytes) {
    user.recent_bytes -= user.recent.front().size_bytes;
    user.recent.pop_front();
  }
}

std::optional<std::vector<PushRef>> Delivery::recent_after(const User& user, Mark after) const {
  std::vector<PushRef> items;
  if (after >= user.head) return items;
  const auto from = std::ranges::find(user.recent, after, [](const PushRef& ref) { return ref.item->index_after; });
  if (from == user.recent.end()) return std::nullopt;
  items.assign(from, user.recent.end());
  return items;
}

void Delivery::offer(Session& session, const PushRef& ref) {
  if (!session.armed) return;
  if (ref.item->index_after != session.position) {
    if (ref.item->index_to > session.position) hint(session);
    return;
  }
  session.position = ref.item->index_to;
  session.pending.push_back(ref);
  session.pending_bytes += ref.size_bytes;
}

void Delivery::flush(Session& session, std::int64_t now_ms) {
  if (session.pending.empty()) return;
  if (port_.blocked(session.id)) {
    // The socket takes nothing: a full queue becomes one hint, and the device pulls.
    if (planted(Fault::queue_without_bound)) return;
    if (planted(Fault::cursor_over_dropped)) return keep_last(session.pending, session.pending_bytes);
    if (session.pending.size() >= options_.push_entries || session.pending_bytes >= options_.push_bytes) hint(session);
    return;
  }
  const bool low_waits = session.low_since_ms == 0 || now_ms - session.low_since_ms < options_.low_wait_ms;
  session.low_since_ms = 0;
  const bool expects_ack = session.position > std::max(session.acknowledged, session.unacknowledged_from);
  if (expects_ack && session.waiting_since_ms == 0) session.waiting_since_ms = now_ms;
  const std::vector<PushRef> items = std::move(session.pending);
  session.pending.clear();
  session.pending_bytes = 0;
  const std::size_t begun = push_ordered(session, items, low_waits);
  if (begun == items.size()) return;
  const auto left = std::span(items).subspan(begun);
  const auto next = std::ranges::find_if(left, [](const PushRef& ref) { return bool(ref.item->index_to); });
  if (next != left.end()) session.position = next->item->index_after;
  hint(session);
}

std::size_t Delivery::push_ordered(Session& session, const std::vector<PushRef>& items, bool low_waits) {
  const PushBudget budget{options_.push_entries, options_.push_bytes, low_waits};
  if (any_priority(items)) {
    const PushOrder order = ordered(items, budget);
    for (const auto* part : {&order.first, &order.rest})
      if (!part->empty()) push(session, *part);
    session.missed = session.missed || order.left_entries;
    return order.begun;
  }
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < items.size() && count < budget.entries; ++count) {
    bytes += items[count].size_bytes;
    if (bytes > budget.bytes && count > 0) break;
  }
  push(session, std::span(items).first(count));
  const auto left = std::span(items).subspan(count);
  session.missed = session.missed || std::ranges::any_of(left, [](const PushRef& ref) { return !ref.item->index_to; });
  return count;
}

void Delivery::push(const Session& session, std::span<const PushRef> items) {
  pushed_ += items.size();
  port_.push(session.id, items);
}

bool Delivery::waits_for_company(Session& session, std::int64_t now_ms) const {
  if (!all_low(session.pending) || session.pending.size() >= options_.push_entries ||
      session.pending_bytes >= options_.push_bytes)
    return false;
  if (session.low_since_ms == 0) session.low_since_ms = now_ms;
  return now_ms - session.low_since_ms < options_.low_wait_ms;
}

/// Messages of low priority that nothing else came to take along.
void Delivery::flush_low(std::int64_t now_ms) {
  constexpr std::int64_t kTickMs = 1'000;
  for (const auto& [id, session] : sessions_) {
    if (session->low_since_ms == 0 || session->pending.empty()) continue;
    if (!busy_ || now_ms - session->low_since_ms + kTickMs > options_.low_wait_ms) flush(*session, now_ms);
  }
}

void Delivery::disarm(Session& session) {
  session.armed = false;
  for (const PushRef& ref : session.pending) session.missed = session.missed || !ref.item->index_to;
  session.pending.clear();
  session.pending.shrink_to_fit();
  session.pending_bytes = 0;
  session.waiting_since_ms = 0;
  session.pushed_again = 0;
  session.low_since_ms = 0;
  session.ahead.clear();
}

void Delivery::hint(Session& session) {
  disarm(session);
  port_.hint(session.id, session.user->head);
}

std::uint64_t Delivery::round_at(const Session& session, Mark mark) const {
  // Beside pushes a mark says no more than where a descent has ended, and what moved above it meanwhile was on no page.
  if (!session.armed || mark < session.answered) return 0;
  const std::uint64_t answered = mark == session.answered ? session.answered_round : 0;
  const auto& recent = session.user->recent;
  const auto pushed = std::ranges::find(recent, mark, [](const PushRef& ref) { return ref.item->index_to; });
  if (pushed == recent.end()) return answered;
  // An item names the round before its own, which may have more. A round is published as a whole: what comes behind its
  // last change is of a later one, or not there yet.
  const auto next =
      std::find_if(std::next(pushed), recent.end(), [](const PushRef& ref) { return ref.item->index_to; });
  const bool last = next == recent.end() ? mark == session.user->head : next->item->round > pushed->item->round;
  return std::max(answered, pushed->item->round + (last ? 1 : 0));
}

void Delivery::acknowledge(SessionId id, Mark mark, std::int64_t now_ms, std::uint64_t round) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = *found->second;
  const Mark taken = std::min(mark, session.user->head);
  if (mark <= session.user->head)
    session.acknowledged_round = std::max({session.acknowledged_round, round, round_at(session, mark)});
  if (taken <= session.acknowledged) return;
  session.acknowledged = taken;
  session.pushed_again = 0;
  session.waiting_since_ms = session.armed && session.acknowledged < session.position ? now_ms : 0;
}

void Delivery::acknowledge_ahead(SessionId id, std::vector<KnownHead> entries) {
  constexpr std::size_t kMost = 16;
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  if (entries.size() > kMost) entries.resize(kMost);
  found->second->ahead = std::move(entries);
}

void Delivery::pulling(SessionId id) {
  if (const auto found = sessions_.find(id); found != sessions_.end()) disarm(*found->second);
}

void Delivery::answered(SessionId id, Mark to, bool complete, std::int64_t now_ms, std::uint64_t round) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || !complete) return;
  Session& session = *found->second;
  auto missed = recent_after(*session.user, to);
  if (!missed) return hint(session);
  session.armed = true;
  session.position = to;
  session.answered = to;
  session.answered_round = round;
  session.unacknowledged_from = to;
  session.waiting_since_ms = 0;
  for (const PushRef& ref : *missed) offer(session, ref);
  flush(session, now_ms);
}

void Delivery::unblocked(SessionId id, std::int64_t now_ms) {
  if (const auto found = sessions_.find(id); found != sessions_.end()) flush(*found->second, now_ms);
}

void Delivery::push_again(Session& session, std::int64_t now_ms) {
  const Mark from = std::max(session.acknowledged, session.unacknowledged_from);
  auto items = recent_after(*session.user, from);
  if (!items || items->empty()) return hint(session);
  ++session.pushed_again;
  session.waiting_since_ms = now_ms;
  for (const PushRef& ref : session.pending) session.missed = session.missed || !ref.item->index_to;
  session.pending.clear();
  session.pending_bytes = 0;
  for (PushRef& ref : *items)
    if (ref.shared && std::ranges::find(session.ahead, KnownHead{ref.item->conversation, ref.shared->entry->seq}) !=
                          session.ahead.end())
      ref = index_part(std::move(ref));
  push(session, *items);
}

void Delivery::tick(std::int64_t now_ms) {
  std::vector<SessionId> ended;
  for (const auto& [id, session] : sessions_) {
    const bool waits = session->armed && session->waiting_since_ms != 0 &&
                       session->position > std::max(session->acknowledged, session->unacknowledged_from);
    if (!waits || now_ms - session->waiting_since_ms < options_.again_ms) continue;
    if (session->pushed_again >= options_.again_max)
      ended.push_back(id);
    else
      push_again(*session, now_ms);
  }
  for (const SessionId id : ended) {
    detach(id, now_ms);
    port_.end(id, LinkEnd::unacknowledged);
  }
  busy_ = std::exchange(pushed_, 0) >= options_.busy_pushes_per_second;
  flush_low(now_ms);
  tell_heads();
  std::erase_if(users_, [&](const auto& each) {
    User& user = *each.second;
    if (!user.sessions.empty() || now_ms - user.idle_since_ms < options_.linger_ms) return false;
    while (!user.large.empty()) follow(user, ConversationId(user.large.back()), false);
    while (!user.held.empty()) drop_holder(user, ConversationId(user.held.back()));
    return true;
  });
}

std::optional<Mark> Delivery::head_of(SessionId id) const {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return std::nullopt;
  return found->second->user->head;
}

bool Delivery::waiting(SessionId id) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && !found->second->pending.empty();
}

Mark Delivery::acknowledged(SessionId id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? Mark() : found->second->acknowledged;
}

std::uint64_t Delivery::acknowledged_round(SessionId id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? 0 : found->second->acknowledged_round;
}

}  // namespace tidemark
