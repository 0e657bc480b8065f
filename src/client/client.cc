#include "client/client.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/check.h"
#include "base/ports.h"
#include "client/link.h"
#include "core/conversation_id.h"
#include "core/replica/replica.h"
#include "wire/convert_client.h"

namespace tidemark {
namespace {

using replica::Now;
using replica::Replica;

ClientEvent client_event(replica::Event event) {
  return std::visit([](auto& each) { return ClientEvent(std::move(each)); }, event);
}

Result<void> check(const ClientOptions& options) {
  TM_TRY(check_user_id(UserId(options.user), "user"));
  if (options.device.empty() || options.device.size() > 64)
    return fail(ErrorCode::MALFORMED, "device", "1 to 64 bytes.");
  if (!options.token) return fail(ErrorCode::MALFORMED, "token", "Say where tokens come from.");
  if (options.recent > 50) return fail(ErrorCode::OUT_OF_RANGE, "recent", "0 to 50.");
  if (options.retry_min_ms < 1 || options.retry_max_ms < options.retry_min_ms)
    return fail(ErrorCode::OUT_OF_RANGE, "retry_min_ms", "At least 1, at most retry_max_ms.");
  if (options.page_limit == 0 || options.page_limit > 200)
    return fail(ErrorCode::OUT_OF_RANGE, "page_limit", "1 to 200.");
  return {};
}

}  // namespace

/// The lock guards the replica, its store and the queue. Outputs are carried out under it: stored, then handed to the
/// link, then queued; callbacks run on the link's thread without it.
class Client::Impl final : public LinkHandler {
 public:
  explicit Impl(ClientOptions options) : options_(std::move(options)) {}
  ~Impl() override {
    if (link_) link_->stop();
  }

  Result<void> start();

  // From the link's thread.
  void on_open() override;
  void on_message(std::string_view bytes) override;
  void on_closed(const std::string& why) override;
  void on_timer() override;

  /// Runs one input of the replica and carries out what it brought.
  template <typename Input>
  auto act(Input input) {
    std::unique_lock lock(mutex_);
    auto result = input(*replica_, now());
    // What is not stored has not happened.
    if (auto stored = carry_out(); !stored) {
      if constexpr (requires { result.error(); }) result = std::unexpected(std::move(stored).error());
    }
    if (options_.on_event && !events_.empty()) link_->wake_at(0);  // its thread tells them
    return result;
  }
  template <typename Read>
  auto look(Read read) const {
    const std::lock_guard lock(mutex_);
    return read(*replica_);
  }
  Timeline timeline(const ConversationId& conversation, Seq before, std::size_t limit) const;
  /// Asks the server something under a fresh number, by which its answer is known.
  template <typename Ask>
  Result<std::uint64_t> call(Ask ask) {
    std::uint64_t number = 0;
    const Result<void> asked = act([&](Replica& replica, Now moment) {
      number = ++calls_;
      return ask(replica, moment, number);
    });
    if (!asked) return std::unexpected(asked.error());
    return number;
  }
  Result<std::uint64_t> group(const replica::GroupRequest& request);
  const std::string& user() const { return options_.user; }
  std::optional<ClientEvent> next_event(std::int64_t timeout_ms);
  bool wait_settled(std::int64_t timeout_ms);
  std::string trouble() const;
  void reconnect();

 private:
  Now now() const { return {clock_.steady_ms(), clock_.wall_ms()}; }
  Result<void> build();
  Result<void> carry_out();
  void rebuild(const Error& error);
  void erase_held();
  void queue(std::vector<replica::Event> events);
  void deliver();

  const ClientOptions options_;
  SystemClock clock_;
  SystemRandom random_;
  std::shared_ptr<ReplicaStore> store_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Replica> replica_;
  /// Set: the replica holds what could not be stored and cannot be built anew; nothing of it may be stored any more.
  std::optional<Error> ahead_of_store_;
  HelloExtras extras_;
  std::deque<ClientEvent> events_;
  bool lost_ = false;
  std::uint64_t calls_ = 0;
  std::int64_t alarm_ms_ = 0;                  // when on_timer comes, 0: unset
  std::string trouble_ = "not connected yet";  // why there is no connection
  bool reason_given_ = false;                  // trouble_ says more than the end of the connection will
  std::string trouble_told_;                   // by the last LinkEvent

  std::unique_ptr<Link> link_;  // last: its thread uses all of the above
};

// ------------------------------------------------------------------------------------------------------- start

Result<void> Client::Impl::start() {
  TM_TRY(check(options_));
  store_ = options_.store ? options_.store : std::shared_ptr<ReplicaStore>(make_memory_store());
  LinkOptions link;
  link.url = options_.url;
  link.dialect = options_.dialect;
  link.ca_file = options_.ca_file;
  link.verify = options_.verify;
  link.retry_min_ms = options_.retry_min_ms;
  link.retry_max_ms = options_.retry_max_ms;
  extras_.platform = options_.platform;
  extras_.app_version = options_.app_version;
  TM_TRY(build());
  TM_ASSIGN(link_, Link::make(link, *this));
  link_->start();
  return {};
}

/// A replica from what the store holds; in an unused store the installation begins.
Result<void> Client::Impl::build() {
  TM_ASSIGN(replica::StoreImage image, store_->load());
  replica::Options options;
  options.seed = {random_.next_u64(), random_.next_u64()};
  options.bodies = options_.recent ? Bodies::recent : Bodies::none;
  options.recent = options_.recent;
  options.page_limit = options_.page_limit;
  replica::DeviceState& device = image.device;
  if (!device.user.empty() && device.user.value != options_.user)
    return fail(ErrorCode::MALFORMED, "store", "It belongs to another user.");
  if (!device.device.empty() && device.device.value != options_.device)
    return fail(ErrorCode::MALFORMED, "store",
                "It belongs to the device " + device.device.value + ": take that name, or another store.");
  if (device.install.empty()) {
    device.user = UserId(options_.user);
    device.device = DeviceId(options_.device);
    replica::Dice dice({random_.next_u64(), random_.next_u64() | 1});
    device.install = InstallId(dice.install_id());
    replica::StoreBatch batch;
    batch.device = device;
    TM_TRY(store_->apply(batch));
  }
  const auto stored_row = [this](const ConversationId& id, Seq seq) -> std::shared_ptr<const Entry> {
    const auto rows = store_->rows(id, seq + 1, 1);
    return rows && !rows->empty() && rows->front().entry->seq == seq ? rows->front().entry : nullptr;
  };
  replica_ = std::make_unique<Replica>(options, image, stored_row);
  return {};
}

// ----------------------------------------------------------------------------------------------------- outputs

/// REQUIRES: the lock.
Result<void> Client::Impl::carry_out() {
  replica::Outputs outputs = replica_->take_outputs();
  if (ahead_of_store_) {
    const Error error = *ahead_of_store_;
    rebuild(error);
    return std::unexpected(error);
  }
  if (!outputs.batch.empty()) {
    if (auto stored = store_->apply(outputs.batch); !stored) {
      rebuild(stored.error());
      return stored;
    }
  }
  for (const replica::Request& request : outputs.requests)
    link_->send(encode_request(options_.dialect, request, extras_));
  if (outputs.close_link) link_->drop();
  bool logged_out = false;
  for (const replica::Event& event : outputs.events) {
    const auto* link = std::get_if<LinkEvent>(&event);
    if (link == nullptr) continue;
    if (link->state == LinkState::in_step) link_->settled();
    // A kick for good: only the user may come back (reconnect).
    if (link->state == LinkState::refused && !link->kick.empty()) link_->retire();
    logged_out = logged_out || link->kick == error_info(ErrorCode::LOGGED_OUT).name ||
                 link->kick == error_info(ErrorCode::DEVICE_REMOVED).name;
    if (link->error) trouble_ = link->error->message();
    if (!link->kick.empty()) trouble_ = "the server ended the session: " + link->kick;
    reason_given_ = reason_given_ || link->error || !link->kick.empty();
    trouble_told_ = trouble_;
  }
  if (!outputs.events.empty()) queue(std::move(outputs.events));
  if (logged_out && options_.when_logged_out == WhenLoggedOut::erase) erase_held();
  if (const std::int64_t next = replica_->next_tick_ms(); alarm_ms_ == 0 || next < alarm_ms_) {
    alarm_ms_ = next;
    link_->wake_at(next);
  }
  changed_.notify_all();
  return {};
}

/// Nothing of the input counts: the replica begins again from what is stored, on a new connection.
void Client::Impl::rebuild(const Error& error) {
  trouble_ = "the local store: " + error.detail;
  reason_given_ = true;
  // What was asked about groups is not answered any more.
  replica_->on_disconnected(now());
  replica::Outputs unstored = replica_->take_outputs();
  std::erase_if(unstored.events, [](const auto& event) {
    return !std::holds_alternative<GroupEvent>(event) && !std::holds_alternative<ReactionsEvent>(event) &&
           !std::holds_alternative<BodyEvent>(event);
  });
  queue(std::move(unstored.events));
  link_->drop();
  ahead_of_store_.reset();
  if (const auto built = build(); !built) {
    ahead_of_store_ = built.error();
    trouble_ = "the local store: " + built.error().detail;
    link_->retire();
  }
  trouble_told_ = trouble_;
  queue({LinkEvent{LinkState::offline, std::nullopt, {}}});
  changed_.notify_all();
}

/// Everything goes but who this is and how far local ids were given; it is a new installation from here on.
void Client::Impl::erase_held() {
  const auto erase = [this]() -> Result<void> {
    TM_ASSIGN(const replica::StoreImage image, store_->load());
    replica::DeviceState device;
    device.next_local_id = image.device.next_local_id;
    TM_TRY(store_->erase_all(device));
    return build();
  };
  // What waits to be told has bodies too. The line's state and the answers to calls have none of what was held.
  std::erase_if(events_, [](const ClientEvent& event) {
    return !std::holds_alternative<LinkEvent>(event) && !std::holds_alternative<GroupEvent>(event) &&
           !std::holds_alternative<ReactionsEvent>(event) && !std::holds_alternative<BodyEvent>(event);
  });
  lost_ = true;  // lists and timelines are to be read anew
  if (const auto erased = erase(); !erased) rebuild(erased.error());
}

void Client::Impl::queue(std::vector<replica::Event> events) {
  for (replica::Event& event : events) {
    if (events_.size() >= std::max<std::size_t>(options_.events_max, 2)) {
      events_.pop_front();
      lost_ = true;
    }
    events_.push_back(client_event(std::move(event)));
  }
}

/// Callbacks, on the link's thread and without the lock.
void Client::Impl::deliver() {
  if (!options_.on_event) return;
  for (;;) {
    std::optional<ClientEvent> event = next_event(0);
    if (!event) return;
    options_.on_event(*event);
  }
}

Result<std::uint64_t> Client::Impl::group(const replica::GroupRequest& request) {
  return call(
      [&](Replica& replica, Now moment, std::uint64_t number) { return replica.group(moment, number, request); });
}

// ------------------------------------------------------------------------------------------------- the link's calls

void Client::Impl::on_open() {
  std::string token = options_.token();
  {
    const std::lock_guard lock(mutex_);
    extras_.token = std::move(token);
    trouble_.clear();
    reason_given_ = false;
    replica_->on_connected(now());
    (void)carry_out();
    extras_.token.clear();
  }
  deliver();
}

void Client::Impl::on_message(std::string_view bytes) {
  auto frame = decode_answer(options_.dialect, bytes);
  if (!frame) {
    // What cannot be read is as good as refused; without an id it was a push, and the gap will show.
    if (frame.error().id == 0) return;
    frame = replica::ServerFrame{frame.error().id, Error{ErrorCode::INTERNAL, "", "The answer could not be read."}};
  }
  {
    const std::lock_guard lock(mutex_);
    const auto* error = std::get_if<Error>(&frame->answer);
    if (error != nullptr && replica_->link() == LinkState::greeting) {
      trouble_ = error->message();
      reason_given_ = true;
    }
    replica_->on_frame(now(), std::move(*frame));
    (void)carry_out();
  }
  deliver();
}

void Client::Impl::on_closed(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!reason_given_) trouble_ = why;
    reason_given_ = false;
    replica_->on_disconnected(now());
    (void)carry_out();
    if (trouble_ != trouble_told_) {
      // The state is the same, and there is more to know of it.
      trouble_told_ = trouble_;
      queue({LinkEvent{replica_->link(), std::nullopt, {}}});
      changed_.notify_all();
    }
  }
  deliver();
}

void Client::Impl::on_timer() {
  {
    const std::lock_guard lock(mutex_);
    alarm_ms_ = 0;
    replica_->on_tick(now());
    (void)carry_out();
  }
  deliver();
}

// ----------------------------------------------------------------------------------------------------- looking

Timeline Client::Impl::timeline(const ConversationId& conversation, Seq before, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  Timeline timeline;
  if (auto rows = store_->rows(conversation, before, limit)) timeline.rows = std::move(*rows);
  const auto& held = replica_->conversations();
  if (const auto found = held.find(conversation); found != held.end())
    for (TimelineRow& row : timeline.rows) row.on_server = !found->second.state.lost.contains(row.entry->seq);
  if (before) return timeline;
  for (OutboxItem& item : replica_->outbox())
    if (item.conversation == conversation) timeline.outbox.push_back(std::move(item));
  return timeline;
}

std::optional<ClientEvent> Client::Impl::next_event(std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return lost_ || !events_.empty(); });
  if (std::exchange(lost_, false)) return EventsLost{};
  if (events_.empty()) return std::nullopt;
  ClientEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

bool Client::Impl::wait_settled(std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
    return replica_->settled() && std::ranges::none_of(replica_->outbox(), [](const OutboxItem& item) {
             return item.state == replica::OutboxState::waiting || item.state == replica::OutboxState::searching;
           });
  });
}

std::string Client::Impl::trouble() const {
  const std::lock_guard lock(mutex_);
  const LinkState state = replica_->link();
  if (ahead_of_store_) return trouble_;
  return state == LinkState::in_step || state == LinkState::catching_up ? "" : trouble_;
}

void Client::Impl::reconnect() {
  link_->revive();
}

// ------------------------------------------------------------------------------------------------- public face

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::start(ClientOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  TM_TRY(impl->start());
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Result<std::uint64_t> Client::send(const Draft& draft) {
  return impl_->act([&](Replica& replica, Now now) { return replica.send(now, draft); });
}

Result<std::uint64_t> Client::send_text(const std::string& to_user, const std::string& text) {
  Draft draft;
  draft.to = UserId(to_user);
  draft.body.text = text;
  return send(draft);
}

Result<std::uint64_t> Client::send_text(const ConversationId& conversation, const std::string& text) {
  Draft draft;
  draft.conversation = conversation;
  draft.body.text = text;
  return send(draft);
}

Result<void> Client::resend(std::uint64_t local_id) {
  return impl_->act([&](Replica& replica, Now now) { return replica.resend(now, local_id); });
}

Result<void> Client::discard(std::uint64_t local_id) {
  return impl_->act([&](Replica& replica, Now now) { return replica.discard(now, local_id); });
}

std::uint64_t Client::next_local_id() const {
  return impl_->look([](const Replica& replica) { return replica.device().next_local_id; });
}

Result<void> Client::mark_read(const ConversationId& conversation, Seq seq) {
  return impl_->act([&](Replica& replica, Now now) { return replica.mark_read(now, conversation, seq); });
}

Result<void> Client::forget_lost(const ConversationId& conversation) {
  return impl_->act([&](Replica& replica, Now now) { return replica.forget_lost(now, conversation); });
}
Result<void> Client::mark_unread(const ConversationId& conversation) {
  return impl_->act([&](Replica& replica, Now now) { return replica.mark_unread(now, conversation); });
}

Result<void> Client::delete_for_me(const ConversationId& conversation, const std::vector<Interval>& messages) {
  return impl_->act([&](Replica& replica, Now now) { return replica.delete_for_me(now, conversation, messages); });
}

Result<void> Client::clear(const ConversationId& conversation, Seq seq) {
  return impl_->act([&](Replica& replica, Now now) { return replica.clear(now, conversation, seq); });
}

Result<void> Client::remove(const ConversationId& conversation) {
  return impl_->act([&](Replica& replica, Now now) { return replica.remove(now, conversation); });
}

Result<void> Client::mute(const ConversationId& conversation, std::int64_t until) {
  return impl_->act([&](Replica& replica, Now now) { return replica.mute(now, conversation, until); });
}

Result<void> Client::pin(const ConversationId& conversation, bool pinned) {
  return impl_->act([&](Replica& replica, Now now) { return replica.pin(now, conversation, pinned); });
}

Result<void> Client::save_draft(const ConversationId& conversation, const Body& body, Seq reply_to) {
  return set_object({SavedDraft{conversation, body, body == Body() ? Seq() : reply_to}});
}

Result<void> Client::set_setting(const std::string& name, const std::string& value) {
  return set_object({Setting{name, value}});
}

Result<void> Client::block(const std::string& user, bool blocked) {
  return set_object({BlockedUser{UserId(user), blocked}});
}

Result<void> Client::set_object(UserObject object) {
  return impl_->act([&](Replica& replica, Now now) { return replica.set_object(now, std::move(object)); });
}

std::optional<SavedDraft> Client::saved_draft(const ConversationId& conversation) const {
  const auto object = find_object(name_of_draft(conversation));
  if (!object || object->empty()) return std::nullopt;
  return std::get<SavedDraft>(object->what);
}

std::string Client::setting(const std::string& name) const {
  const auto object = find_object(name_of_setting(name));
  return object ? std::get<Setting>(object->what).value : "";
}

std::optional<UserObject> Client::find_object(const std::string& name) const {
  return impl_->look([&](const Replica& replica) { return replica.objects().find(name); });
}

std::vector<std::string> Client::blocked_users() const {
  return impl_->look([](const Replica& replica) {
    std::vector<std::string> users;
    for (const UserObject& object : replica.objects().all())
      if (const auto* blocked = std::get_if<BlockedUser>(&object.what)) users.push_back(blocked->user.value);
    return users;
  });
}

Result<void> Client::recall(const ConversationId& conversation, Seq seq) {
  return impl_->act([&](Replica& replica, Now now) { return replica.recall(now, conversation, seq); });
}

Result<void> Client::edit(const ConversationId& conversation, Seq seq, const Body& body,
                          std::optional<Seq> base_revision) {
  return impl_->act(
      [&](Replica& replica, Now now) { return replica.edit(now, conversation, seq, body, base_revision); });
}

Result<void> Client::react(const ConversationId& conversation, Seq seq, const std::string& reaction, bool on) {
  return impl_->act([&](Replica& replica, Now now) { return replica.react(now, conversation, seq, reaction, on); });
}

Result<std::uint64_t> Client::ask_reactions(const ConversationId& conversation, Seq seq, const std::string& reaction,
                                            const std::string& page_token) {
  replica::AskReactions ask;
  ask.query.conversation = conversation;
  ask.query.seq = seq;
  ask.query.reaction = reaction;
  ask.page_token = page_token;
  return impl_->call([&](Replica& replica, Now now, std::uint64_t number) {
    return replica.ask_reactions(now, number, std::move(ask));
  });
}

Result<std::uint64_t> Client::fetch_body(const ConversationId& conversation, Seq seq) {
  return impl_->call([&](Replica& replica, Now now, std::uint64_t number) {
    return replica.fetch_body(now, number, conversation, seq);
  });
}

Result<void> Client::watch_receipts(const std::vector<ConversationId>& conversations) {
  return impl_->act([&](Replica& replica, Now now) { return replica.watch_receipts(now, conversations); });
}

std::vector<Receipt> Client::receipts(const ConversationId& conversation) const {
  return impl_->look([&](const Replica& replica) { return replica.receipts(conversation); });
}

Totals Client::totals() const {
  return impl_->look([](const Replica& replica) { return replica.totals(SystemClock().wall_ms()); });
}

Result<void> Client::edit_text(const ConversationId& conversation, Seq seq, const std::string& text) {
  Body body;
  body.text = text;
  return edit(conversation, seq, body);
}

namespace {

std::vector<UserId> ids_of(const std::vector<std::string>& users) {
  return {users.begin(), users.end()};
}

}  // namespace

Result<std::uint64_t> Client::create_group(const NewGroup& group) {
  CreateGroupCommand command;
  command.title = group.title;
  command.members = ids_of(group.members);
  command.newcomers = group.history_for_newcomers;
  command.newcomers_last = group.history_last;
  command.idempotency_key = group.idempotency_key;
  return impl_->group(command);
}

Result<std::uint64_t> Client::ask_group(const ConversationId& group) {
  return impl_->group(replica::GroupQuery{group});
}

Result<std::uint64_t> Client::change_group(const ConversationId& group, const GroupChange& change) {
  return impl_->group(ChangeGroupCommand{{},
                                         {},
                                         group,
                                         change.title,
                                         change.data,
                                         change.who_may_add,
                                         change.who_may_send,
                                         change.join,
                                         change.history_for_newcomers,
                                         change.history_last});
}

Result<std::uint64_t> Client::add_members(const ConversationId& group, const std::vector<std::string>& users) {
  return impl_->group(AddMembersCommand{{}, {}, group, ids_of(users)});
}

Result<std::uint64_t> Client::remove_member(const ConversationId& group, const std::string& user) {
  return impl_->group(RemoveMemberCommand{{}, {}, group, UserId(user)});
}

Result<std::uint64_t> Client::leave_group(const ConversationId& group) {
  return remove_member(group, impl_->user());
}

Result<std::uint64_t> Client::join_group(const ConversationId& group) {
  return impl_->group(JoinGroupCommand{{}, {}, group});
}

Result<std::uint64_t> Client::set_role(const ConversationId& group, const std::string& user, Role role) {
  return impl_->group(SetRoleCommand{{}, {}, group, UserId(user), role});
}

Result<std::uint64_t> Client::mute_member(const ConversationId& group, const std::string& user, std::int64_t until) {
  return impl_->group(MuteMemberCommand{{}, {}, group, UserId(user), until});
}

Result<std::uint64_t> Client::dissolve_group(const ConversationId& group) {
  return impl_->group(DissolveGroupCommand{{}, {}, group});
}

std::vector<Change> Client::conversations() const {
  return impl_->look([](const Replica& replica) {
    std::vector<Change> all;
    for (const auto& [id, held] : replica.conversations())
      if (!held.state.object.removed) all.push_back(held.state.object);
    std::ranges::sort(all, [](const Change& a, const Change& b) {
      return std::tie(a.sort_time, a.conversation) > std::tie(b.sort_time, b.conversation);
    });
    return all;
  });
}

std::optional<Change> Client::conversation(const ConversationId& id) const {
  return impl_->look([&](const Replica& replica) -> std::optional<Change> {
    const auto found = replica.conversations().find(id);
    if (found == replica.conversations().end() || found->second.state.object.removed) return std::nullopt;
    return found->second.state.object;
  });
}

Timeline Client::timeline(const ConversationId& conversation, Seq before, std::size_t limit) const {
  return impl_->timeline(conversation, before, limit);
}

std::vector<OutboxItem> Client::outbox() const {
  return impl_->look([](const Replica& replica) { return replica.outbox(); });
}

namespace {

/// For actions without a result.
template <typename Action>
auto plain(Action action) {
  return [action](Replica& replica, Now now) {
    action(replica, now);
    return true;
  };
}

}  // namespace

Result<void> Client::watch_presence(const std::vector<std::string>& users) {
  return impl_->act([&](Replica& replica, Now now) {
    std::vector<UserId> watched(users.begin(), users.end());
    return replica.watch(now, std::move(watched));
  });
}

Result<void> Client::say(const ConversationId& conversation, const std::string& type, const std::string& payload,
                         std::uint32_t lifetime_ms) {
  return impl_->act([&](Replica& replica, Now now) {
    return replica.say(now, {UserId(), conversation, type, payload, lifetime_ms});
  });
}

void Client::set_foreground(bool on) {
  impl_->act(plain([&](Replica& replica, Now now) { replica.set_foreground(now, on); }));
}

void Client::open(const ConversationId& conversation) {
  impl_->act(plain([&](Replica& replica, Now now) { replica.open(now, conversation); }));
}

void Client::close(const ConversationId& conversation) {
  impl_->act(plain([&](Replica& replica, Now now) { replica.close(now, conversation); }));
}

void Client::scroll_back(const ConversationId& conversation, Seq before) {
  impl_->act(plain([&](Replica& replica, Now now) { replica.scroll_back(now, conversation, before); }));
}

void Client::scroll_forward(const ConversationId& conversation, Seq after) {
  impl_->act(plain([&](Replica& replica, Now now) { replica.scroll_forward(now, conversation, after); }));
}

std::optional<ClientEvent> Client::next_event(std::int64_t timeout_ms) {
  return impl_->next_event(timeout_ms);
}

LinkState Client::link() const {
  return impl_->look([](const Replica& replica) { return replica.link(); });
}

std::string Client::link_trouble() const {
  return impl_->trouble();
}

bool Client::wait_settled(std::int64_t timeout_ms) {
  return impl_->wait_settled(timeout_ms);
}

void Client::reconnect() {
  impl_->reconnect();
}

}  // namespace tidemark
