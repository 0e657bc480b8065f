// What stands beside the logs themselves: touches, what conversations are, who left, the memory of sends.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/codec.h"
#include "sim/index_judge.h"
#include "sim/stored_rows.h"
#include "store/keys.h"

namespace tidemark::sim {
namespace {

void sort_members(Conversation& conversation) {
  std::ranges::sort(conversation.members, {}, [](const Member& member) { return std::tie(member.join, member.user); });
}

void take_config(Conversation& told, const ConfigChange& change, Seq seq) {
  if (!change.title.empty()) told.title = change.title;
  told.policy = change.policy.value_or(told.policy);
  told.data = change.data.value_or(told.data);
  told.large = change.large.value_or(told.large);
  if (!change.dissolved) return;
  told.dissolved = seq;
  told.mutes.clear();
}

void take_member(Conversation& told, const Entry& entry) {
  const auto unmute = [&](const UserId& user) {
    std::erase_if(told.mutes, [&](const Mute& mute) { return mute.user == user; });
  };
  for (const UserId& user : entry.member->users) {
    const auto member = std::ranges::find(told.members, user, &Member::user);
    const bool in = member != told.members.end();
    switch (entry.member->action) {
      case MemberAction::joined:
        told.members.push_back(
            {user, told.members.empty() && user == entry.sender ? Role::owner : Role::member, entry.seq});
        break;
      case MemberAction::left:
      case MemberAction::removed:
        if (in) told.members.erase(member);
        break;
      case MemberAction::role:
        if (in) member->role = entry.member->role;
        if (entry.member->role == Role::owner) unmute(user);
        break;
      case MemberAction::muted:
        unmute(user);
        if (entry.member->muted_until != 0) told.mutes.push_back({user, entry.member->muted_until});
        break;
    }
  }
}

/// The conversation as its log tells; what it was made with and no entry has changed is taken as it is stored.
Conversation told_by(const LogBook::Log& log, Conversation stored) {
  Conversation told = std::move(stored);
  told.jumps.clear();
  told.mutes.clear();
  told.dissolved = {};
  told.large = false;
  if (told.kind == ConversationKind::group) told.members.clear();
  Seq before;
  std::uint32_t epoch = 1;
  for (const auto& [seq, entry] : log) {
    if (std::exchange(epoch, entry.epoch) != entry.epoch) told.jumps.push_back({entry.epoch, before, seq});
    before = seq;
    if (entry.config) take_config(told, *entry.config, seq);
    if (entry.member) take_member(told, entry);
  }
  if (told.kind == ConversationKind::group) told.size = told.members.size();
  sort_members(told);
  return told;
}

/// Those that are over by now may be forgotten.
bool same_mutes(const std::vector<Mute>& told, const std::vector<Mute>& stored, std::int64_t now_ms) {
  const auto among = [](const Mute& mute, const std::vector<Mute>& all) {
    return std::ranges::find(all, mute) != all.end();
  };
  return std::ranges::all_of(stored, [&](const Mute& mute) { return among(mute, told); }) &&
         std::ranges::all_of(told, [&](const Mute& mute) { return mute.until <= now_ms || among(mute, stored); });
}

}  // namespace

/// Of each message that was changed there are its last change and its last reaction, and nothing else.
void IndexJudge::check_touches(const Snapshot& snapshot) const {
  std::map<std::pair<ConversationId, Seq>, Seq> touches;
  scan_all(snapshot, Table::touches, [&](std::string_view key, std::string_view value) {
    if (key.front() == '\3') return;  // how users reacted stands beside them
    ByteReader in(value);
    touches[{conversation_in_key(key), Seq(big_endian(key.substr(key.size() - 8)))}] = Seq(in.varint());
  });
  std::size_t expected = 0;
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log) {
      const std::string name = fmt::format("{}:{}", id.value, seq.value);
      const Entry* last = book_.last_change(id, seq);
      if (entry.touched_by != (last ? last->seq : Seq())) throw Violation("I13", name + " names another change");
      for (const EntryKind kind : {EntryKind::edit, EntryKind::reaction}) {
        const Entry* change = book_.last_change(id, seq, kind);
        if (change == nullptr) continue;
        ++expected;
        const auto touch = touches.find({id, change->seq});
        if (touch == touches.end() || touch->second != seq)
          throw Violation("I13", name + " was changed, and the touches do not have it");
      }
    }
  if (touches.size() != expected) throw Violation("I13", "the touches name what is no last change of any message");
}

void IndexJudge::check_conversations(const Snapshot& snapshot) const {
  constexpr std::size_t kGroupBytes = 9;
  std::map<std::pair<ConversationId, Seq>, UserId> left;
  std::map<ConversationId, Conversation> known;
  std::map<ConversationId, std::vector<Member>> members;  // of large groups, in their order
  scan_all(snapshot, Table::conversations, [&](std::string_view key, std::string_view value) {
    const ConversationId id = conversation_in_key(key);
    if (id.value.starts_with("group_") && key.size() > kGroupBytes && key[kGroupBytes] == '\xff') {
      members[id].push_back(keys::member_in(id, key));
      members[id].back().role = static_cast<Role>(value.front());
    } else if (id.value.starts_with("group_") && key.size() > kGroupBytes) {
      left[{id, Seq(big_endian(key.substr(key.size() - 8)))}] = UserId(value);
    } else {
      known.emplace(id, readable(decode_conversation(value, id)));
    }
  });
  for (const auto& [id, conversation] : known) check_conversation(conversation, members[id]);
  for (const auto& [id, log] : book_.logs()) {
    if (!known.contains(id)) throw Violation("I13", id.value + " has a log, and is not known");
    for (const auto& [seq, entry] : log) {
      if (!entry.member) continue;
      const bool leaves = entry.member->action == MemberAction::left || entry.member->action == MemberAction::removed;
      if (leaves && left.erase({id, seq}) == 0) throw Violation("I13", "of " + id.value + " a leaving is not known");
    }
  }
  if (!left.empty())
    throw Violation("I13", left.begin()->second.value + " is known to have left " + left.begin()->first.first.value);
}

/// Members, what the last entries have set, and jumps as its log has them.
void IndexJudge::check_conversation(Conversation conversation, const std::vector<Member>& rows) const {
  const LogBook::Log& log = book_.log(conversation.id);
  Conversation told = told_by(log, conversation);
  sort_members(conversation);
  if (rows != (told.large ? told.members : std::vector<Member>()))
    throw Violation("I13", conversation.id.value + " has other members than its log says");
  if (told.large) std::erase_if(told.members, [](const Member& member) { return member.role == Role::member; });
  for (const Seq seq : conversation.mentions_of_all)
    if (const Entry* entry = book_.entry(conversation.id, seq); entry == nullptr || !entry->mention_all)
      throw Violation("I13", fmt::format("{}:{} mentions nobody", conversation.id.value, seq.value));
  const bool muted = same_mutes(told.mutes, conversation.mutes, log.empty() ? 0 : log.rbegin()->second.server_time);
  told.mutes = conversation.mutes;
  if (!muted || told != conversation)
    throw Violation("I13", "what " + conversation.id.value + " is said to be is not what its log says");
}

/// Every message's id is remembered, and no id that is no message's.
void IndexJudge::check_memory_of_sends(const Snapshot& snapshot) const {
  std::multiset<Seq> remembered;
  scan_all(snapshot, Table::dedup,
           [&](std::string_view, std::string_view value) { remembered.insert(readable(decode_dedup(value)).seq); });
  std::multiset<Seq> sent;
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log)
      if (!entry.client_msg_id.empty()) sent.insert(seq);
  if (remembered != sent)
    throw Violation("I13", fmt::format("{} ids are remembered of {}", remembered.size(), sent.size()));
}

}  // namespace tidemark::sim
