// A small world for the tests of reading: it commits messages, joins and reads to a TestView by the plain words of the
// design, and notes apart from all rules who has seen what, so that there is something to compare with.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/conversation_id.h"
#include "core/reads.h"
#include "core/test_view.h"
#include "core/unread.h"

namespace tidemark {

class ReadsWorld {
 public:
  TestView view;
  CoreParams params;

  /// Commits after this one belong to a new round.
  void next_round() { view.set_round(++round_); }
  std::uint64_t round() const { return round_; }

  ConversationId single(const UserId& a, const UserId& b) {
    const ConversationId id = single_conversation(a, b);
    if (view.conversation(id)) return id;
    Conversation made{id, ConversationKind::single, "", {{a, Role::member, Seq()}}};
    if (a != b) made.members.push_back({b, Role::member, Seq()});
    for (const Member& member : made.members) {
      UserConversation row = row_of(member.user, id);
      row.periods = {{Seq(), Seq(), Seq(1)}};
      view.put_row(member.user, row);
    }
    view.put(made);
    return id;
  }

  ConversationId group(const std::vector<UserId>& users) {
    const ConversationId id = group_conversation(++groups_);
    view.put({id, ConversationKind::group, "Group " + std::to_string(groups_), {}});
    for (const UserId& user : users) join(id, user);
    return id;
  }

  Seq send(const ConversationId& id, const UserId& sender, const std::string& text = "hello",
           std::int64_t server_time = 0) {
    Entry entry;
    entry.sender = sender;
    entry.sender_device = DeviceId("d1");
    entry.client_msg_id = "m" + std::to_string(++sent_);
    entry.body.text = text;
    entry.server_time = server_time;
    const Seq seq = view.append(id, entry);
    for (const Member& member : view.conversation(id)->members) {
      UserConversation row = row_of(member.user, id);
      if (member.user == sender) ++row.own;
      touch_head(member.user, row, seq);
      seen_[{member.user, id}].insert(seq);
    }
    return seq;
  }

  /// An entry that is no message: it touches the state of all who are in.
  Seq rename(const ConversationId& id, const std::string& title) {
    Conversation group = *view.conversation(id);
    group.title = title;
    view.put(group);
    Entry entry;
    entry.kind = EntryKind::config;
    entry.sender = UserId("admin");
    entry.config = ConfigChange{title};
    const Seq seq = view.append(id, entry);
    tell_state(id, seq);
    return seq;
  }

  /// 0 for visible_from: from the join on.
  Seq join(const ConversationId& id, const UserId& user, Seq visible_from = Seq()) {
    Conversation group = *view.conversation(id);
    const Seq at = view.line(id).seq + 1;
    if (!visible_from || visible_from > at) visible_from = at;
    tell_state(id, view.append(id, member_entry(MemberAction::joined, user)));
    group.members.push_back({user, Role::member, at});
    view.put(group);
    UserConversation row = row_of(user, id);
    row.periods.push_back({at, Seq(), visible_from});
    settle_floor(view, user, view.line(id), row);
    const Mark mark = touch_head(user, row, at);
    row = row_of(user, id);
    row.state_mark = mark;
    view.put_row(user, row);
    for (Seq seq = visible_from; seq <= at; seq = seq + 1)
      if (seq > row.cleared) seen_[{user, id}].insert(seq);
    return at;
  }

  Seq leave(const ConversationId& id, const UserId& user) {
    const Seq at = view.append(id, member_entry(MemberAction::left, user));
    tell_state(id, at);
    Conversation group = *view.conversation(id);
    std::erase_if(group.members, [&](const Member& member) { return member.user == user; });
    view.put(group);
    UserConversation row = row_of(user, id);
    row.periods.back().leave = at;
    view.put_row(user, row);
    return at;
  }

  void read(const UserId& user, const ConversationId& id, Seq seq) {
    UserConversation row = row_of(user, id);
    row.read = std::max(row.read, std::min(seq, row.head_seq));
    settle_floor(view, user, view.line(id), row);
    touch_state(user, row);
  }

  void clear(const UserId& user, const ConversationId& id, Seq seq) {
    UserConversation row = row_of(user, id);
    row.cleared = std::max(row.cleared, std::min(seq, row.head_seq));
    settle_floor(view, user, view.line(id), row);
    touch_state(user, row);
    std::erase_if(seen_[{user, id}], [&](Seq seen) { return seen <= row.cleared; });
  }

  void set(const UserId& user, const std::string& name, const std::string& value) {
    const Mark mark = touch(user);
    view.put_object(user, {Setting{name, value}, mark});
    UserHead head = view.user(user);
    head.object_mark = mark;
    view.put_user(user, head);
  }

  /// Its author takes a message back: an entry of its own, which all who are in receive.
  Seq recall(const ConversationId& id, Seq seq) {
    Entry row = *view.entry(id, seq);
    row.state = MessageState::recalled;
    row.body = Body();
    return change(id, EntryKind::recall, row);
  }

  Seq edit(const ConversationId& id, Seq seq, const std::string& text) {
    Entry row = *view.entry(id, seq);
    row.state = MessageState::edited;
    row.revision = view.line(id).seq + 1;
    row.body.text = text;
    return change(id, EntryKind::edit, row);
  }

  /// What the user may see of a conversation, by what happened.
  const std::set<Seq>& seen(const UserId& user, const ConversationId& id) { return seen_[{user, id}]; }
  const std::map<std::pair<UserId, ConversationId>, std::set<Seq>>& all_seen() const { return seen_; }

  UserConversation row_of(const UserId& user, const ConversationId& id) {
    if (const UserConversation* row = view.user_conversation(user, id)) return *row;
    UserConversation row;
    row.conversation = id;
    return row;
  }
  Mark head_of(const UserId& user) { return view.user(user).mark; }
  Cursor cursor_of(const UserId& user) { return {view.epoch(), head_of(user), round_}; }

 private:
  Seq change(const ConversationId& id, EntryKind kind, Entry row) {
    Entry entry;
    entry.kind = kind;
    entry.sender = row.sender;
    entry.target = row.seq;
    entry.target_sender = row.sender;
    const Seq seq = view.append(id, entry);
    const Seq touched_before = std::exchange(row.touched_by, seq);
    view.put_changed(id, row, touched_before);
    for (const Member& member : view.conversation(id)->members) {
      UserConversation mine = row_of(member.user, id);
      mine.touch_seq = seq;
      view.put_row(member.user, mine);
    }
    tell_state(id, seq);
    return seq;
  }

  static Entry member_entry(MemberAction action, const UserId& user) {
    Entry entry;
    entry.kind = EntryKind::member;
    entry.sender = user;
    entry.member = MemberChange{action, {user}, Role::member, Seq()};
    return entry;
  }

  Mark touch(const UserId& user) {
    UserHead head = view.user(user);
    head.created_at = 1;
    head.mark = head.mark + 1;
    view.put_user(user, head);
    return head.mark;
  }

  Mark touch_head(const UserId& user, UserConversation row, Seq seq) {
    row.head_mark = touch(user);
    row.head_seq = seq;
    row.top = view.line(row.conversation).top;
    UserHead head = view.user(user);
    row.sort_time = head.sort_time = std::max(view.line(row.conversation).server_time, head.sort_time + 1);
    view.put_user(user, head);
    view.put_row(user, row);
    return row.head_mark;
  }

  void touch_state(const UserId& user, UserConversation row) {
    row.state_mark = touch(user);
    view.put_row(user, row);
  }

  void tell_state(const ConversationId& id, Seq seq) {
    for (const Member& member : view.conversation(id)->members) {
      UserConversation row = row_of(member.user, id);
      row.head_seq = seq;
      row.top = view.line(id).top;
      touch_state(member.user, row);
      seen_[{member.user, id}].insert(seq);
    }
  }

  std::uint64_t round_ = 1;
  std::uint64_t groups_ = 5000;
  std::uint64_t sent_ = 0;
  std::map<std::pair<UserId, ConversationId>, std::set<Seq>> seen_;
};

inline std::vector<Seq> seqs_of(const std::vector<Entry>& rows) {
  std::vector<Seq> seqs;
  for (const Entry& row : rows) seqs.push_back(row.seq);
  return seqs;
}

/// The seqs first, first + 1 ... last.
inline std::vector<Seq> seqs(std::uint64_t first, std::uint64_t last) {
  std::vector<Seq> all;
  for (std::uint64_t seq = first; seq <= last; ++seq) all.push_back(Seq(seq));
  return all;
}

inline void PrintTo(const Seq& seq, std::ostream* out) {
  *out << "#" << seq.value;
}
inline void PrintTo(const Mark& mark, std::ostream* out) {
  *out << "u" << mark.value;
}

}  // namespace tidemark
