// Random interleavings against the core's own server rules: pushes and hints lost, doubled and reordered, links cut,
// devices that crash, several devices of each user that send and read. When the faults stop, every device arrives, and
// all of a user's devices show what the server would tell a fresh one.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/conversation_id.h"
#include "core/replica/fold.h"
#include "core/replica/objects.h"
#include "core/replica/replica_testing.h"
#include "core/visibility.h"

namespace tidemark::replica {
namespace {

class World {
 public:
  explicit World(std::uint64_t seed) : dice_(seed) {
    server_.params.hole_above = 30;
    const std::vector<UserId> users{UserId("1001"), UserId("1002"), UserId("1003")};
    for (const UserId& user : users) {
      for (int i = 0; i < 2; ++i) {
        Options options;
        options.sync_limit = roll(3) == 0 ? 2 : 0;
        options.page_limit = 3 + static_cast<std::uint32_t>(roll(5));
        options.bodies = static_cast<Bodies>(roll(3));
        options.recent = 1 + static_cast<std::uint32_t>(roll(4));
        options.held_items_max = 1 + roll(5);
        devices_.push_back({std::make_unique<TestDevice>(user, DeviceId("d" + std::to_string(i)), options), nullptr});
      }
    }
    users_ = users;
    server_.create_group(users[0], {users[1], users[2]});
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      check_always();
    }
  }

  /// The faults stop: everybody connects and all frames arrive.
  void quiesce() {
    for (Peer& peer : devices_) {
      if (!peer.link) connect(peer);
    }
    for (int round = 0; round < 200; ++round) {
      for (Peer& peer : devices_) {
        if (round == 100) look_at_all(*peer.device);
        settle(server_, *peer.device, *peer.link);
        tick(peer, 700);
        if (peer.device->close_asked) reconnect(peer);
      }
    }
  }

  void check_at_rest() {
    for (Peer& peer : devices_) {
      TestDevice& device = *peer.device;
      const UserId& user = device.store.device().user;
      RC_ASSERT(device.replica->link() == LinkState::in_step);
      RC_ASSERT(device.replica->settled());
      RC_ASSERT(device.replica->held_pushes() == 0u);
      RC_ASSERT(device.store.outbox().empty());
      RC_ASSERT(device.store.mutations().empty());
      const SyncPage fresh = server_.read(user);
      RC_ASSERT(device.store.device().cursor.mark == fresh.head);
      check_objects(device, fresh);
      std::size_t listed = 0;
      for (const auto& [id, stored] : device.store.conversations()) listed += stored.state.object.removed ? 0 : 1;
      RC_ASSERT(listed == static_cast<std::size_t>(std::ranges::count(fresh.changes, false, &Change::removed)));
      for (const Change& change : fresh.changes) {
        const Change& shown = device.object(change.conversation);
        RC_ASSERT(shown.removed == change.removed);
        // Edits and their like in a removed conversation are told to nobody: its head goes on unseen.
        if (change.removed) continue;
        RC_ASSERT(shown.head_seq == change.head_seq);
        RC_ASSERT(shown.top == change.top);
        RC_ASSERT(shown.read == change.read);
        RC_ASSERT(shown.unread == change.unread);
        RC_ASSERT(shown.unread_flag == change.unread_flag);
        RC_ASSERT(shown.sort_time == change.sort_time);
        RC_ASSERT(shown.preview == change.preview);
        RC_ASSERT(shown.title == change.title);
        RC_ASSERT(shown.cleared == change.cleared);
        RC_ASSERT(shown.muted_until == change.muted_until);
        RC_ASSERT(shown.pinned_at == change.pinned_at);
        check_rows(device, change.conversation);
        const ConversationState& state = device.state(change.conversation);
        RC_ASSERT(shown.touch_seq == change.touch_seq);
        RC_ASSERT(state.touched >= change.touch_seq);
        // Where the head is hidden there is nothing to hold.
        const UserConversation& row = *server_.view.user_conversation(user, change.conversation);
        if (!visible({server_.view, user, row}, change.head_seq)) continue;
        RC_ASSERT(state.tail == change.head_seq);
        RC_ASSERT(state.coverage.contains(change.head_seq));
      }
    }
    // What a user pressed send for is in the log once.
    for (const auto& [id, count] : pressed_texts()) RC_ASSERT(count == 1u);
  }

 private:
  struct Peer {
    std::unique_ptr<TestDevice> device;
    TestLink* link;
  };

  std::size_t roll(std::size_t sides) { return std::uniform_int_distribution<std::size_t>(0, sides - 1)(dice_); }
  Peer& any_peer() { return devices_[roll(devices_.size())]; }
  const UserId& any_user() { return users_[roll(users_.size())]; }

  void connect(Peer& peer) {
    peer.link = &server_.connect(peer.device->store.device().user);
    peer.device->close_asked = false;
    peer.device->connect();
  }
  void disconnect(Peer& peer) {
    if (!peer.link) return;
    server_.disconnect(*peer.link);
    peer.link = nullptr;
    peer.device->disconnect();
  }
  void reconnect(Peer& peer) {
    disconnect(peer);
    connect(peer);
  }
  void tick(Peer& peer, std::int64_t ms) {
    server_.wall_ms += ms;
    peer.device->advance(ms);
  }

  void act() {
    Peer& peer = any_peer();
    TestDevice& device = *peer.device;
    switch (roll(17)) {
      case 0:
        return peer.link && roll(4) == 0 ? disconnect(peer) : peer.link ? void() : connect(peer);
      case 1:
        return roll(3) == 0 ? crash(peer) : tick(peer, static_cast<std::int64_t>(roll(1'500)));
      case 2:
        return tick(peer, 100);
      case 3:
        return press_send(device);
      case 4:
        return read_something(device);
      case 5:
        return void(server_.send_to(any_user(), ConversationId("group_1"), "group talk"));
      case 6:
        return look_somewhere(device);
      case 7:
        return change_something();
      case 8:
        return change_own_state(device);
      default:
        return roll(3) == 0 && !device.up.empty() ? up(peer) : down(peer);
    }
  }

  void crash(Peer& peer) {
    if (peer.link) server_.disconnect(*peer.link);
    peer.link = nullptr;
    peer.device->start();
  }

  void look_at_all(TestDevice& device) {
    for (const auto& [id, stored] : std::map(device.store.conversations())) {
      device.replica->open(device.now, id);
      device.take();
    }
  }

  void press_send(TestDevice& device) {
    const UserId& user = device.store.device().user;
    const UserId& to = any_user();
    const std::string text = "pressed " + std::to_string(++pressed_);
    Draft draft;
    if (roll(3) == 0) {
      draft.conversation = ConversationId("group_1");
    } else {
      draft.to = to == user ? users_[0] : to;
    }
    draft.body.text = text;
    if (device.replica->send(device.now, draft)) sent_.insert(text);
    device.take();
  }

  /// A message of the group's talk is edited or taken back by its author, on one of his devices or elsewhere.
  void change_something() {
    const ConversationId group("group_1");
    const Seq seq(1 + roll(server_.view.line(group).seq.value));
    const auto entry = server_.view.entry(group, seq);
    if (!entry || !entry->countable() || sent_.contains(entry->body.text)) return;
    Body body;
    body.text = "said otherwise " + std::to_string(++pressed_);
    const bool recall = roll(2) == 0;
    Peer& peer = any_peer();
    TestDevice& device = *peer.device;
    if (roll(3) == 0) return react(device, group, seq);
    if (device.store.device().user != entry->sender) {
      MutateCommand command{entry->sender, DeviceId("other"), {}, 0, {}};
      if (recall) {
        command.change = RecallCommand{entry->sender, DeviceId("other"), group, seq, false};
      } else {
        command.change = EditCommand{entry->sender, DeviceId("other"), group, seq, body, std::nullopt};
      }
      return void(server_.run(command));
    }
    if (recall) {
      (void)device.replica->recall(device.now, group, seq);
    } else {
      (void)device.replica->edit(device.now, group, seq, body);
    }
    device.take();
  }

  /// On this device, or by its user elsewhere.
  void react(TestDevice& device, const ConversationId& id, Seq seq) {
    const std::string name = "r" + std::to_string(roll(3));
    const bool on = roll(3) != 0;
    if (roll(2) == 0) {
      (void)device.replica->react(device.now, id, seq, name, on);
      return device.take();
    }
    const UserId user = device.store.device().user;
    MutateCommand command{user, DeviceId("other"), {}, 0, {}};
    command.change = ReactCommand{user, DeviceId("other"), id, seq, name, on};
    (void)server_.run(command);
  }

  void read_something(TestDevice& device) {
    if (device.store.conversations().empty()) return;
    auto it = device.store.conversations().begin();
    std::advance(it, static_cast<long>(roll(device.store.conversations().size())));
    const ConversationId id = it->first;
    if (roll(4) == 0) {
      RC_ASSERT(device.replica->mark_unread(device.now, id).has_value());
    } else {
      RC_ASSERT(device.replica->mark_read(device.now, id, Seq(roll(40))).has_value());
    }
    device.take();
  }

  /// What a user makes of a conversation for himself, or keeps beside them.
  void change_own_state(TestDevice& device) {
    if (device.store.conversations().empty()) return;
    auto it = device.store.conversations().begin();
    std::advance(it, static_cast<long>(roll(device.store.conversations().size())));
    const ConversationId id = it->first;
    Replica& replica = *device.replica;
    const Seq seq(1 + roll(30));
    Body body;
    if (roll(3) != 0) body.text = "begun " + std::to_string(++pressed_);
    switch (roll(9)) {
      case 0:
        (void)replica.clear(device.now, id, Seq(roll(12)));
        break;
      case 1:
        if (roll(2) == 0) (void)replica.remove(device.now, id);
        break;
      case 2:
      case 3:
        (void)replica.delete_for_me(device.now, id, {{seq - 1, seq}});
        break;
      case 4:
        (void)replica.delete_for_me(device.now, id, {{seq - 1, seq + roll(5)}});
        break;
      case 5:
        (void)replica.mute(device.now, id, roll(2) == 0 ? 0 : kForEver - static_cast<std::int64_t>(roll(2)));
        break;
      case 6:
        (void)replica.pin(device.now, id, roll(2) == 0);
        break;
      case 7:
        (void)replica.set_object(device.now, {SavedDraft{id, body, body == Body() ? Seq() : seq}});
        break;
      default:
        (void)replica.set_object(device.now, {Setting{roll(2) == 0 ? "a" : "b", std::to_string(roll(3))}});
        (void)replica.set_object(device.now, {BlockedUser{UserId("9009"), roll(2) == 0}});
    }
    device.take();
  }

  void check_objects(const TestDevice& device, const SyncPage& fresh) {
    std::map<std::string, UserObject> told;
    for (const UserObject& object : fresh.objects)
      if (!std::holds_alternative<DeletedBlock>(object.what)) told[tidemark::name_of(object)] = object;
    std::map<std::string, UserObject> shown;
    for (const UserObject& object : device.replica->objects().all()) shown[tidemark::name_of(object)] = object;
    RC_ASSERT(shown.size() == told.size());
    for (const auto& [name, state] : device.store.objects())
      RC_ASSERT(name == tidemark::name_of(state.object) && !std::holds_alternative<DeletedBlock>(state.object.what));
    for (const auto& [name, object] : told) {
      RC_ASSERT(shown.contains(name));
      // The device that saved it was not told when.
      if (const auto* draft = std::get_if<SavedDraft>(&object.what)) {
        RC_ASSERT(std::get<SavedDraft>(shown[name].what).body == draft->body);
        RC_ASSERT(std::get<SavedDraft>(shown[name].what).reply_to == draft->reply_to);
      } else {
        RC_ASSERT(shown[name].what == object.what);
      }
    }
  }

  void look_somewhere(TestDevice& device) {
    if (device.store.conversations().empty()) return;
    auto it = device.store.conversations().begin();
    std::advance(it, static_cast<long>(roll(device.store.conversations().size())));
    const ConversationId id = it->first;
    switch (roll(4)) {
      case 0:
        device.replica->open(device.now, id);
        break;
      case 1:
        device.replica->close(device.now, id);
        break;
      case 2:
        device.replica->scroll_back(device.now, id, Seq(roll(20)));
        break;
      default:
        device.replica->scroll_forward(device.now, id, Seq(roll(20)));
    }
    device.take();
  }

  void up(Peer& peer) {
    if (!peer.link) return;
    const Request request = std::move(peer.device->up.front());
    peer.device->up.pop_front();
    server_.receive(*peer.link, request);
  }

  /// One frame: answers in order, pushes and hints in any order, lost or doubled.
  void down(Peer& peer) {
    if (!peer.link || peer.link->down.empty()) return;
    auto& waiting = peer.link->down;
    std::size_t at = roll(std::min<std::size_t>(waiting.size(), 3));
    if (waiting[at].id != 0) {
      at = 0;
      while (at < waiting.size() && waiting[at].id == 0) ++at;
    }
    ServerFrame frame = waiting[at];
    const std::size_t fate = frame.id == 0 ? roll(10) : 9;
    if (fate != 1) waiting.erase(waiting.begin() + static_cast<long>(at));  // 1: comes again
    if (fate == 0) return;                                                  // lost
    peer.device->frame(std::move(frame));
    if (peer.device->close_asked) disconnect(peer);
  }

  /// Whatever happens: no row that the log does not have, one row for each place, unread never above what the head
  /// allows, the cursor never beyond the server's head.
  void check_always() {
    for (Peer& peer : devices_) {
      const TestDevice& device = *peer.device;
      RC_ASSERT(device.store.device().cursor.mark <= server_.view.user(device.store.device().user).mark);
      RC_ASSERT(device.replica->held_pushes() <= device.options.held_items_max);
      for (const auto& [id, stored] : device.store.conversations()) check_rows(device, id);
    }
  }

  void check_rows(const TestDevice& device, const ConversationId& id) {
    const auto* stored = device.store.conversation(id);
    for (const auto& [seq, row] : stored->rows) {
      RC_ASSERT(!stored->state.deleted.contains(seq));
      RC_ASSERT(seq > stored->state.object.cleared);
      auto entry = server_.view.entry(id, seq);
      RC_ASSERT(entry.has_value());
      RC_ASSERT(!entry->target);
      const RowNote truth = note_of(*entry, device.store.device().user);
      RC_ASSERT(!outranks(row.note, truth));
      const UserId user = device.store.device().user;
      // What has changed it up to `touched` is here, unless the user has deleted it elsewhere and this device is yet to
      // hear of that: what changes it then is not told to him.
      const UserConversation& of_user = *server_.view.user_conversation(user, id);
      const bool behind = entry->touched_by > stored->state.touched || row.note.provisional;
      RC_ASSERT(behind || !outranks(truth, row.note) || !visible({server_.view, user, of_user}, seq));
      RC_ASSERT(outranks(truth, row.note) || entry->body == row.entry->body);
      for (Reaction& each : entry->reactions) {
        const auto own = server_.view.reactions_of(id, seq, user);
        each.mine = std::ranges::find(own, each.name) != own.end();
      }
      RC_ASSERT(outranks(truth, row.note) || entry->reactions == row.entry->reactions);
      RC_ASSERT(entry->sender == row.entry->sender);
    }
    for (const Interval& range : stored->state.coverage.ranges())
      for (Seq seq = range.after + 1; seq <= range.to; seq = seq + 1) {
        const auto entry = server_.view.entry(id, seq);
        RC_ASSERT(stored->rows.contains(seq) || (entry && entry->target));
      }
    RC_ASSERT(stored->state.touched <= server_.view.line(id).seq);
  }

  std::map<std::string, std::size_t> pressed_texts() {
    std::map<std::string, std::size_t> counts;
    for (const std::string& text : sent_) counts[text] = 0;
    std::set<ConversationId> ids;
    ids.insert(ConversationId("group_1"));
    for (const UserId& user : users_)
      for (const UserId& other : users_) ids.insert(single_conversation(user, other));
    for (const ConversationId& id : ids)
      server_.view.entries(id, Seq(0), server_.view.line(id).seq, Direction::up, [&](const Entry& entry) {
        if (const auto found = counts.find(entry.body.text); found != counts.end()) ++found->second;
        return true;
      });
    return counts;
  }

  std::mt19937_64 dice_;
  TestServer server_;
  std::vector<UserId> users_;
  std::vector<Peer> devices_;
  std::set<std::string> sent_;
  std::uint64_t pressed_ = 0;
};

TEST(Replica, WhateverIsLostDoubledReorderedOrCrashedAllEndInStep) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    World world(seed);
    world.run(400);
    world.quiesce();
    world.check_at_rest();
  }));
}

}  // namespace
}  // namespace tidemark::replica
