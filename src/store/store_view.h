// A View over one snapshot of the warm store: what readers look at, and what the deciding side falls back to.
// Not thread-safe; cheap to make, one for a request.
#pragma once

#include <memory>
#include <unordered_map>

#include "core/view.h"
#include "store/page_cache.h"
#include "store/row_codec.h"
#include "store/warm.h"

namespace tidemark {

class StoreView final : public View {
 public:
  static constexpr std::size_t kTailEntries = 12;

  /// Asking where a log stands reads its last `tail_entries` at once: whoever asks wants a preview, or what is new,
  /// next, and a second seek costs more than a dozen entries. With `pages` the ends of large groups' logs are read
  /// through them; they outlive the view and hold nothing but what the same store had.
  explicit StoreView(std::shared_ptr<const Snapshot> snapshot, std::size_t tail_entries = kTailEntries,
                     PageCache* pages = nullptr)
      : snapshot_(std::move(snapshot)), tail_entries_(tail_entries), pages_(pages) {}

  Epoch epoch() override;
  std::vector<Epoch> lineage() override;
  std::uint64_t round() override;
  std::uint64_t last_group() override;
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
  void by_head_mark(const UserId& user, Mark after, Mark to, Direction direction,
                    const std::function<bool(const UserConversation&)>& visit) override;
  void by_state_mark(const UserId& user, Mark after, Mark to, Direction direction,
                     const std::function<bool(const UserConversation&)>& visit) override;
  /// Without reading the rows.
  void changed_since(const UserId& user, Mark after, const std::function<void(const ConversationId&)>& visit) override;
  std::optional<UserObject> object(const UserId& user, const std::string& name) override;
  void objects(const UserId& user, const std::string& from, const std::string& to,
               const std::function<bool(const UserObject&)>& visit) override;
  void objects_by_mark(const UserId& user, Mark after, Mark to,
                       const std::function<bool(const UserObject&)>& visit) override;
  void tombstones(std::uint32_t hour, const std::function<bool(const Tombstone&)>& visit) override;
  void file_expiries(const std::function<bool(const FileExpiry&)>& visit) override;
  std::optional<DedupRecord> remembered(std::span<const DedupKey> keys) override;
  std::optional<Device> device(const UserId& user, const DeviceId& device) override;
  std::vector<Device> devices(const UserId& user) override;
  std::optional<PushTokenOwner> push_token_owner(const std::string& token) override;
  Mutations mutations(const UserId& user, const DeviceId& device, const InstallId& install) override;
  const std::optional<Error>& failure() const override { return failure_; }

  // For the deciding side, which keeps these by itself.

  /// Forgets a failed read and all that was read, so that nothing half-read is taken for the truth.
  void clear_failure();

  /// The user's whole record; an empty one when there is none.
  UserRecord user_record(const UserId& user);
  /// The row as it stands in `objects`, whatever the block says.
  std::optional<UserConversation> stored_row(const UserId& user, const ConversationId& id);
  /// Numbers of all installs of a device.
  std::vector<std::string> install_keys(const UserId& user, const DeviceId& device);

 private:
  std::optional<std::string> get(Table table, std::string_view key);
  template <typename T>
  std::optional<T> take(Result<T> value);
  void fail_with(Error error);
  const UserRecord& record(const UserId& user);
  const UserConversation* known_row(const UserId& user, const ConversationId& id);
  const std::vector<Entry>& tail(const ConversationId& id);
  /// Whether the end of the log is read through the shared pages.
  bool shared(const ConversationId& id);
  bool shared_entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                      const std::function<bool(const Entry&)>& visit);
  PageCache::Page shared_page(const ConversationId& id, std::uint64_t number);
  bool scan_entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                    const std::function<bool(const Entry&)>& visit);
  bool scan_up(const ConversationId& id, Seq after, Seq to, const std::function<bool(Entry&&)>& visit);
  bool scan_down(const ConversationId& id, Seq after, Seq to, const std::function<bool(const Entry&)>& visit);
  std::optional<Entry> last_entry(const ConversationId& id, Seq after, Seq to);
  /// The row as its log stands, where the log decides it.
  const UserConversation* completed(const UserConversation& row);
  void by_mark(const UserId& user, bool by_head, Mark after, Mark to, Direction direction,
               const std::function<bool(const UserConversation&)>& visit);

  std::shared_ptr<const Snapshot> snapshot_;
  std::optional<Error> failure_;
  std::optional<Epoch> epoch_;
  std::unordered_map<UserId, UserRecord> users_;
  std::unordered_map<ConversationId, std::optional<Conversation>> conversations_;
  const std::size_t tail_entries_;
  PageCache* const pages_;
  std::unordered_map<ConversationId, std::vector<Entry>> tails_;  // the last entries of a log, descending
  std::unordered_map<ConversationId, Seq> stands_at_;  // heads that rows told of: near the end of the log, or at it
  std::unordered_map<const UserConversation*, UserConversation> completed_;  // of large groups
  std::unordered_map<std::string, std::optional<UserConversation>> rows_;    // by key, as they stand in `objects`
};

/// What a client is told of a read that failed. What is wrong with the disk is for the operator: it goes to the log.
Error told_of(const Error& failure);

}  // namespace tidemark
