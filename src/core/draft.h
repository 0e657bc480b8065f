// The decision in the making: a view in which its own writes can already be seen, and the writes themselves.
#pragma once

#include <list>
#include <map>
#include <unordered_map>

#include "core/commands.h"
#include "core/decide.h"

namespace tidemark {

class Draft final : public View {
 public:
  Draft(View& base, const Context& context) : base_(base), context_(context) {}

  // What the decision may change. References stay valid for the draft's life.
  UserHead& edit_user(const UserId& user);  // makes the user when there is none
  UserConversation& edit_row(const UserId& user, const ConversationId& id);
  Conversation& edit_conversation(const ConversationId& id);
  /// The object of `what`'s name as it stands, or `what` as it is given.
  UserObject& edit_object(const UserId& user, UserObject what);
  /// Whether the conversation is large to the user: see UserConversation::large.
  void set_large(const UserId& user, const ConversationId& id, bool large);
  /// The row of a member of a large group; `in` false: it goes.
  void put_large_member(const ConversationId& id, const Member& member, bool in);
  void set_last_group(std::uint64_t number) { writes_.last_group = number; }
  Writes& writes() { return writes_; }

  /// Appends an entry: gives it seq, ord, top, server_time, epoch and round. Returns it as it will be stored.
  /// `at` is the server time of an imported one, not before that of the line.
  std::shared_ptr<const Entry> append(const ConversationId& id, Entry entry, std::optional<std::int64_t> at = {});

  /// Rewrites a message's row as the entry `by`, appended before, left it. Its touch takes the place of the last one of
  /// the same part of the row (0: there is none): a device may have one part without the other.
  void change(const ConversationId& id, Entry row, Seq by, Seq touched_before);

  /// How the user reacts to a message from now on.
  void set_reactions(const ConversationId& id, Seq seq, const UserId& user, std::vector<std::string> names);

  /// The user's next mark: one for each entry of a decision (or for a decision without entries), however much of
  /// him it changes.
  Mark touch(const UserId& user);

  /// Moves the row's head object: to the entry, with the next sort_time in small conversations.
  Receiver touch_head(const UserId& user, const ConversationId& id, const Entry& entry);
  /// Moves the row's state object. The row's head_seq follows the entry, if there is one. A removed conversation is
  /// touched by no entry that is no message and no joining: nobody is told then (`to` is 0, and finish() drops it).
  Receiver touch_state(const UserId& user, const ConversationId& id, const Entry* entry);
  /// Adds the whole summary of the row to what the user is told. Call when the row is final.
  void add_summary(Receiver& receiver, const ConversationId& id);
  /// Gives the user's drafted objects their mark and adds them to what he is told. Call when they are final.
  Receiver touch_objects(const UserId& user);
  /// The same, told by itself.
  Notice tell_objects(const UserId& user) { return {ConversationId(), nullptr, round(), {touch_objects(user)}}; }
  /// What was taken away under this mark is to be forgotten one day.
  void bury(const UserId& user, std::string name, Mark mark);

  Decision finish(Reply reply, std::vector<Notice> notices) &&;
  const Context& context() const { return context_; }

  // View: the base with the writes above it.
  Epoch epoch() override { return base_.epoch(); }
  std::vector<Epoch> lineage() override { return base_.lineage(); }
  std::uint64_t round() override { return base_.round(); }
  std::uint64_t last_group() override { return writes_.last_group.value_or(base_.last_group()); }
  const Conversation* conversation(const ConversationId& id) override;
  LineHead line(const ConversationId& id) override;
  std::optional<Entry> entry(const ConversationId& id, Seq seq) override;
  void entries(const ConversationId& id, Seq after, Seq to, Direction direction,
               const std::function<bool(const Entry&)>& visit) override;
  void touches(const ConversationId& id, Seq after, Seq to, Direction direction,
               const std::function<bool(Seq, Seq)>& visit) override;
  std::vector<std::string> reactions_of(const ConversationId& id, Seq seq, const UserId& user) override;
  void reactions(const ConversationId& id, Seq seq, const UserId& after,
                 const std::function<bool(const UserId&, const std::vector<std::string>&)>& visit) override {
    base_.reactions(id, seq, after, visit);
  }
  void left(const ConversationId& id, Seq from, const std::function<void(const UserId&)>& visit) override {
    base_.left(id, from, visit);
  }
  void members(const ConversationId& id, const Member& after, const std::function<bool(const Member&)>& visit) override;
  // Nobody lists what he has just changed.
  void large_groups(const UserId& user, const ConversationId& after,
                    const std::function<bool(const ConversationId&)>& visit) override {
    base_.large_groups(user, after, visit);
  }
  UserHead user(const UserId& user) override;
  const UserConversation* user_conversation(const UserId& user, const ConversationId& id) override;
  void by_head_mark(const UserId& user, Mark after, Mark to, Direction direction,
                    const std::function<bool(const UserConversation&)>& visit) override {
    base_.by_head_mark(user, after, to, direction, visit);
  }
  void by_state_mark(const UserId& user, Mark after, Mark to, Direction direction,
                     const std::function<bool(const UserConversation&)>& visit) override {
    base_.by_state_mark(user, after, to, direction, visit);
  }
  std::optional<UserObject> object(const UserId& user, const std::string& name) override;
  void objects(const UserId& user, const std::string& from, const std::string& to,
               const std::function<bool(const UserObject&)>& visit) override;
  void objects_by_mark(const UserId& user, Mark after, Mark to,
                       const std::function<bool(const UserObject&)>& visit) override {
    base_.objects_by_mark(user, after, to, visit);
  }
  void tombstones(std::uint32_t hour, const std::function<bool(const Tombstone&)>& visit) override {
    base_.tombstones(hour, visit);
  }
  void file_expiries(const std::function<bool(const FileExpiry&)>& visit) override { base_.file_expiries(visit); }
  void changed_since(const UserId& user, Mark after, const std::function<void(const ConversationId&)>& visit) override {
    base_.changed_since(user, after, visit);
  }
  std::optional<DedupRecord> remembered(std::span<const DedupKey> keys) override { return base_.remembered(keys); }
  std::optional<Device> device(const UserId& user, const DeviceId& device) override {
    return base_.device(user, device);
  }
  std::vector<Device> devices(const UserId& user) override { return base_.devices(user); }
  std::optional<PushTokenOwner> push_token_owner(const std::string& token) override {
    return base_.push_token_owner(token);
  }
  Mutations mutations(const UserId& user, const DeviceId& device, const InstallId& install) override {
    return base_.mutations(user, device, install);
  }
  const std::optional<Error>& failure() const override { return base_.failure(); }

 private:
  struct DraftedUser {
    UserId id;
    UserHead head;
    Mark before;           // where the index stood before the last touch
    std::size_t step = 0;  // entries appended by the last touch, plus one; 0: not touched
    std::list<UserConversation> rows;
    std::map<std::string, UserObject> objects;  // by name
    bool objects_touched = false;
  };
  DraftedUser& drafted(const UserId& user);
  DraftedUser* find_user(const UserId& user);
  UserConversation* find_row(DraftedUser& user, const ConversationId& id);
  const Writes::ChangedRow* find_changed(const ConversationId& id, Seq seq) const;
  void note_files(const ConversationId& id, const Entry& message, const Body& before, std::int64_t after);

  View& base_;
  const Context& context_;
  Writes writes_;
  std::list<DraftedUser> users_;
  static constexpr std::size_t kFewUsers = 8;            // so many are found by looking at each
  std::unordered_map<UserId, DraftedUser*> user_index_;  // of more of them
  std::list<Conversation> conversations_;
};

}  // namespace tidemark
