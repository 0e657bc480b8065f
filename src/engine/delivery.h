// Delivery: from the notices of a round to the links of the users concerned (design, section 4). It keeps, for every
// user with a live link and for a while after, the most recent changes of his index, so that a link can be pushed to
// again, or armed behind a sync answer, without asking the store. Bounded by entries and bytes everywhere.
// One thread; no I/O: what it decides goes through the port.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/commands.h"
#include "engine/push_order.h"

namespace tidemark {

using SessionId = std::uint64_t;

enum class LinkEnd : std::uint8_t { replaced, unacknowledged };

class DeliveryPort {
 public:
  virtual ~DeliveryPort() = default;
  virtual void push(SessionId session, std::span<const PushRef> items) = 0;
  virtual void hint(SessionId session, Mark head) = 0;
  /// Where logs of large groups stand; whoever asks for more waits up to `spread_ms`, by chance, so that not all ask at
  /// once.
  virtual void heads(SessionId session, std::span<const KnownHead> heads, std::int64_t spread_ms) = 0;
  virtual void end(SessionId session, LinkEnd reason) = 0;
  /// The socket has not yet taken what it was given.
  virtual bool blocked(SessionId session) const = 0;
};

struct DeliveryOptions {
  std::size_t push_entries = 50;
  std::size_t push_bytes = 64 * 1024;
  std::size_t inline_bytes = 4'096;  // longer bodies are cut (core/slim.h)
  std::int64_t again_ms = 10'000;    // an entry not acknowledged for so long is pushed again
  int again_max = 3;
  std::int64_t low_wait_ms = 5'000;             // the longest that messages of low priority wait for company
  std::size_t busy_pushes_per_second = 20'000;  // from here on they wait so long; else for the next tick
  std::int64_t linger_ms = 60'000;              // the recent changes of a user without links are kept so long
  std::size_t heads_entries = 50;               // groups in one notice
  std::int64_t spread_max_ms = 30'000;
  std::size_t asking_per_second = 4'000;  // devices that are told at once are to ask so many a second
};

class Delivery {
 public:
  Delivery(DeliveryPort& port, DeliveryOptions options) : port_(port), options_(options) {}

  struct Attach {
    SessionId session = 0;
    UserId user;
    DeviceId device;
    LoginReply login;
    Mark cursor;  // what the device stands at; counts only in mode delta
    bool foreground = true;
    std::uint64_t round = 0;  // the cursor's
  };
  /// A device was welcomed. An older link of the same device ends silently.
  void attach(const Attach& attach, std::int64_t now_ms);
  void detach(SessionId id, std::int64_t now_ms);

  /// The notices of a round, after its answers.
  void publish(const std::vector<Notice>& notices, std::int64_t now_ms);
  /// What these take back is told to nobody any more, not even to who logs in before they are published.
  void forget(const std::vector<Notice>& notices) {
    for (const Notice& notice : notices) forget(notice);
  }
  /// Cumulative. `round`: of the cursor that says so, 0 where only the mark was told.
  void acknowledge(SessionId id, Mark mark, std::int64_t now_ms, std::uint64_t round = 0);
  /// Entries above the mark that came ahead of their place: they are not pushed again.
  void acknowledge_ahead(SessionId id, std::vector<KnownHead> entries);
  /// A sync request stops pushing until an answer reaches the head.
  void pulling(SessionId id);
  /// A sync answer that ends at `to` was put on the wire; `complete` when it says that nothing more is known. `round`:
  /// all of the index up to it lies at or below `to`.
  void answered(SessionId id, Mark to, bool complete, std::int64_t now_ms, std::uint64_t round);
  /// The conversations that the device has open from now on: of large groups among them it is pushed every entry.
  void focus(SessionId id, std::vector<ConversationId> open);
  /// In the background nothing is told of large groups but what concerns the user himself.
  void foreground(SessionId id, bool on);
  /// Whether the user is in a large group.
  bool in_large_groups(SessionId id) const;
  /// The socket has taken everything.
  void unblocked(SessionId id, std::int64_t now_ms);
  /// Call about once a second.
  void tick(std::int64_t now_ms);

  /// The user's head mark as far as it is known here; nothing without a link.
  std::optional<Mark> head_of(SessionId id) const;
  /// Whether messages wait for the link's socket.
  bool waiting(SessionId id) const;
  /// What the device acknowledged.
  Mark acknowledged(SessionId id) const;
  /// All of the user's index up to this commit round has come to it.
  std::uint64_t acknowledged_round(SessionId id) const;
  std::size_t sessions() const { return sessions_.size(); }
  std::size_t users() const { return users_.size(); }

  // For those who watch over what is kept.
  /// `see` is given each user, his recent changes, and the number of his links.
  template <typename See>
  void each_user(See see) const {
    for (const auto& [id, user] : users_) see(id, user->recent, user->sessions.size());
  }
  /// `see` is given each link and what waits for its socket.
  template <typename See>
  void each_queue(See see) const {
    for (const auto& [id, session] : sessions_) see(id, session->pending);
  }

 private:
  struct User;
  struct Session {
    SessionId id = 0;
    User* user = nullptr;
    DeviceId device;
    bool armed = false;  // stands at the head: what comes is pushed
    Mark position;       // pushed, or waiting in `pending`, up to here
    Mark acknowledged;
    std::uint64_t acknowledged_round = 0;
    Mark answered;  // the last sync answer after which pushes go on, and its round
    std::uint64_t answered_round = 0;
    Mark unacknowledged_from;  // pushes above this and the acknowledged mark wait for an ack
    std::int64_t waiting_since_ms = 0;
    int pushed_again = 0;
    bool foreground = true;
    bool missed = false;               // an entry of a large group was not pushed: the next notice makes up for it
    std::vector<ConversationId> open;  // large or not
    std::vector<PushRef> pending;
    std::size_t pending_bytes = 0;
    std::int64_t low_since_ms = 0;  // nothing but messages of low priority is pending, since then; 0: not so
    std::vector<KnownHead> ahead;   // entries acknowledged ahead of their place
  };
  /// Up to which commit round all of the index lies at or below the mark, as far as that is known here; else 0.
  std::uint64_t round_at(const Session& session, Mark mark) const;
  struct User {
    UserId id;
    Mark head;
    std::list<PushRef> recent;  // a chain without gaps that ends at head; a list owns nothing while empty
    std::size_t recent_bytes = 0;
    std::vector<Session*> sessions;
    std::vector<ConversationId> large;  // the large groups that he is in
    std::vector<ConversationId> held;   // where holders_ has him
    std::int64_t idle_since_ms = 0;
  };
  /// A large group with members here.
  struct Group {
    std::unordered_set<User*> users;
    std::vector<Session*> open;  // who is pushed every entry
    Seq head;                    // as last published
    bool changed = false;        // since the last notice
  };

  void follow(User& user, const ConversationId& id, bool large);
  void tell_open(const Notice& notice, const std::shared_ptr<SharedEntry>& shared, std::vector<SessionId>& offered);
  void offer_entry(Session& session, const PushRef& ref);
  void close_all(Session& session);
  /// Sessions that may hold the notice's entry, or what it takes back, besides its receivers'.
  std::vector<Session*> told_besides(const Notice& notice);
  void tell_heads();
  void remember(User& user, const PushRef& ref);
  /// More has changed than is told: whoever is there pulls.
  void moved(User& user, Mark head);
  /// What was told of a message that is dead by now is not told again: neither it nor its edits nor previews of it.
  void forget(const Notice& notice);
  /// The user, or a device of his, keeps what he may not be a receiver of when it is taken back: an entry from before
  /// the group became large or he left it, the preview of a large group.
  void note_holder(User& user, const ConversationId& id);
  void drop_holder(User& user, const ConversationId& id);
  /// The recent changes in (after, head], or nothing when they are not all kept.
  std::optional<std::vector<PushRef>> recent_after(const User& user, Mark after) const;
  void offer(Session& session, const PushRef& ref);
  /// Whether what waits can wait for company.
  bool waits_for_company(Session& session, std::int64_t now_ms) const;
  void flush_low(std::int64_t now_ms);
  void flush(Session& session, std::int64_t now_ms);
  /// Pushes what fits; returns the first of `items` that has not left whole.
  std::size_t push_ordered(Session& session, const std::vector<PushRef>& items, bool low_waits);
  void disarm(Session& session);
  void hint(Session& session);
  void push(const Session& session, std::span<const PushRef> items);
  void push_again(Session& session, std::int64_t now_ms);

  DeliveryPort& port_;
  const DeliveryOptions options_;
  std::unordered_map<SessionId, std::unique_ptr<Session>> sessions_;
  std::unordered_map<UserId, std::unique_ptr<User>> users_;
  std::unordered_map<ConversationId, std::unordered_set<User*>> holders_;
  std::map<ConversationId, Group> groups_;
  std::size_t pushed_ = 0;  // since the last tick
  bool busy_ = false;
};

}  // namespace tidemark
