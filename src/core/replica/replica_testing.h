// For tests: a server made of the core's own rules over a store in memory, links that tests deliver by hand, and a
// device around a replica whose store survives its crashes.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <utility>

#include "base/check.h"
#include "core/decide.h"
#include "core/large_group.h"
#include "core/reads.h"
#include "core/replica/memory_store.h"
#include "core/replica/replica.h"
#include "core/slim.h"
#include "core/test_view.h"

namespace tidemark::replica {

/// One connection as the server sees it. What it sends waits in `down` until a test delivers it.
struct TestLink {
  UserId user;
  DeviceId device;
  InstallId install;
  bool welcomed = false;
  bool armed = false;  // pushes are sent; otherwise a hint told of them
  bool hinted = false;
  std::vector<ConversationId> open = {};  // large groups
  std::deque<ServerFrame> down;
};

class TestServer {
 public:
  TestView view;
  CoreParams params;
  std::int64_t wall_ms = 1'700'000'000'000;
  std::size_t syncs = 0;  // answered so far
  std::size_t conversation_syncs = 0;
  std::size_t histories = 0;
  std::size_t head_questions = 0;

  TestLink& connect(const UserId& user) {
    TestLink& link = links_.emplace_back();
    link.user = user;
    return link;
  }
  void disconnect(const TestLink& link) {
    links_.remove_if([&](const TestLink& other) { return &other == &link; });
  }

  /// Decides, writes and pushes.
  Result<Reply> run(const Command& command) {
    wall_ms += 1;
    view.set_round(view.round() + 1);
    TM_ASSIGN(Decision decision, decide(view, command, Context{wall_ms, params}));
    write(decision.writes);
    for (const Notice& notice : decision.notices) push(notice);
    return std::move(decision.reply);
  }

  /// A message of another client, sent in one go.
  SentReply send(const UserId& sender, const UserId& to, const std::string& text,
                 Priority priority = Priority::normal) {
    return send_command(sender, to, {}, text, priority);
  }
  SentReply send_to(const UserId& sender, const ConversationId& conversation, const std::string& text) {
    return send_command(sender, {}, conversation, text);
  }
  ConversationId create_group(const UserId& creator, const std::vector<UserId>& members) {
    CreateGroupCommand command;
    command.creator = creator;
    command.title = "group";
    command.members = members;
    const auto reply = run(command);
    TM_CHECK(reply.has_value(), "the group is made");
    return std::get<GroupReply>(*reply).group.id;
  }

  /// Takes a request off the wire and puts the answer on it.
  void receive(TestLink& link, const Request& request) {
    std::visit([&](const auto& operation) { answer(link, request.id, operation); }, request.operation);
  }

  /// The server as it is put back from this backup, under a new epoch.
  void restore(const TestServer& backup) {
    std::vector<Epoch> lineage = view.lineage();
    lineage.push_back(view.epoch());
    view = backup.view;
    view.set_lineage(lineage);
    view.set_epoch({lineage.back().number + 1, 4'711});
    links_.clear();
  }

  SyncPage read(const UserId& user, const Cursor& cursor = {}) {
    SyncQuery query;
    query.user = user;
    query.cursor = cursor;
    const auto page = read_sync(view, params, query);
    TM_CHECK(page.has_value(), "a plain sync is answered");
    return *page;
  }

 private:
  SentReply send_command(const UserId& sender, const UserId& to, const ConversationId& conversation,
                         const std::string& text, Priority priority = Priority::normal) {
    SendCommand command;
    command.priority = priority;
    command.sender = sender;
    command.device = DeviceId("other");
    command.to = to;
    command.conversation = conversation;
    command.client_msg_id =
        make_uuid_v7(wall_ms, Uuid7Random{static_cast<std::uint8_t>(++sends_ >> 16),
                                          static_cast<std::uint8_t>(sends_ >> 8), static_cast<std::uint8_t>(sends_)});
    command.body.text = text;
    const auto reply = run(command);
    TM_CHECK(reply.has_value(), "the message is taken");
    return std::get<SentReply>(*reply);
  }

  void write(const Writes& writes) {
    for (const auto& [id, entry] : writes.entries) view.put_entry(id, *entry);
    for (const auto& changed : writes.changed)
      view.put_changed(changed.conversation, *changed.row, changed.touched_before);
    for (const auto& made : writes.reactions) view.put_reactions(made.conversation, made.seq, made.user, made.names);
    for (const auto& [id, seq] : writes.erased_reactions) view.erase_reactions(id, seq);
    for (const Conversation& conversation : writes.conversations) view.put(conversation);
    for (const auto& [user, head] : writes.users) view.put_user(user, head);
    for (const auto& row : writes.rows) view.put_row(row.user, row.row);
    for (const auto& each : writes.large_members) view.put_member(each.conversation, each.member, each.in);
    for (const auto& [user, object] : writes.objects) view.put_object(user, object);
    for (const auto& [user, name] : writes.dropped_objects) view.erase_object(user, name);
    for (const Tombstone& tombstone : writes.tombstones) view.put_tombstone(tombstone);
    for (const Tombstone& tombstone : writes.dropped_tombstones) view.erase_tombstone(tombstone);
    for (const FileExpiry& expiry : writes.file_expiries) view.put_file_expiry(expiry);
    for (const FileExpiry& expiry : writes.dropped_file_expiries) view.erase_file_expiry(expiry);
    for (const auto& [key, record] : writes.dedup) view.remember(key, record);
    for (const auto& [user, device] : writes.devices) view.put_device(user, device);
    for (const auto& [user, device] : writes.erased_devices) view.erase_device(user, device);
    for (const auto& [token, owner] : writes.push_tokens) view.put_push_token(token, owner);
    for (const auto& row : writes.mutations) view.put_mutations(row.user, row.device, row.install, row.mutations);
    if (writes.last_group) view.set_last_group(*writes.last_group);
  }

  void push(const Notice& notice) {
    push_to_receivers(notice);
    if (!notice.large || !notice.entry) return;
    for (TestLink& link : links_) {
      const bool received = std::ranges::find(notice.receivers, link.user, &Receiver::user) != notice.receivers.end();
      const bool open = std::ranges::find(link.open, notice.conversation) != link.open.end();
      if (!link.welcomed || !link.armed || received || !(open || link.user == notice.entry->sender)) continue;
      PushItem item;
      item.conversation = notice.conversation;
      auto entry = std::make_shared<Entry>(slim(*notice.entry, params.inline_bytes));
      if (entry->sender == link.user) item.client_msg_id = entry->client_msg_id;
      entry->client_msg_id.clear();
      item.entry = std::move(entry);
      link.down.push_back({0, Push{{std::move(item)}}});
    }
  }

  void push_to_receivers(const Notice& notice) {
    for (const Receiver& receiver : notice.receivers) {
      for (TestLink& link : links_) {
        if (link.user != receiver.user || !link.welcomed) continue;
        if (!link.armed) {
          if (!std::exchange(link.hinted, true)) link.down.push_back({0, Hint{receiver.to}});
          continue;
        }
        PushItem item;
        item.index_after = receiver.after;
        item.index_to = receiver.to;
        item.round = notice.round;
        item.sort_time = receiver.sort_time;
        item.mentioned = receiver.mentioned;
        item.summary = receiver.summary;
        item.objects = receiver.objects;
        item.conversation = notice.conversation;
        if (notice.entry) {
          auto entry = std::make_shared<Entry>(slim(*notice.entry, params.inline_bytes));
          if (entry->sender == receiver.user) item.client_msg_id = entry->client_msg_id;
          entry->client_msg_id.clear();  // not among the shared bytes
          item.entry = std::move(entry);
        }
        link.down.push_back({0, Push{{std::move(item)}}});
      }
    }
  }

  template <typename T>
  void reply(TestLink& link, std::uint64_t id, Result<T> result) {
    if (result) {
      link.down.push_back({id, Answer(std::move(*result))});
    } else {
      link.down.push_back({id, Answer(std::move(result.error()))});
    }
  }

  void answer(TestLink& link, std::uint64_t id, const Hello& hello) {
    LoginCommand command;
    command.user = link.user;
    command.device = hello.device;
    command.install = hello.install;
    command.generation = hello.session_generation;
    command.cursor = hello.cursor;
    const auto result = run(command);
    if (!result) return link.down.push_back({id, result.error()});
    const auto& login = std::get<LoginReply>(*result);
    link.device = hello.device;
    link.install = hello.install;
    link.welcomed = true;
    link.armed = login.mode == Mode::delta && login.behind == 0 && !hello.cursor.empty();
    Welcome welcome{login.generation,
                    login.mode,
                    login.head,
                    login.behind,
                    login.highest_mutation,
                    wall_ms,
                    link.user,
                    hello.device,
                    0,
                    login.large_digest != hello.large_digest};
    link.down.push_back({id, welcome});
    if (!link.armed && login.behind > 0) link.down.push_back({0, Hint{login.head.mark}});
  }
  void answer(TestLink& link, std::uint64_t id, const Sync& sync) {
    ++syncs;
    SyncQuery query{link.user,        sync.cursor, sync.p0,     sync.p0_round,
                    sync.below,       sync.limit,  sync.bodies, sync.bodies == Bodies::recent ? sync.recent : 0,
                    sync.byte_budget, {},          {},          {}};
    if (const auto bar = sync.page_token.find('|'); bar != std::string::npos) {
      query.resume_after = Seq(std::stoull(sync.page_token.substr(0, bar)));
      query.resume_conversation = ConversationId(sync.page_token.substr(bar + 1));
      if (query.resume_conversation.empty()) query.resume_objects = Mark(query.resume_after.value);
    }
    auto page = read_sync(view, params, query);
    if (!page) return link.down.push_back({id, page.error()});
    if (!page->more) link.armed = true, link.hinted = false;
    SyncAnswer answer{std::move(*page), {}};
    const std::uint64_t place =
        answer.page.resume_objects ? answer.page.resume_objects.value : answer.page.resume_after.value;
    if (!answer.page.complete())
      answer.page_token = std::to_string(place) + "|" + answer.page.resume_conversation.value;
    link.down.push_back({id, std::move(answer)});
  }
  void answer(TestLink& link, std::uint64_t id, const Jumps& jumps) {
    reply(link, id, read_jumps(view, link.user, jumps.lines));
  }
  void answer(TestLink& link, std::uint64_t id, const ConversationSync& sync) {
    ++conversation_syncs;
    reply(link, id,
          read_conversation_sync(
              view, params,
              {link.user, sync.conversation, sync.after, sync.known, sync.limit, sync.touch_cursor, sync.to}));
  }
  void answer(TestLink& link, std::uint64_t id, const History& history) {
    ++histories;
    HistoryQuery query;
    query.user = link.user;
    query.conversation = history.conversation;
    query.before = history.before;
    query.after = history.after;
    query.limit = history.limit;
    reply(link, id, read_history(view, params, query));
  }
  void answer(TestLink& link, std::uint64_t id, const Send& send) {
    SendCommand command{link.user,          link.device,      send.to,   send.conversation,
                        send.client_msg_id, send.client_time, send.body, send.reply_to,
                        send.mentions,      send.priority,    false,     send.mention_all};
    const auto result = run(command);
    if (!result) return link.down.push_back({id, result.error()});
    link.down.push_back({id, std::get<SentReply>(*result)});
  }
  void answer(TestLink& link, std::uint64_t id, const Mutate& mutate) {
    MutateCommand command{link.user, link.device, link.install, mutate.item.number, {}};
    const MutationItem& item = mutate.item;
    switch (item.kind) {
      case MutationKind::read:
        command.change = ReadCommand{link.user, item.conversation, item.seq};
        break;
      case MutationKind::mark_unread:
        command.change = MarkUnreadCommand{link.user, item.conversation};
        break;
      case MutationKind::recall:
        command.change = RecallCommand{link.user, link.device, item.conversation, item.seq, false};
        break;
      case MutationKind::edit:
        command.change =
            EditCommand{link.user, link.device, item.conversation, item.seq, item.body, item.base_revision};
        break;
      case MutationKind::react:
        command.change = ReactCommand{link.user, link.device, item.conversation, item.seq, item.name, item.on};
        break;
      case MutationKind::clear:
        command.change = ClearCommand{link.user, item.conversation, item.seq};
        break;
      case MutationKind::remove:
        command.change = RemoveCommand{link.user, item.conversation, item.seq};
        break;
      case MutationKind::delete_for_me:
        command.change = DeleteForMeCommand{link.user, item.conversation, item.ranges};
        break;
      case MutationKind::mute:
        command.change = MuteCommand{link.user, item.conversation, item.until};
        break;
      case MutationKind::pin:
        command.change = PinCommand{link.user, item.conversation, item.on};
        break;
      case MutationKind::draft:
        command.change = DraftCommand{link.user, item.conversation, item.body, item.seq};
        break;
      case MutationKind::setting:
        command.change = SettingCommand{link.user, item.name, item.value};
        break;
      case MutationKind::block:
        command.change = BlockCommand{link.user, UserId(item.name), item.on};
        break;
    }
    const auto result = run(command);
    if (!result) return link.down.push_back({id, result.error()});
    link.down.push_back({id, std::get<MutatedReply>(*result)});
  }
  void answer(TestLink& link, std::uint64_t id, const AskBody& ask) {
    auto whole = read_body(view, link.user, ask.conversation, ask.seq);
    if (!whole) return link.down.push_back({id, whole.error()});
    link.down.push_back({id, WholeBody{ask.conversation, ask.seq, whole->revision, whole->body}});
  }
  void answer(TestLink& link, std::uint64_t id, const AskReceipts& ask) {
    auto receipts = read_receipts(view, params, {link.user, ask.conversation, {}});
    if (!ask.watch) return;
    if (!receipts) return link.down.push_back({id, receipts.error()});
    link.down.push_back({id, std::move(*receipts)});
  }
  void answer(TestLink& link, std::uint64_t id, AskReactions ask) {
    ask.query.user = link.user;
    auto page = read_reactions(view, {}, ask.query);
    if (!page) return link.down.push_back({id, page.error()});
    link.down.push_back({id, WhoReacted{std::move(page->users), page->next.value}});
  }
  void answer(TestLink& link, std::uint64_t id, const AskMembers& ask) {
    Member after;
    if (const auto bar = ask.page_token.find('|'); bar != std::string::npos) {
      after.join = Seq(std::stoull(ask.page_token.substr(0, bar)));
      after.user = UserId(ask.page_token.substr(bar + 1));
    }
    auto page = read_members(view, params, link.user, ask.conversation, ask.limit, after);
    if (!page) return link.down.push_back({id, page.error()});
    ListedMembers listed;
    for (const Member& member : page->members) listed.members.push_back({member, 0});
    if (!page->next_after.user.empty())
      listed.page_token = std::to_string(page->next_after.join.value) + "|" + page->next_after.user.value;
    link.down.push_back({id, std::move(listed)});
  }
  void answer(TestLink& link, std::uint64_t id, const DeviceCall& call) {
    std::visit([&](const auto& request) { answer_devices(link, id, request); }, call.request);
  }
  void answer_devices(TestLink& link, std::uint64_t id, const DevicesQuery&) {
    link.down.push_back({id, listed(link, view.devices(link.user))});
  }
  void answer_devices(TestLink& link, std::uint64_t id, ChangeDeviceCommand command) {
    command.user = link.user;
    const auto result = run(command);
    if (!result) return link.down.push_back({id, result.error()});
    link.down.push_back({id, listed(link, {std::get<Device>(*result)})});
  }
  void answer_devices(TestLink& link, std::uint64_t id, const Logout&) {
    end_sessions(link, id, {link.user, link.device, {}, SessionEnd::logged_out, false});
  }
  void answer_devices(TestLink& link, std::uint64_t id, const LogoutOthers&) {
    end_sessions(link, id, {link.user, {}, link.device, SessionEnd::logged_out, false});
  }
  void answer_devices(TestLink& link, std::uint64_t id, const RemoveDevice& removed) {
    end_sessions(link, id, {link.user, removed.device, {}, SessionEnd::removed, false});
  }
  void end_sessions(TestLink& link, std::uint64_t id, const EndSessionsCommand& command) {
    const auto result = run(command);
    if (!result) return link.down.push_back({id, result.error()});
    const std::string code = command.end == SessionEnd::removed ? "DEVICE_REMOVED" : "LOGGED_OUT";
    for (TestLink& each : links_) {
      const bool ended = command.device.empty() ? each.device != command.except : each.device == command.device;
      if (each.user == link.user && each.welcomed && ended) each.down.push_back({0, Kick{code, true, ""}});
    }
    if (command.device == link.device) return;  // told by the kick
    link.down.push_back({id, listed(link, std::get<DevicesReply>(*result).devices)});
  }
  static std::vector<UserDevice> listed(const TestLink& link, const std::vector<Device>& devices) {
    std::vector<UserDevice> listed;
    for (const Device& device : devices) {
      if (device.ended == SessionEnd::removed && !device.live) continue;
      listed.push_back({device.id, device.name, device.platform, device.app_version,
                        device.live ? LoginState::logged_in : LoginState::logged_out, device.logged_in_at,
                        device.ended_at, device.last_seen, !device.push_token.empty(), device.id == link.device});
    }
    return listed;
  }
  void answer(TestLink& link, std::uint64_t id, const GroupCall& call) {
    std::visit([&](auto request) { answer_group(link, id, std::move(request)); }, call.request);
  }
  void answer_group(TestLink& link, std::uint64_t id, const GroupQuery& query) {
    auto group = read_group(view, link.user, query.conversation);
    if (!group) return link.down.push_back({id, group.error()});
    link.down.push_back({id, GroupReply{std::move(*group), view.line(query.conversation).seq, false}});
  }
  template <typename Command>
  void answer_group(TestLink& link, std::uint64_t id, Command command) {
    if constexpr (requires { command.creator; })
      command.creator = link.user;
    else
      command.user = link.user;
    command.device = link.device;
    const auto result = run(command);
    if (!result) return link.down.push_back({id, result.error()});
    link.down.push_back({id, std::get<GroupReply>(*result)});
  }
  void answer(TestLink&, std::uint64_t, const Ack&) {}
  // What is said in passing is not for the rules.
  void answer(TestLink&, std::uint64_t, const Watch&) {}
  void answer(TestLink&, std::uint64_t, const Passing&) {}
  void answer(TestLink&, std::uint64_t, const Foreground&) {}
  void answer(TestLink& link, std::uint64_t id, const Heartbeat& beat) {
    const bool differs = large_digest(view, link.user) != beat.large_digest;
    link.down.push_back({id, HeartbeatAnswer{view.user(link.user).mark, wall_ms, differs}});
  }
  void answer(TestLink& link, std::uint64_t id, const Heads& heads) {
    ++head_questions;
    reply(link, id, read_heads(view, params, {link.user, heads.known, heads.after, heads.through, heads.only}));
  }
  void answer(TestLink& link, std::uint64_t id, const Focus& focus) {
    link.open = focus.conversations;
    HeadsQuery query{link.user, {}, {}, {}, true};
    for (const ConversationId& conversation : focus.conversations) query.known.push_back({conversation, Seq()});
    reply(link, id, read_heads(view, params, query));
  }

  std::list<TestLink> links_;
  std::uint32_t sends_ = 0;
};

/// A device with its store. Its outputs are carried out at once; its requests wait in `up`.
class TestDevice {
 public:
  MemoryStore store;
  std::unique_ptr<Replica> replica;
  Options options;
  Now now{1'000, 1'700'000'000'000};
  std::deque<Request> up;
  std::vector<Event> events;
  std::size_t batches = 0;
  bool close_asked = false;

  explicit TestDevice(const UserId& user, const DeviceId& device = DeviceId("d1"), Options opts = {})
      : store(user, device, InstallId("install-" + user.value + device.value)), options(opts) {
    start();
  }

  /// Begins from what is stored, as after a crash.
  void start() {
    options.seed = {++starts_ * 7919, std::hash<std::string>{}(store.device().install.value) | 1};
    up.clear();
    replica = std::make_unique<Replica>(options, store.image(),
                                        [this](const ConversationId& id, Seq seq) { return store.row(id, seq); });
  }

  void connect() {
    replica->on_connected(now);
    take();
  }
  void disconnect() {
    replica->on_disconnected(now);
    up.clear();
    take();
  }
  void frame(ServerFrame frame) {
    replica->on_frame(now, std::move(frame));
    take();
  }
  void answer(const Request& request, Answer answer) { frame({request.id, std::move(answer)}); }
  void push(PushItem item) { frame({0, Push{{std::move(item)}}}); }
  void advance(std::int64_t ms) {
    now.steady_ms += ms;
    now.wall_ms += ms;
    replica->on_tick(now);
    take();
  }
  std::uint64_t send(const UserId& to, const std::string& text) {
    Draft draft;
    draft.to = to;
    draft.body.text = text;
    const auto local_id = replica->send(now, draft);
    TM_CHECK(local_id.has_value(), "the outbox has room");
    take();
    return *local_id;
  }
  void take() {
    Outputs outputs = replica->take_outputs();
    if (!outputs.batch.empty()) {
      store.apply(outputs.batch);
      ++batches;
    }
    for (Request& request : outputs.requests) up.push_back(std::move(request));
    for (Event& event : outputs.events) events.push_back(std::move(event));
    close_asked |= outputs.close_link;
  }

  /// The first waiting request of this kind, taken out; fails the test when there is none.
  template <typename T>
  Request expect() {
    for (auto it = up.begin(); it != up.end(); ++it) {
      if (!std::holds_alternative<T>(it->operation)) continue;
      Request request = std::move(*it);
      up.erase(it);
      return request;
    }
    TM_CHECK(false, "the replica asked for something else");
  }
  template <typename T>
  std::size_t waiting() const {
    std::size_t count = 0;
    for (const Request& request : up) count += std::holds_alternative<T>(request.operation);
    return count;
  }
  template <typename T>
  std::vector<T> seen() const {
    std::vector<T> found;
    for (const Event& event : events)
      if (const T* one = std::get_if<T>(&event)) found.push_back(*one);
    return found;
  }

  const Change& object(const ConversationId& id) const { return state(id).object; }
  const ConversationState& state(const ConversationId& id) const {
    const auto* stored = store.conversation(id);
    TM_CHECK(stored != nullptr, "the conversation is held");
    return stored->state;
  }
  std::vector<std::string> texts(const ConversationId& id) const {
    std::vector<std::string> texts;
    if (const auto* stored = store.conversation(id))
      for (const auto& [seq, row] : stored->rows) texts.push_back(row.entry->body.text);
    return texts;
  }

 private:
  std::uint64_t starts_ = 0;
};

/// Carries one frame, the device's first; false when there is none.
inline bool exchange(TestServer& server, TestDevice& device, TestLink& link) {
  if (!device.up.empty()) {
    const Request request = std::move(device.up.front());
    device.up.pop_front();
    server.receive(link, request);
  } else if (!link.down.empty()) {
    ServerFrame frame = std::move(link.down.front());
    link.down.pop_front();
    device.frame(std::move(frame));
  } else {
    return false;
  }
  return true;
}

/// Carries frames both ways, in order and without loss, until nothing is left to carry.
inline void settle(TestServer& server, TestDevice& device, TestLink& link) {
  for (int step = 0; step < 10'000; ++step)
    if (!exchange(server, device, link)) return;
  TM_CHECK(false, "server and device never come to rest");
}

/// The server answers this one request.
inline void answer(TestServer& server, TestDevice& device, TestLink& link, const Request& request) {
  server.receive(link, request);
  for (; !link.down.empty(); link.down.pop_front()) device.frame(link.down.front());
}

inline TestLink& join(TestServer& server, TestDevice& device) {
  TestLink& link = server.connect(device.store.device().user);
  device.connect();
  settle(server, device, link);
  return link;
}

}  // namespace tidemark::replica
