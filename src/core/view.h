// What the rules may look at. The engine implements it over caches and the warm store, the simulator over memory.
// A read that fails makes the view `failed`: the getters then return nothing, and whatever was derived from the view
// is thrown away by its owner (a decision is not applied, an answer not sent). Not thread-safe; pointers stay valid
// until the next write to the view.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "core/user_object.h"

namespace tidemark {

enum class Direction : std::uint8_t { up, down };

/// Identity of a send: bucket of the id's hour, and a digest of (sender, conversation, client_msg_id).
struct DedupKey {
  std::uint32_t hour = 0;  // hours since 1970
  Digest identity{};
  auto operator<=>(const DedupKey&) const = default;
};

/// What was taken away and when, to be forgotten one day: a removed conversation or an empty object.
struct Tombstone {
  std::uint32_t hour = 0;  // hours since 1970
  UserId user;
  std::string name;  // of the object; of a conversation: 'c' and its id
  Mark mark;
  bool operator==(const Tombstone&) const = default;
};

/// From a time on a file that a message refers to is gone.
struct FileExpiry {
  std::int64_t at = 0;  // server time
  ConversationId conversation;
  Seq seq;
  auto operator<=>(const FileExpiry&) const = default;
};

struct PushTokenOwner {
  UserId user;
  DeviceId device;
  bool operator==(const PushTokenOwner&) const = default;
};

class View {
 public:
  virtual ~View() = default;

  /// Store epoch; the same during a view's life.
  virtual Epoch epoch() = 0;
  /// The epochs that the store went through before, ascending: of the backups from which it was restored.
  virtual std::vector<Epoch> lineage() = 0;
  /// The last commit round that this view shows (or, while deciding, the one being made).
  virtual std::uint64_t round() = 0;
  /// The last number given to a group.
  virtual std::uint64_t last_group() = 0;

  virtual const Conversation* conversation(const ConversationId& id) = 0;  // nullptr: there is none
  virtual LineHead line(const ConversationId& id) = 0;                     // zeros: nothing written yet
  virtual std::optional<Entry> entry(const ConversationId& id, Seq seq) = 0;
  /// Visits entries with after < seq <= to until `visit` returns false.
  virtual void entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                       const std::function<bool(const Entry&)>& visit) = 0;

  /// Visits the touches of entries with after < seq <= to: that entry changed the row `target`, and no later one has.
  virtual void touches(const ConversationId& id, Seq after, Seq to, Direction direction,
                       const std::function<bool(Seq seq, Seq target)>& visit) = 0;
  /// How a user reacts to a message: the names, in the order in which he began.
  virtual std::vector<std::string> reactions_of(const ConversationId& id, Seq seq, const UserId& user) = 0;
  /// Visits the users behind `after`, in the order of the store, who react to a message, until `visit` returns false.
  virtual void reactions(const ConversationId& id, Seq seq, const UserId& after,
                         const std::function<bool(const UserId&, const std::vector<std::string>&)>& visit) = 0;
  /// Visits the users who left a group by an entry at or above `from`; some twice, some back again by now.
  virtual void left(const ConversationId& id, Seq from, const std::function<void(const UserId&)>& visit) = 0;

  /// Visits the members of a large group behind `after` (by joining, then by id) until `visit` returns false.
  virtual void members(const ConversationId& id, const Member& after,
                       const std::function<bool(const Member&)>& visit) = 0;
  /// Visits the ids of the conversations behind `after` (empty: all) whose row is `large`, by number of the group.
  virtual void large_groups(const UserId& user, const ConversationId& after,
                            const std::function<bool(const ConversationId&)>& visit) = 0;

  virtual UserHead user(const UserId& user) = 0;  // !exists(): there is none
  /// Rows of large groups are given as their logs stand (core/large_group.h), here and below.
  virtual const UserConversation* user_conversation(const UserId& user, const ConversationId& id) = 0;
  /// Visits index rows whose head_mark lies in (after, to], by head_mark, until `visit` returns false.
  virtual void by_head_mark(const UserId& user, Mark after, Mark to, Direction direction,
                            const std::function<bool(const UserConversation&)>& visit) = 0;
  /// The same by state_mark.
  virtual void by_state_mark(const UserId& user, Mark after, Mark to, Direction direction,
                             const std::function<bool(const UserConversation&)>& visit) = 0;

  /// Visits the ids of all conversations whose row has a mark above `after`, in any order, some perhaps twice.
  virtual void changed_since(const UserId& user, Mark after, const std::function<void(const ConversationId&)>& visit) {
    constexpr Mark kNoEnd{~std::uint64_t{0}};
    const auto visit_row = [&](const UserConversation& row) {
      visit(row.conversation);
      return true;
    };
    by_head_mark(user, after, kNoEnd, Direction::down, visit_row);
    by_state_mark(user, after, kNoEnd, Direction::down, visit_row);
  }

  /// Of what the user's index holds beside conversations: the one of this name; nothing: never made.
  virtual std::optional<UserObject> object(const UserId& user, const std::string& name) = 0;
  /// Visits objects with from <= name < to, by name, until `visit` returns false.
  virtual void objects(const UserId& user, const std::string& from, const std::string& to,
                       const std::function<bool(const UserObject&)>& visit) = 0;
  /// Visits objects whose mark lies in (after, to], the newest first, until `visit` returns false.
  virtual void objects_by_mark(const UserId& user, Mark after, Mark to,
                               const std::function<bool(const UserObject&)>& visit) = 0;
  /// Visits tombstones that were made in hours of 1970 below `hour`, the oldest first, until `visit` returns false.
  virtual void tombstones(std::uint32_t hour, const std::function<bool(const Tombstone&)>& visit) = 0;
  /// Visits expiries of files that nobody was told of, the earliest first, until `visit` returns false. Some messages
  /// may have another body by now.
  virtual void file_expiries(const std::function<bool(const FileExpiry&)>& visit) = 0;

  /// The first of these keys that is remembered.
  virtual std::optional<DedupRecord> remembered(std::span<const DedupKey> keys) = 0;
  virtual std::optional<Device> device(const UserId& user, const DeviceId& device) = 0;
  virtual std::vector<Device> devices(const UserId& user) = 0;
  virtual std::optional<PushTokenOwner> push_token_owner(const std::string& token) = 0;
  virtual Mutations mutations(const UserId& user, const DeviceId& device, const InstallId& install) = 0;

  /// The error of the first read that failed.
  virtual const std::optional<Error>& failure() const = 0;
};

}  // namespace tidemark
