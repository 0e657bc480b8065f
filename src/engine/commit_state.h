// What the commit round decides against: the present state of whatever was touched lately, kept in memory, above the
// warm store. Decisions change it at once, so that the next command of the round sees them; a round that fails drops
// all of it. One thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/commands.h"
#include "store/store_view.h"
#include "store/warm.h"

namespace tidemark {

/// How many users, devices and conversations are kept in memory between rounds, and how many rows a user's block holds.
struct CommitStateOptions {
  std::size_t users_max = 200'000;
  std::size_t devices_max = 20'000;  // those that send
  std::size_t conversations_max = 200'000;
  std::size_t rows_max = 250'000;  // of users' conversations beside their blocks, some 200 bytes each
  std::size_t block_rows = 8;
};

/// The last round that a store holds, as its row.
void put_round(Batch& batch, std::uint64_t round);

class CommitState final : public View {
 public:
  explicit CommitState(CommitStateOptions options) : options_(options) {}

  /// Starts a round over this snapshot, which holds all earlier rounds.
  void begin(std::shared_ptr<const Snapshot> snapshot, std::uint64_t round);
  /// Takes a decision's writes; the view shows them from now on.
  void apply(const Writes& writes);
  /// Everything applied since begin(), as one batch. Empty when nothing was written.
  Batch take_batch();
  /// The batch is durable: keep what is in memory, within the bounds.
  void committed();
  /// The batch's fate is unknown: forget everything.
  void drop();

  Epoch epoch() override { return epoch_; }
  std::vector<Epoch> lineage() override { return stored_->lineage(); }
  std::uint64_t round() override { return round_; }
  std::uint64_t last_group() override { return last_group_; }
  const Conversation* conversation(const ConversationId& id) override;
  LineHead line(const ConversationId& id) override;
  std::optional<Entry> entry(const ConversationId& id, Seq seq) override;
  void entries(const ConversationId& id, Seq after, Seq to, Direction direction,
               const std::function<bool(const Entry&)>& visit) override;
  void touches(const ConversationId& id, Seq after, Seq to, Direction direction,
               const std::function<bool(Seq, Seq)>& visit) override;
  std::vector<std::string> reactions_of(const ConversationId& id, Seq seq, const UserId& user) override;
  void reactions(const ConversationId& id, Seq seq, const UserId& after,
                 const std::function<bool(const UserId&, const std::vector<std::string>&)>& visit) override;
  void left(const ConversationId& id, Seq from, const std::function<void(const UserId&)>& visit) override;
  void members(const ConversationId& id, const Member& after, const std::function<bool(const Member&)>& visit) override;
  void large_groups(const UserId& user, const ConversationId& after,
                    const std::function<bool(const ConversationId&)>& visit) override;
  UserHead user(const UserId& user) override;
  const UserConversation* user_conversation(const UserId& user, const ConversationId& id) override;
  // Decisions do not walk the index.
  void by_head_mark(const UserId&, Mark, Mark, Direction, const std::function<bool(const UserConversation&)>&) override;
  void by_state_mark(const UserId&, Mark, Mark, Direction,
                     const std::function<bool(const UserConversation&)>&) override;
  std::optional<UserObject> object(const UserId& user, const std::string& name) override;
  void objects(const UserId& user, const std::string& from, const std::string& to,
               const std::function<bool(const UserObject&)>& visit) override;
  void objects_by_mark(const UserId& user, Mark after, Mark to,
                       const std::function<bool(const UserObject&)>& visit) override;
  void tombstones(std::uint32_t hour, const std::function<bool(const Tombstone&)>& visit) override;
  void file_expiries(const std::function<bool(const FileExpiry&)>& visit) override;
  void changed_since(const UserId& user, Mark after, const std::function<void(const ConversationId&)>& visit) override;
  std::optional<DedupRecord> remembered(std::span<const DedupKey> keys) override;
  std::optional<Device> device(const UserId& user, const DeviceId& device) override;
  std::vector<Device> devices(const UserId& user) override;
  std::optional<PushTokenOwner> push_token_owner(const std::string& token) override;
  Mutations mutations(const UserId& user, const DeviceId& device, const InstallId& install) override;
  const std::optional<Error>& failure() const override;

  /// Forgets a failed read, so that it voids one command and not the whole round.
  void clear_failure();

 private:
  template <typename Key, typename Value>
  struct Cache {
    struct Slot {
      Value value;
      typename std::list<Key>::iterator place;
      std::uint64_t dirty_in = 0;  // the round that changed it
    };
    std::unordered_map<Key, Slot> slots;
    std::list<Key> recent;  // the last used is the first
  };
  struct Line {
    std::string key;  // keys::conversation of it
    std::optional<Conversation> conversation;
    LineHead head;
  };
  using UserSlot = Cache<UserId, UserRecord>::Slot;
  using LineSlot = Cache<ConversationId, Line>::Slot;

  UserSlot& load_user(const UserId& user);
  LineSlot& load_line(const ConversationId& id);
  void keep_devices_of_round();
  void change_row(const Writes::ChangedRow& changed);
  std::shared_ptr<const Entry> changed_row(const ConversationId& id, Seq seq) const;
  /// A row that is not in its user's block, as it is stored; nothing when there is none, or on a failed read.
  const UserConversation* row_beside(const UserId& user, const ConversationId& id);
  void put_row(UserRecord& record, const UserId& user, const UserConversation& row);
  void put_object(const UserId& user, const std::string& name, std::optional<UserObject> object);
  void evict_rows(Batch& batch, const UserId& user, UserRecord& record);
  void forget_round();
  template <typename Key, typename Value>
  static void keep(Cache<Key, Value>& cache, const Key& key, Value value);
  /// The value, which is the last used now; nullptr when it is not there.
  template <typename Key, typename Value>
  static Value* find_in(Cache<Key, Value>& cache, const Key& key);
  template <typename Key, typename Value>
  static void erase_from(Cache<Key, Value>& cache, const Key& key);
  template <typename Key, typename Value>
  static void trim(Cache<Key, Value>& cache, std::size_t max);

  CommitStateOptions options_;
  std::unique_ptr<StoreView> stored_;
  bool knows_store_ = false;  // epoch_ and last_group_ are those of the store, which nobody else changes
  Epoch epoch_;
  std::uint64_t round_ = 0;
  std::uint64_t last_group_ = 0;
  bool group_changed_ = false;
  Cache<UserId, UserRecord> users_;
  Cache<ConversationId, Line> lines_;
  Cache<std::string, Device> devices_;    // by key, as stored: whatever a session sends, its device is looked at
  Cache<std::string, std::string> rows_;  // by key, those beside the blocks as they are stored; "": there is none
  UserSlot unread_user_;                  // stands for what a failed read should have given
  LineSlot unread_line_;

  struct RoundEntry {
    ConversationId conversation;
    std::string key;  // keys::conversation of it
    std::shared_ptr<const Entry> entry;
  };

  // This round's writes, in the order of their first touch where the order can be seen.
  std::vector<UserId> dirty_users_;
  std::vector<RoundEntry> round_entries_;
  std::unordered_map<ConversationId, std::vector<std::shared_ptr<const Entry>>> entries_by_line_;
  /// What this round changed in a conversation's stored rows.
  struct Changes {
    std::map<Seq, std::shared_ptr<const Entry>> rows;  // as they are now
    std::map<Seq, std::optional<Seq>> touches;         // the target; nothing: erased
  };
  std::map<ConversationId, Changes> changes_;
  std::map<std::string, std::vector<std::string>> round_reactions_;  // by key; no names: erased
  std::vector<std::string> erased_reactions_;                        // prefixes of keys
  std::vector<ConversationId> dirty_conversations_;
  struct RoundObject {
    Mark stored_mark;  // 0: not stored
    std::optional<UserObject> now;
  };
  std::map<UserId, std::map<std::string, RoundObject>> round_objects_;  // by name; nothing: dropped
  std::unordered_map<std::string, UserConversation> round_rows_;        // by key: what the round has read of `rows_`
  std::map<std::string, UserConversation> completed_;  // by key: rows of large groups as they stand now
  /// By conversation, joining and user; nothing: gone.
  std::map<std::tuple<ConversationId, Seq, UserId>, std::optional<Role>> round_large_members_;
  std::map<std::string, bool> round_large_groups_;  // by key; false: no longer
  std::map<std::string, Mark> round_tombstones_;    // by key
  std::set<std::string> round_dropped_tombstones_;
  std::map<FileExpiry, bool> round_file_expiries_;              // false: dropped
  std::map<std::string, DedupRecord> round_dedup_;              // by key
  std::map<std::string, std::optional<Device>> round_devices_;  // by key; nothing: erased
  std::map<std::string, std::optional<Mutations>> round_mutations_;
  std::map<std::string, std::optional<PushTokenOwner>> round_push_tokens_;
};

}  // namespace tidemark
