// A View over maps, for tests: deterministic, with mutators that do no more than put things in place. Like every view
// it gives pointers that stay valid until the next mutation. Not thread-safe.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/large_group.h"
#include "core/view.h"

namespace tidemark {

class TestView final : public View {
 public:
  // ------------------------------------------------------------------------------------------------- mutators

  void set_epoch(Epoch epoch) { epoch_ = epoch; }
  void set_lineage(std::vector<Epoch> lineage) { lineage_ = std::move(lineage); }
  void set_round(std::uint64_t round) { round_ = round; }
  void set_last_group(std::uint64_t number) { last_group_ = number; }

  /// Adds or replaces a conversation; its log is kept apart.
  void put(Conversation conversation) {
    const ConversationId id = conversation.id;
    conversations_[id] = std::move(conversation);
  }
  void erase_conversation(const ConversationId& id) { conversations_.erase(id); }

  /// Adds the entry behind the log's head: gives it seq, ord and top, the view's epoch and round where it has none,
  /// and a server time not before the head's. Returns its seq.
  Seq append(const ConversationId& id, Entry entry) {
    const LineHead head = line_of(id);
    entry.seq = head.seq + 1;
    entry.ord = head.ord + (entry.countable() ? 1 : 0);
    entry.top = entry.countable() ? entry.seq : head.top;
    entry.top_time = entry.countable() ? std::max(entry.server_time, head.server_time) : head.top_time;
    entry.touch = entry.target ? entry.seq : head.touch;
    entry.server_time = std::max(entry.server_time, head.server_time);
    entry.epoch = epoch_.number;
    if (entry.round == 0) entry.round = round_;
    logs_[id][entry.seq] = entry;
    return entry.seq;
  }
  /// Puts an entry or a changed row in place as it is.
  void put_entry(const ConversationId& id, Entry entry) {
    const Seq seq = entry.seq;
    logs_[id][seq] = std::move(entry);
  }

  /// The row as its change left it, and the touch that tells of it.
  void put_changed(const ConversationId& id, Entry row, Seq touched_before) {
    touches_[id].erase(touched_before);
    touches_[id][row.touched_by] = row.seq;
    put_entry(id, std::move(row));
  }

  /// How the user reacts to a message; without names he does not.
  void put_reactions(const ConversationId& id, Seq seq, const UserId& user, std::vector<std::string> names) {
    if (names.empty())
      reactions_.erase({id, seq, user});
    else
      reactions_[{id, seq, user}] = std::move(names);
  }
  void erase_reactions(const ConversationId& id, Seq seq) {
    std::erase_if(reactions_, [&](const auto& made) {
      return std::get<ConversationId>(made.first) == id && std::get<Seq>(made.first) == seq;
    });
  }

  void put_user(const UserId& user, UserHead head) { users_[user] = std::move(head); }
  /// Adds or replaces the index row, in both orders.
  void put_row(const UserId& user, UserConversation row) {
    erase_row(user, row.conversation);
    if (row.head_mark) by_head_[user].insert({row.head_mark, row.conversation});
    if (row.state_mark) by_state_[user].insert({row.state_mark, row.conversation});
    const ConversationId id = row.conversation;
    if (row.large)
      large_groups_[user].insert(id);
    else
      large_groups_[user].erase(id);
    rows_[{user, id}] = std::move(row);
  }
  void put_member(const ConversationId& id, const Member& member, bool in) {
    auto& all = members_[id];
    std::erase_if(all, [&](const auto& each) { return each.second.user == member.user; });
    if (in) all[{member.join, member.user}] = member;
  }
  void erase_row(const UserId& user, const ConversationId& id) {
    const auto found = rows_.find({user, id});
    if (found == rows_.end()) return;
    by_head_[user].erase({found->second.head_mark, id});
    by_state_[user].erase({found->second.state_mark, id});
    rows_.erase(found);
  }

  void put_object(const UserId& user, UserObject object) {
    std::string name = name_of(object);
    objects_[user][std::move(name)] = std::move(object);
  }
  void erase_object(const UserId& user, const std::string& name) { objects_[user].erase(name); }
  void put_tombstone(const Tombstone& tombstone) {
    tombstones_[{tombstone.hour, tombstone.user, tombstone.name}] = tombstone.mark;
  }
  void erase_tombstone(const Tombstone& tombstone) {
    tombstones_.erase({tombstone.hour, tombstone.user, tombstone.name});
  }
  void put_file_expiry(const FileExpiry& expiry) { file_expiries_.insert(expiry); }
  void erase_file_expiry(const FileExpiry& expiry) { file_expiries_.erase(expiry); }
  void put_device(const UserId& user, Device device) {
    const DeviceId id = device.id;
    devices_[{user, id}] = std::move(device);
  }
  void erase_device(const UserId& user, const DeviceId& device) { devices_.erase({user, device}); }
  void put_push_token(const std::string& token, std::optional<PushTokenOwner> owner) {
    if (owner)
      push_tokens_[token] = std::move(*owner);
    else
      push_tokens_.erase(token);
  }
  void put_mutations(const UserId& user, const DeviceId& device, const InstallId& install, Mutations mutations) {
    mutations_[{user, device, install}] = std::move(mutations);
  }
  void remember(const DedupKey& key, DedupRecord record) { dedup_[key] = record; }
  /// How often it was asked whether an id was used.
  std::size_t lookups() const { return lookups_; }
  void forget(const DedupKey& key) { dedup_.erase(key); }

  /// Makes the n-th read from now fail (1: the next), and with it all later ones.
  void fail_at(std::size_t n, Error error = {ErrorCode::RETRY_LATER, "", "a read failed on purpose"}) {
    reads_left_ = n;
    error_ = std::move(error);
  }
  void heal() {
    reads_left_ = 0;
    failure_.reset();
  }

  /// How many entries were handed out so far: what a reading cost.
  std::size_t entries_read() const { return entries_read_; }
  std::size_t touches_read() const { return touches_read_; }
  /// How many index rows were handed out so far.
  std::size_t rows_read() const { return rows_read_; }

  // ------------------------------------------------------------------------------------------------- the view

  Epoch epoch() override { return read() ? epoch_ : Epoch{0, 0}; }
  std::vector<Epoch> lineage() override { return read() ? lineage_ : std::vector<Epoch>{}; }
  std::uint64_t round() override { return read() ? round_ : 0; }
  std::uint64_t last_group() override { return read() ? last_group_ : 0; }

  const Conversation* conversation(const ConversationId& id) override {
    return read() ? find(conversations_, id) : nullptr;
  }
  LineHead line(const ConversationId& id) override { return read() ? line_of(id) : LineHead{}; }
  std::optional<Entry> entry(const ConversationId& id, Seq seq) override {
    if (!read()) return std::nullopt;
    const auto* log = find(logs_, id);
    const Entry* found = log ? find(*log, seq) : nullptr;
    if (!found) return std::nullopt;
    ++entries_read_;
    return *found;
  }
  void entries(const ConversationId& id, Seq after, Seq to, Direction direction,
               const std::function<bool(const Entry&)>& visit) override {
    const auto* log = read() ? find(logs_, id) : nullptr;
    if (!log || to <= after) return;
    walk(log->upper_bound(after), log->upper_bound(to), direction, [&](const auto& item) {
      ++entries_read_;
      return visit(item.second);
    });
  }

  void touches(const ConversationId& id, Seq after, Seq to, Direction direction,
               const std::function<bool(Seq, Seq)>& visit) override {
    const auto* touches = read() ? find(touches_, id) : nullptr;
    if (!touches || to <= after) return;
    walk(touches->upper_bound(after), touches->upper_bound(to), direction, [&](const auto& item) {
      ++touches_read_;
      return visit(item.first, item.second);
    });
  }
  std::vector<std::string> reactions_of(const ConversationId& id, Seq seq, const UserId& user) override {
    const auto* names = read() ? find(reactions_, std::tuple(id, seq, user)) : nullptr;
    return names ? *names : std::vector<std::string>{};
  }
  void reactions(const ConversationId& id, Seq seq, const UserId& after,
                 const std::function<bool(const UserId&, const std::vector<std::string>&)>& visit) override {
    if (!read()) return;
    for (auto it = reactions_.upper_bound({id, seq, after}); it != reactions_.end(); ++it) {
      const auto& [conversation, message, user] = it->first;
      if (conversation != id || message != seq || !visit(user, it->second)) return;
    }
  }
  void left(const ConversationId& id, Seq from, const std::function<void(const UserId&)>& visit) override {
    const auto* log = read() ? find(logs_, id) : nullptr;
    if (!log) return;
    for (auto entry = log->lower_bound(from); entry != log->end(); ++entry) {
      const auto& member = entry->second.member;
      if (member && (member->action == MemberAction::left || member->action == MemberAction::removed))
        for (const UserId& user : member->users) visit(user);
    }
  }

  void members(const ConversationId& id, const Member& after,
               const std::function<bool(const Member&)>& visit) override {
    const auto* all = read() ? find(members_, id) : nullptr;
    if (all)
      walk(all->upper_bound({after.join, after.user}), all->end(), Direction::up,
           [&](const auto& each) { return visit(each.second); });
  }
  void large_groups(const UserId& user, const ConversationId& after,
                    const std::function<bool(const ConversationId&)>& visit) override {
    const auto* all = read() ? find(large_groups_, user) : nullptr;
    if (all) walk(all->upper_bound(after), all->end(), Direction::up, visit);
  }

  UserHead user(const UserId& user) override {
    const UserHead* found = read() ? find(users_, user) : nullptr;
    return found ? *found : UserHead{};
  }
  const UserConversation* user_conversation(const UserId& user, const ConversationId& id) override {
    if (!read()) return nullptr;
    ++rows_read_;
    const auto row = rows_.find({user, id});
    if (row == rows_.end()) return nullptr;
    complete(*this, row->second);
    return &row->second;
  }
  void by_head_mark(const UserId& user, Mark after, Mark to, Direction direction,
                    const std::function<bool(const UserConversation&)>& visit) override {
    by_mark(by_head_, user, after, to, direction, visit);
  }
  void by_state_mark(const UserId& user, Mark after, Mark to, Direction direction,
                     const std::function<bool(const UserConversation&)>& visit) override {
    by_mark(by_state_, user, after, to, direction, visit);
  }

  std::optional<UserObject> object(const UserId& user, const std::string& name) override {
    const auto* objects = read() ? find(objects_, user) : nullptr;
    const UserObject* found = objects ? find(*objects, name) : nullptr;
    return found ? std::optional(*found) : std::nullopt;
  }
  void objects(const UserId& user, const std::string& from, const std::string& to,
               const std::function<bool(const UserObject&)>& visit) override {
    const auto* objects = read() ? find(objects_, user) : nullptr;
    if (!objects || to <= from) return;
    walk(objects->lower_bound(from), objects->lower_bound(to), Direction::up,
         [&](const auto& item) { return visit(item.second); });
  }
  void objects_by_mark(const UserId& user, Mark after, Mark to,
                       const std::function<bool(const UserObject&)>& visit) override {
    const auto* objects = read() ? find(objects_, user) : nullptr;
    if (!objects) return;
    std::vector<UserObject> inside;
    for (const auto& [name, object] : *objects)
      if (object.mark > after && object.mark <= to) inside.push_back(object);
    std::ranges::sort(inside, [](const auto& a, const auto& b) { return a.mark > b.mark; });
    for (const UserObject& object : inside)
      if (!visit(object)) return;
  }
  void tombstones(std::uint32_t hour, const std::function<bool(const Tombstone&)>& visit) override {
    if (!read()) return;
    for (const auto& [key, mark] : tombstones_) {
      const auto& [made, user, name] = key;
      if (made >= hour || !visit({made, user, name, mark})) return;
    }
  }

  void file_expiries(const std::function<bool(const FileExpiry&)>& visit) override {
    if (!read()) return;
    for (const FileExpiry& each : file_expiries_)
      if (!visit(each)) return;
  }

  std::optional<DedupRecord> remembered(std::span<const DedupKey> keys) override {
    ++lookups_;
    if (!read()) return std::nullopt;
    for (const DedupKey& key : keys)
      if (const DedupRecord* found = find(dedup_, key)) return *found;
    return std::nullopt;
  }
  std::optional<Device> device(const UserId& user, const DeviceId& device) override {
    const Device* found = read() ? find(devices_, std::pair(user, device)) : nullptr;
    return found ? std::optional(*found) : std::nullopt;
  }
  std::vector<Device> devices(const UserId& user) override {
    std::vector<Device> all;
    if (!read()) return all;
    for (auto it = devices_.lower_bound({user, DeviceId()}); it != devices_.end() && it->first.first == user; ++it)
      all.push_back(it->second);
    return all;
  }
  std::optional<PushTokenOwner> push_token_owner(const std::string& token) override {
    const PushTokenOwner* found = read() ? find(push_tokens_, token) : nullptr;
    return found ? std::optional(*found) : std::nullopt;
  }
  Mutations mutations(const UserId& user, const DeviceId& device, const InstallId& install) override {
    const Mutations* found = read() ? find(mutations_, std::tuple(user, device, install)) : nullptr;
    return found ? *found : Mutations{};
  }

  const std::optional<Error>& failure() const override { return failure_; }

 private:
  using Marks = std::map<UserId, std::set<std::pair<Mark, ConversationId>>>;

  template <typename Map, typename Key>
  static const typename Map::mapped_type* find(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }

  template <typename Iterator, typename Visit>
  static void walk(Iterator first, Iterator last, Direction direction, Visit visit) {
    if (direction == Direction::up) {
      while (first != last && visit(*first)) ++first;
    } else {
      while (first != last && visit(*--last)) {
      }
    }
  }

  bool read() {
    if (reads_left_ > 0 && --reads_left_ == 0) failure_ = error_;
    return !failure_;
  }

  LineHead line_of(const ConversationId& id) const {
    const auto* log = find(logs_, id);
    if (!log || log->empty()) return {};
    return head_after(log->rbegin()->second);
  }

  void by_mark(const Marks& marks, const UserId& user, Mark after, Mark to, Direction direction,
               const std::function<bool(const UserConversation&)>& visit) {
    const auto* order = read() ? find(marks, user) : nullptr;
    if (!order || to <= after) return;
    const auto above = [&](Mark mark) {
      return mark + 1 > mark ? order->lower_bound({mark + 1, ConversationId()}) : order->end();
    };
    walk(above(after), above(to), direction, [&](const auto& item) {
      ++rows_read_;
      UserConversation& row = rows_.at({user, item.second});
      complete(*this, row);
      return visit(row);
    });
  }

  Epoch epoch_{1, 1};
  std::vector<Epoch> lineage_;
  std::uint64_t round_ = 1;
  std::uint64_t last_group_ = 0;
  std::map<ConversationId, Conversation> conversations_;
  std::map<ConversationId, std::map<Seq, Entry>> logs_;
  std::map<ConversationId, std::map<Seq, Seq>> touches_;
  std::map<std::tuple<ConversationId, Seq, UserId>, std::vector<std::string>> reactions_;
  std::map<UserId, UserHead> users_;
  std::map<std::pair<UserId, ConversationId>, UserConversation> rows_;
  std::map<UserId, std::set<ConversationId>> large_groups_;
  std::map<ConversationId, std::map<std::pair<Seq, UserId>, Member>> members_;
  Marks by_head_;
  Marks by_state_;
  std::map<UserId, std::map<std::string, UserObject>> objects_;
  std::map<std::tuple<std::uint32_t, UserId, std::string>, Mark> tombstones_;
  std::set<FileExpiry> file_expiries_;
  std::map<DedupKey, DedupRecord> dedup_;
  std::map<std::pair<UserId, DeviceId>, Device> devices_;
  std::map<std::string, PushTokenOwner> push_tokens_;
  std::map<std::tuple<UserId, DeviceId, InstallId>, Mutations> mutations_;

  std::size_t reads_left_ = 0;
  Error error_;
  std::optional<Error> failure_;
  std::size_t entries_read_ = 0;
  std::size_t touches_read_ = 0;
  std::size_t rows_read_ = 0;
  std::size_t lookups_ = 0;
};

}  // namespace tidemark
