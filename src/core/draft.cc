#include "core/draft.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "core/body.h"
#include "core/large_group.h"
#include "core/reads.h"

namespace tidemark {

Draft::DraftedUser& Draft::drafted(const UserId& user) {
  if (DraftedUser* known = find_user(user)) return *known;
  DraftedUser& made = users_.emplace_back();
  made.id = user;
  made.head = base_.user(user);
  // Also of who is new here: a restore may have taken back that he was known before.
  if (!made.head.exists()) made.head.created_at = std::max<std::int64_t>(context_.now_ms, 1);
  made.before = made.head.mark;
  if (users_.size() == kFewUsers + 1)
    for (DraftedUser& each : users_) user_index_.emplace(each.id, &each);
  else if (users_.size() > kFewUsers)
    user_index_.emplace(user, &made);
  return made;
}

Draft::DraftedUser* Draft::find_user(const UserId& user) {
  if (users_.size() > kFewUsers) {
    const auto found = user_index_.find(user);
    return found == user_index_.end() ? nullptr : found->second;
  }
  const auto found = std::ranges::find(users_, user, &DraftedUser::id);
  return found == users_.end() ? nullptr : &*found;
}

UserConversation* Draft::find_row(DraftedUser& user, const ConversationId& id) {
  for (UserConversation& row : user.rows)
    if (row.conversation == id) return &row;
  return nullptr;
}

UserHead& Draft::edit_user(const UserId& user) {
  return drafted(user).head;
}

UserConversation& Draft::edit_row(const UserId& user, const ConversationId& id) {
  DraftedUser& owner = drafted(user);
  if (UserConversation* row = find_row(owner, id)) {
    complete(*this, *row);
    return *row;
  }
  if (const UserConversation* stored = base_.user_conversation(user, id)) return owner.rows.emplace_back(*stored);
  UserConversation& row = owner.rows.emplace_back();
  row.conversation = id;
  return row;
}

Conversation& Draft::edit_conversation(const ConversationId& id) {
  for (Conversation& made : conversations_)
    if (made.id == id) return made;
  Conversation& made = conversations_.emplace_back();
  if (const Conversation* stored = base_.conversation(id)) made = *stored;
  made.id = id;
  return made;
}

UserObject& Draft::edit_object(const UserId& user, UserObject what) {
  DraftedUser& owner = drafted(user);
  std::string name = name_of(what);
  if (const auto made = owner.objects.find(name); made != owner.objects.end()) return made->second;
  if (auto stored = base_.object(user, name)) what = std::move(*stored);
  return owner.objects.emplace(std::move(name), std::move(what)).first->second;
}

std::shared_ptr<const Entry> Draft::append(const ConversationId& id, Entry entry, std::optional<std::int64_t> at) {
  const LineHead head = line(id);
  entry.seq = Seq(next_number(head.seq.value, head.epoch, epoch().number));
  entry.ord = head.ord + (entry.countable() ? 1 : 0);
  entry.top = entry.countable() ? entry.seq : head.top;
  entry.server_time = std::max(head.server_time, at.value_or(context_.now_ms));
  entry.top_time = entry.countable() ? entry.server_time : head.top_time;
  entry.touch = entry.target ? entry.seq : head.touch;
  entry.epoch = epoch().number;
  entry.round = round();
  TM_CHECK(entry.seq > head.seq || base_.failure(), "a log only grows");
  if (head.epoch != entry.epoch) edit_conversation(id).jumps.push_back({entry.epoch, head.seq, entry.seq});
  auto stored = std::make_shared<const Entry>(std::move(entry));
  // Of what comes from elsewhere nobody is told what went long ago.
  if (stored->countable()) note_files(id, *stored, Body(), at ? context_.now_ms : 0);
  writes_.entries.emplace_back(id, stored);
  return stored;
}

/// When files of a message expire, behind `after`, that its body did not have before.
void Draft::note_files(const ConversationId& id, const Entry& message, const Body& before, std::int64_t after) {
  for (const std::int64_t at : expiries_in(message.body))
    if (at > after && !has_expiry(before, at)) writes_.file_expiries.push_back({at, id, message.seq});
}

void Draft::change(const ConversationId& id, Entry row, Seq by, Seq touched_before) {
  TM_CHECK(find_changed(id, row.seq) == nullptr, "a decision changes a row once");
  TM_CHECK(by > row.touched_by || base_.failure(), "a row's last touch only moves up");
  row.touched_by = by;
  if (!row.body.attachments.empty()) {
    const auto before = entry(id, row.seq);
    note_files(id, row, before ? before->body : Body(), 0);
  }
  writes_.changed.push_back({id, std::make_shared<const Entry>(std::move(row)), touched_before});
}

Mark Draft::touch(const UserId& user) {
  DraftedUser& owner = drafted(user);
  const std::size_t step = writes_.entries.size() + 1;
  if (owner.step != step) {
    owner.before = owner.head.mark;
    owner.head.mark = Mark(next_number(owner.head.mark.value, owner.head.epoch, epoch().number));
    owner.head.epoch = epoch().number;
    owner.step = step;
  }
  TM_CHECK(owner.head.mark > owner.before || base_.failure(), "an index only grows");
  return owner.head.mark;
}

Receiver Draft::touch_head(const UserId& user, const ConversationId& id, const Entry& entry) {
  const Mark mark = touch(user);
  DraftedUser& owner = drafted(user);
  UserConversation& row = edit_row(user, id);
  row.head_mark = mark;
  row.head_seq = entry.seq;
  row.top = entry.top;
  if (row.removed) {
    row.removed = false;
    row.state_mark = mark;
    // What came meanwhile was told to nobody: it lies below what brings the conversation back.
    if (entry.countable()) row.cleared = std::max(row.cleared, entry.seq - 1);
    for (const Period& period : row.periods) row.cleared = std::max(row.cleared, period.leave);
  }
  if (row.large) {
    row.sort_time = entry.server_time;
  } else {
    row.sort_time = std::max(entry.server_time, owner.head.sort_time + 1);
    owner.head.sort_time = row.sort_time;
  }
  return {user, owner.before, mark, row.sort_time, false, nullptr};
}

Receiver Draft::touch_state(const UserId& user, const ConversationId& id, const Entry* entry) {
  UserConversation& row = edit_row(user, id);
  if (entry != nullptr) {
    row.head_seq = entry->seq;
    row.top = entry->top;
    if (row.removed) return {user, Mark(), Mark(), 0, false, nullptr};
  }
  const Mark mark = touch(user);
  row.state_mark = mark;
  return {user, drafted(user).before, mark, row.sort_time, false, nullptr};
}

void Draft::add_summary(Receiver& receiver, const ConversationId& id) {
  if (!receiver.to) return;
  receiver.summary =
      std::make_shared<const Change>(change_of(*this, context_.params, receiver.user, edit_row(receiver.user, id)));
}

void Draft::set_large(const UserId& user, const ConversationId& id, bool large) {
  UserConversation& row = edit_row(user, id);
  if (std::exchange(row.large, large) == large) return;
  UserHead& head = edit_user(user);
  head.large_groups = large ? head.large_groups + 1 : std::max(head.large_groups, 1U) - 1;
  auto& all = writes_.large_groups;
  std::erase_if(all, [&](const auto& each) { return each.user == user && each.conversation == id; });
  all.push_back({user, id, large});
}

void Draft::put_large_member(const ConversationId& id, const Member& member, bool in) {
  auto& all = writes_.large_members;
  std::erase_if(all, [&](const auto& each) { return each.conversation == id && each.member.user == member.user; });
  all.push_back({id, member, in});
}

void Draft::members(const ConversationId& id, const Member& after, const std::function<bool(const Member&)>& visit) {
  std::map<UserId, const Writes::LargeMember*> drafted;
  for (const Writes::LargeMember& each : writes_.large_members)
    if (each.conversation == id) drafted[each.member.user] = &each;
  const auto place = [](const Member& member) { return std::tie(member.join, member.user); };
  std::vector<Member> made;
  for (const auto& [user, each] : drafted)
    if (each->in && place(each->member) > place(after)) made.push_back(each->member);
  std::ranges::sort(made, {}, place);
  auto next = made.begin();
  bool going = true;
  base_.members(id, after, [&](const Member& stored) {
    for (; going && next != made.end() && place(*next) < place(stored); ++next) going = visit(*next);
    return going && (drafted.contains(stored.user) || (going = visit(stored)));
  });
  for (; going && next != made.end(); ++next) going = visit(*next);
}

Receiver Draft::touch_objects(const UserId& user) {
  const Mark mark = touch(user);
  DraftedUser& owner = drafted(user);
  owner.head.object_mark = mark;
  owner.objects_touched = true;
  auto told = std::make_shared<std::vector<UserObject>>();
  for (auto& [name, object] : owner.objects) {
    object.mark = mark;
    if (object.empty()) bury(user, name, mark);
    told->push_back(object);
  }
  return {user, owner.before, mark, 0, false, nullptr, std::move(told)};
}

void Draft::bury(const UserId& user, std::string name, Mark mark) {
  writes_.tombstones.push_back({static_cast<std::uint32_t>(context_.now_ms / kHourMs), user, std::move(name), mark});
}

Decision Draft::finish(Reply reply, std::vector<Notice> notices) && {
  for (Notice& notice : notices) std::erase_if(notice.receivers, [](const Receiver& told) { return !told.to; });
  for (Conversation& made : conversations_) writes_.conversations.push_back(std::move(made));
  for (DraftedUser& user : users_) {
    for (UserConversation& row : user.rows) {
      // What was drafted on a read that failed is thrown away by decide().
      TM_CHECK(row.mark() <= user.head.mark || base_.failure(), "an index row leads its index");
      writes_.rows.push_back({user.id, std::move(row)});
    }
    if (user.objects_touched)
      for (auto& [name, object] : user.objects) writes_.objects.emplace_back(user.id, std::move(object));
    writes_.users.emplace_back(user.id, std::move(user.head));
  }
  return {std::move(reply), std::move(writes_), std::move(notices)};
}

const Conversation* Draft::conversation(const ConversationId& id) {
  for (const Conversation& made : conversations_)
    if (made.id == id) return &made;
  return base_.conversation(id);
}

LineHead Draft::line(const ConversationId& id) {
  for (auto made = writes_.entries.rbegin(); made != writes_.entries.rend(); ++made)
    if (made->first == id) return head_after(*made->second);
  return base_.line(id);
}

const Writes::ChangedRow* Draft::find_changed(const ConversationId& id, Seq seq) const {
  for (const Writes::ChangedRow& changed : writes_.changed)
    if (changed.conversation == id && changed.row->seq == seq) return &changed;
  return nullptr;
}

std::optional<Entry> Draft::entry(const ConversationId& id, Seq seq) {
  if (const Writes::ChangedRow* changed = find_changed(id, seq)) return *changed->row;
  for (const auto& [conversation, made] : writes_.entries)
    if (conversation == id && made->seq == seq) return *made;
  return base_.entry(id, seq);
}

void Draft::entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                    const std::function<bool(const Entry&)>& visit) {
  std::vector<std::shared_ptr<const Entry>> made;
  for (const auto& [conversation, entry] : writes_.entries)
    if (conversation == id && entry->seq > after && entry->seq <= to) made.push_back(entry);
  bool going = true;
  const auto visit_made = [&] {
    if (direction == Direction::down) std::reverse(made.begin(), made.end());
    for (const auto& entry : made)
      if (going) going = visit(*entry);
  };
  // What is drafted lies above everything stored.
  if (direction == Direction::down) visit_made();
  if (going)
    base_.entries(id, after, to, direction, [&](const Entry& entry) {
      const Writes::ChangedRow* changed = find_changed(id, entry.seq);
      return going = visit(changed ? *changed->row : entry);
    });
  if (going && direction == Direction::up) visit_made();
}

void Draft::touches(const ConversationId& id, Seq after, Seq to, Direction direction,
                    const std::function<bool(Seq, Seq)>& visit) {
  bool going = true;
  const auto visit_made = [&] {
    for (const Writes::ChangedRow& made : writes_.changed) {
      const Seq seq = made.row->touched_by;
      if (going && made.conversation == id && seq > after && seq <= to) going = visit(seq, made.row->seq);
    }
  };
  if (direction == Direction::down) visit_made();
  if (going)
    base_.touches(id, after, to, direction, [&](Seq seq, Seq target) {
      const Writes::ChangedRow* changed = find_changed(id, target);
      return (changed != nullptr && changed->touched_before == seq) || (going = visit(seq, target));
    });
  if (going && direction == Direction::up) visit_made();
}

void Draft::set_reactions(const ConversationId& id, Seq seq, const UserId& user, std::vector<std::string> names) {
  writes_.reactions.push_back({id, seq, user, std::move(names)});
}

std::vector<std::string> Draft::reactions_of(const ConversationId& id, Seq seq, const UserId& user) {
  for (const Writes::ReactionRow& made : writes_.reactions)
    if (made.conversation == id && made.seq == seq && made.user == user) return made.names;
  return base_.reactions_of(id, seq, user);
}

UserHead Draft::user(const UserId& user) {
  const DraftedUser* owner = find_user(user);
  return owner ? owner->head : base_.user(user);
}

const UserConversation* Draft::user_conversation(const UserId& user, const ConversationId& id) {
  if (DraftedUser* owner = find_user(user))
    if (UserConversation* row = find_row(*owner, id)) {
      complete(*this, *row);
      return row;
    }
  return base_.user_conversation(user, id);
}

std::optional<UserObject> Draft::object(const UserId& user, const std::string& name) {
  if (const DraftedUser* owner = find_user(user))
    if (const auto made = owner->objects.find(name); made != owner->objects.end()) return made->second;
  return base_.object(user, name);
}

void Draft::objects(const UserId& user, const std::string& from, const std::string& to,
                    const std::function<bool(const UserObject&)>& visit) {
  static const std::map<std::string, UserObject> none;
  const DraftedUser* owner = find_user(user);
  const auto& drafted = owner != nullptr ? owner->objects : none;
  auto next = drafted.lower_bound(from);
  bool going = true;
  const auto visit_drafted_before = [&](const std::string& name) {
    for (; going && next != drafted.end() && next->first < name; ++next) going = visit(next->second);
  };
  base_.objects(user, from, to, [&](const UserObject& stored) {
    const std::string name = name_of(stored);
    visit_drafted_before(name);
    if (going && (next == drafted.end() || next->first != name)) going = visit(stored);
    return going;
  });
  visit_drafted_before(to);
}

}  // namespace tidemark
