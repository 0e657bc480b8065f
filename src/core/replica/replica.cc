#include "core/replica/replica.h"

#include <algorithm>
#include <utility>

#include "core/session.h"

namespace tidemark::replica {

Replica::Replica(Options options, const StoreImage& image, RowSource stored_row)
    : ws_(options, image, std::move(stored_row)),
      conversations_(ws_,
                     [this](const ConversationId& id, const Entry& entry) { return outbox_.take_own_row(id, entry); }),
      mutations_(ws_, image),
      objects_(ws_, mutations_, image),
      large_(ws_, conversations_),
      index_(ws_, conversations_, objects_, large_),
      outbox_(ws_, conversations_, index_, image),
      marks_(ws_, mutations_, image),
      own_(ws_, conversations_, mutations_, image),
      changes_(ws_, mutations_),
      passing_(ws_),
      receipts_(ws_),
      groups_(ws_) {}

// ---------------------------------------------------------------------------------------------------- the link

void Replica::on_connected(Now now) {
  begin(now);
  if (ws_.connected) on_disconnected(now);
  ws_.link_up();
  link_ = LinkState::offline;
  index_.on_link_up();
  greet();
  work();
}

void Replica::greet() {
  const DeviceState& device = ws_.device();
  Pending pending;
  pending.kind = Pending::Kind::hello;
  // Within a snapshot there is no cursor yet, but an epoch of which rows are held.
  const Cursor cursor = device.pass.snapshot ? Cursor{device.pass.epoch, Mark(), 0} : device.cursor;
  ws_.ask(Hello{device.device, device.install, cursor, device.generation, device.next_mutation, passing_.background(),
                large_.digest()},
          std::move(pending));
}

void Replica::on_disconnected(Now now) {
  begin(now);
  if (!ws_.connected) return;
  hello_on_its_way_ = hello_on_its_way_ || std::ranges::any_of(ws_.pending(), [](const auto& entry) {
                        return entry.second.kind == Pending::Kind::hello;
                      });
  ws_.link_down();
  kicked_ = false;
  index_.on_link_down();
  conversations_.on_link_down();
  large_.on_link_down();
  outbox_.on_link_down();
  objects_.on_link_down();
  mutations_.on_link_down();
  passing_.on_link_down();
  receipts_.on_link_down();
  groups_.on_link_down();
  show_link();
}

/// What becomes of a frame, by its kind. An answer must be of the kind that was asked for.
struct Replica::Dispatch {
  Replica& replica;
  std::uint64_t id;

  std::optional<Pending> asked(Pending::Kind kind) const {
    const auto& pending = replica.ws_.pending();
    const auto found = pending.find(id);
    if (found == pending.end() || found->second.kind != kind) return std::nullopt;
    return replica.ws_.answered(id);
  }

  /// Not to be understood is as good as refused: what was asked is asked again later, or told to have failed.
  void operator()(Unknown&) const {
    Error error{ErrorCode::INTERNAL, "", "The answer is of a kind that this version does not know."};
    (*this)(error);
  }
  void operator()(Error& error) const {
    if (const auto pending = replica.ws_.answered(id)) replica.on_refused(*pending, error);
  }
  void operator()(Welcome& welcome) const {
    if (asked(Pending::Kind::hello)) replica.on_welcome(welcome);
  }
  void operator()(SyncAnswer& answer) const {
    if (asked(Pending::Kind::sync)) replica.index_.on_sync(answer);
  }
  void operator()(JumpsAnswer& answer) const {
    if (asked(Pending::Kind::jumps)) replica.conversations_.on_jumps(answer);
  }
  void operator()(ConversationPage& page) const {
    if (const auto pending = asked(Pending::Kind::conversation_sync))
      replica.conversations_.on_conversation_page(*pending, page);
  }
  void operator()(HistoryPage& page) const {
    if (const auto pending = asked(Pending::Kind::history)) replica.conversations_.on_history_page(*pending, page);
  }
  void operator()(SentReply& reply) const {
    if (const auto pending = asked(Pending::Kind::send)) replica.outbox_.on_sent(*pending, reply);
  }
  void operator()(MutatedReply& reply) const {
    if (const auto pending = asked(Pending::Kind::mutate)) replica.on_mutated(*pending, reply);
  }
  void operator()(GroupReply& reply) const {
    if (const auto pending = asked(Pending::Kind::group)) replica.groups_.on_answer(*pending, std::move(reply));
  }
  void operator()(std::vector<UserDevice>& devices) const {
    if (const auto pending = asked(Pending::Kind::devices)) replica.groups_.on_answer(*pending, std::move(devices));
  }
  void operator()(ListedMembers& members) const {
    if (const auto pending = asked(Pending::Kind::members)) replica.groups_.on_answer(*pending, std::move(members));
  }
  void operator()(WhoReacted& answer) const {
    if (const auto pending = asked(Pending::Kind::reactions)) replica.groups_.on_answer(*pending, std::move(answer));
  }
  void operator()(WholeBody& whole) const {
    const auto pending = asked(Pending::Kind::body);
    if (!pending) return;
    replica.conversations_.take_body(whole);
    replica.groups_.on_body(*pending);
  }
  void operator()(Receipts& answer) const {
    if (id == 0) {
      if (replica.ws_.welcomed) replica.receipts_.on_told(answer);
    } else if (const auto pending = asked(Pending::Kind::receipts)) {
      replica.receipts_.on_answer(*pending, answer);
    }
  }
  void operator()(HeartbeatAnswer& answer) const {
    if (!asked(Pending::Kind::heartbeat)) return;
    replica.learn_time(answer.server_time);
    replica.index_.on_heartbeat(answer);
    replica.large_.on_heartbeat(answer);
  }
  void operator()(PresenceStates& states) const {
    (void)asked(Pending::Kind::presence);
    if (replica.ws_.welcomed) replica.passing_.on_states(states);
  }
  void operator()(PassingEvent& event) const {
    if (replica.ws_.welcomed) replica.ws_.raise(std::move(event));
  }
  void operator()(Push& push) const {
    if (replica.ws_.welcomed) replica.index_.on_push(std::move(push));
  }
  void operator()(HeadsPage& page) const {
    auto pending = asked(Pending::Kind::heads);
    if (!pending) pending = asked(Pending::Kind::focus);
    if (pending) replica.large_.on_heads(*pending, page);
  }
  void operator()(HeadNotice& notice) const {
    if (replica.ws_.welcomed) replica.large_.on_notice(notice);
  }
  void operator()(Hint& hint) const {
    if (replica.ws_.welcomed) replica.index_.on_hint(hint.head);
  }
  void operator()(Kick& kick) const {
    replica.ws_.out.close_link = true;
    // Nothing more is asked on this link, nor taken from it; what ended it is told here.
    replica.ws_.welcomed = false;
    replica.kicked_ = true;
    // The newer link may be one that was given up before this one: then nobody is behind it, and this is no quarrel of
    // two. Once, so that two that have one install do not replace each other for ever.
    const bool own = kick.code == kReplaced && std::exchange(replica.hello_on_its_way_, false);
    const bool for_good = kick.terminal && !own;
    if (for_good) replica.link_ = LinkState::refused;
    if (kick.code == error_info(ErrorCode::LOGGED_OUT).name || kick.code == error_info(ErrorCode::DEVICE_REMOVED).name)
      replica.groups_.on_session_ended();
    replica.ws_.raise(LinkEvent{for_good ? LinkState::refused : LinkState::offline, std::nullopt, kick.code});
  }
};

void Replica::on_frame(Now now, ServerFrame frame) {
  begin(now);
  if (!ws_.connected) return;
  std::visit(Dispatch{*this, frame.id}, frame.answer);
  work();
}

void Replica::on_tick(Now now) {
  begin(now);
  if (unanswered_too_long()) ws_.out.close_link = true;
  work();
}

bool Replica::unanswered_too_long() const {
  return std::ranges::any_of(ws_.pending(), [&](const auto& entry) {
    return ws_.now.steady_ms - entry.second.asked_ms >= ws_.options.answer_ms;
  });
}

void Replica::on_welcome(const Welcome& welcome) {
  DeviceState& device = ws_.edit_device();
  device.generation = welcome.generation;
  if (device.user.empty()) device.user = welcome.user;
  if (device.device.empty()) device.device = welcome.device;
  ws_.welcomed = true;
  learn_time(welcome.server_time);
  index_.on_welcome(welcome);
  conversations_.on_welcome();
  large_.on_welcome(welcome);
  mutations_.on_welcome(welcome.highest_mutation);
  marks_.on_welcome();
  own_.on_welcome();
  passing_.on_welcome();
}

/// Ids of sends carry server time; the offset of this clock follows every answer that tells it.
void Replica::learn_time(std::int64_t server_time) {
  if (server_time <= 0) return;
  const std::int64_t offset = server_time - ws_.now.wall_ms;
  constexpr std::int64_t kWorthStoringMs = 1'000;
  const auto& known = ws_.device().clock_offset_ms;
  if (!known || std::abs(*known - offset) >= kWorthStoringMs) ws_.edit_device().clock_offset_ms = offset;
}

void Replica::on_refused(const Pending& asked, const Error& error) {
  switch (asked.kind) {
    case Pending::Kind::hello:
      return on_hello_refused(error);
    case Pending::Kind::sync:
      return index_.on_sync_refused(error);
    case Pending::Kind::jumps:
      return conversations_.on_jumps_refused(error);
    case Pending::Kind::conversation_sync:
    case Pending::Kind::history:
      return conversations_.on_refused(asked, error);
    case Pending::Kind::send:
      return outbox_.on_refused(asked, error);
    case Pending::Kind::mutate:
      return on_mutation_refused(asked, error);
    case Pending::Kind::presence:
      return passing_.on_watch_refused(error);
    case Pending::Kind::group:
    case Pending::Kind::devices:
    case Pending::Kind::members:
    case Pending::Kind::reactions:
    case Pending::Kind::body:
      return groups_.on_refused(asked, error);
    case Pending::Kind::heads:
    case Pending::Kind::focus:
      return large_.on_refused(asked, error);
    case Pending::Kind::receipts:
      return receipts_.on_refused(asked, error);
    case Pending::Kind::heartbeat:
      return;
  }
}

void Replica::on_mutated(const Pending& asked, const MutatedReply& reply) {
  const auto item = mutations_.close(asked.key);
  if (!item) return;
  if (changes_message(item->kind)) return changes_.on_done(*item);
  if (is_own_state(item->kind)) return own_.on_mutated(*item, reply);
  if (item->kind >= MutationKind::draft) return objects_.on_mutated(*item, reply);
  marks_.on_mutated(*item, reply);
}

void Replica::on_mutation_refused(const Pending& asked, const Error& error) {
  if (error_info(error.code).retryable) return mutations_.put_off(asked.key, error);
  if (const auto item = mutations_.close(asked.key)) refused_for_good(*item, error);
}

void Replica::refused_for_good(const MutationItem& item, const Error& error) {
  if (changes_message(item.kind)) return changes_.on_refused(item, error);
  if (is_own_state(item.kind)) return own_.on_refused(item, error);
  if (item.kind >= MutationKind::draft) return objects_.on_refused(item, error);
  marks_.on_refused(item, error);
}

void Replica::on_hello_refused(const Error& error) {
  ws_.out.close_link = true;
  if (error.code == ErrorCode::NEW_INSTALL_REQUIRED) {
    return begin_new_install();
  }
  if (error_info(error.code).retryable) return;
  link_ = LinkState::refused;
  // Logged out while it was away: as a kick, it is for the user to come back.
  const std::string_view kick = ends_login(error.code) ? error_info(error.code).name : std::string_view();
  ws_.raise(LinkEvent{LinkState::refused, error, std::string(kick)});
}

/// What is held is a copy of another installation's state, which may be old: a new one with the same rows, cursor and
/// outbox. The server knows nothing of the copy's numbers, so what is open would be done once more, over what was done
/// since.
void Replica::begin_new_install() {
  DeviceState& device = ws_.edit_device();
  device.install = InstallId(ws_.dice.install_id());
  device.generation = 0;
  const Error expired{ErrorCode::MUTATION_EXPIRED, "", "It was made before this device was restored."};
  for (const MutationItem& item : mutations_.close_unrepeatable()) refused_for_good(item, expired);
  marks_.on_new_install(expired);
  own_.on_new_install(expired);
  objects_.on_new_install();
}

// ------------------------------------------------------------------------------------------ the user's actions

Result<std::uint64_t> Replica::send(Now now, const Draft& draft) {
  begin(now);
  auto local_id = outbox_.add(draft);
  work();
  return local_id;
}

Result<void> Replica::resend(Now now, std::uint64_t local_id) {
  begin(now);
  auto done = outbox_.resend(local_id);
  work();
  return done;
}

Result<void> Replica::discard(Now now, std::uint64_t local_id) {
  begin(now);
  auto done = outbox_.discard(local_id);
  work();
  return done;
}

Result<void> Replica::mark_read(Now now, const ConversationId& conversation, Seq seq) {
  begin(now);
  auto done = marks_.mark_read(conversation, seq);
  work();
  return done;
}

Result<void> Replica::mark_unread(Now now, const ConversationId& conversation) {
  begin(now);
  auto done = marks_.mark_unread(conversation);
  work();
  return done;
}

Result<void> Replica::clear(Now now, const ConversationId& conversation, Seq seq) {
  begin(now);
  auto done = own_.clear(conversation, seq);
  work();
  return done;
}

Result<void> Replica::remove(Now now, const ConversationId& conversation) {
  begin(now);
  auto done = own_.remove(conversation);
  work();
  return done;
}

Result<void> Replica::delete_for_me(Now now, const ConversationId& conversation, const std::vector<Interval>& ranges) {
  begin(now);
  auto done = own_.delete_for_me(conversation, ranges);
  work();
  return done;
}

Result<void> Replica::mute(Now now, const ConversationId& conversation, std::int64_t until) {
  begin(now);
  auto done = own_.mute(conversation, until);
  work();
  return done;
}

Result<void> Replica::pin(Now now, const ConversationId& conversation, bool pinned) {
  begin(now);
  auto done = own_.pin(conversation, pinned);
  work();
  return done;
}

Result<void> Replica::set_object(Now now, UserObject wish) {
  begin(now);
  auto done = objects_.set(std::move(wish));
  work();
  return done;
}

Result<void> Replica::recall(Now now, const ConversationId& conversation, Seq seq) {
  begin(now);
  auto done = changes_.recall(conversation, seq);
  work();
  return done;
}

Result<void> Replica::edit(Now now, const ConversationId& conversation, Seq seq, const Body& body,
                           std::optional<Seq> base_revision) {
  begin(now);
  auto done = changes_.edit(conversation, seq, body, base_revision);
  work();
  return done;
}

Result<void> Replica::react(Now now, const ConversationId& conversation, Seq seq, const std::string& reaction,
                            bool on) {
  begin(now);
  auto done = changes_.react(conversation, seq, reaction, on);
  work();
  return done;
}

Result<void> Replica::watch(Now now, std::vector<UserId> users) {
  begin(now);
  auto done = passing_.watch(std::move(users));
  work();
  return done;
}

Result<void> Replica::fetch_body(Now now, std::uint64_t call, const ConversationId& conversation, Seq seq) {
  begin(now);
  return groups_.ask_body(call, {conversation, seq});
}

Result<void> Replica::watch_receipts(Now now, const std::vector<ConversationId>& conversations) {
  begin(now);
  auto done = receipts_.watch(conversations);
  work();
  return done;
}

Totals Replica::totals(std::int64_t wall_ms) const {
  std::map<ConversationId, TotalsPart> parts;
  for (const auto& [id, held] : ws_.conversations) {
    const Change& object = held.state.object;
    if (object.removed || !object.member) continue;
    const std::uint32_t mentions = object.mentions + (object.all_mentioned_at ? 1 : 0);
    parts[id] = {object.unread, mentions, object.unread_flag && object.unread.count == 0, object.muted_until};
  }
  return sum_of(parts, wall_ms + ws_.device().clock_offset_ms.value_or(0));
}

Result<void> Replica::say(Now now, Passing passing) {
  begin(now);
  auto done = passing_.say(std::move(passing));
  work();
  return done;
}

void Replica::set_foreground(Now now, bool on) {
  begin(now);
  passing_.set_foreground(on);
  work();
}

Result<void> Replica::group(Now now, std::uint64_t call, const GroupRequest& request) {
  begin(now);
  work();  // what was sent before goes before
  return groups_.call(call, request);
}

Result<void> Replica::devices(Now now, std::uint64_t call, const DeviceRequest& request) {
  begin(now);
  work();
  return groups_.devices(call, request);
}

Result<void> Replica::ask_members(Now now, std::uint64_t call, AskMembers question) {
  begin(now);
  return groups_.ask_members(call, std::move(question));
}

Result<void> Replica::ask_again(Now now, std::uint64_t call, std::uint64_t of) {
  begin(now);
  work();
  return groups_.ask_again(call, of);
}

Result<void> Replica::ask_reactions(Now now, std::uint64_t call, AskReactions question) {
  begin(now);
  return groups_.ask_reactions(call, std::move(question));
}

void Replica::open(Now now, const ConversationId& conversation) {
  begin(now);
  conversations_.open(conversation);
  work();
}

Result<void> Replica::forget_lost(Now now, const ConversationId& conversation) {
  begin(now);
  auto done = conversations_.forget_lost(conversation);
  work();
  return done;
}

void Replica::close(Now now, const ConversationId& conversation) {
  begin(now);
  conversations_.close(conversation);
  work();
}

void Replica::scroll_back(Now now, const ConversationId& conversation, Seq before) {
  begin(now);
  conversations_.scroll_back(conversation, before);
  work();
}

void Replica::scroll_forward(Now now, const ConversationId& conversation, Seq after) {
  begin(now);
  conversations_.scroll_forward(conversation, after);
  work();
}

// ----------------------------------------------------------------------------------------------------- outcome

/// Asks for whatever is missing; called at the end of every input.
void Replica::work() {
  if (ws_.welcomed && !ws_.out.close_link) {
    // Until it is known what a restore lost, nothing is applied to rows that may be among it.
    if (conversations_.jumps_wanted()) return conversations_.ask_jumps();
    outbox_.work();  // may want a run of sync, or rows of a conversation
    objects_.look_again(index_);
    index_.work();
    large_.work();
    conversations_.work();
    marks_.work();  // these give numbers
    own_.work();
    objects_.work();
    mutations_.work();
    passing_.work();
    receipts_.work();
  }
  show_link();
}

void Replica::show_link() {
  if (ws_.out.close_link || kicked_) return;  // the end of the link will tell
  LinkState now = LinkState::offline;
  if (ws_.connected) now = LinkState::greeting;
  if (ws_.welcomed) now = index_.in_step() ? LinkState::in_step : LinkState::catching_up;
  // A refusal stands until the next connection.
  if (now == link_ || (link_ == LinkState::refused && !ws_.welcomed)) return;
  link_ = now;
  ws_.raise(LinkEvent{now, std::nullopt, {}});
}

Outputs Replica::take_outputs() {
  return ws_.take();
}

bool Replica::settled() const {
  return link_ == LinkState::in_step && index_.held_items() == 0 && conversations_.settled() && large_.settled() &&
         marks_.settled() && own_.settled() && objects_.settled() && mutations_.empty() &&
         std::ranges::all_of(ws_.pending(), [](const auto& entry) {
           return entry.second.kind == Pending::Kind::heartbeat || entry.second.kind == Pending::Kind::presence;
         });
}

std::int64_t Replica::next_tick_ms() const {
  constexpr std::int64_t kIdleMs = 60'000;
  std::int64_t next = ws_.now.steady_ms + kIdleMs;
  for (const auto& [id, pending] : ws_.pending()) next = std::min(next, pending.asked_ms + ws_.options.answer_ms);
  if (!ws_.welcomed) return next;
  for (const auto& wanted :
       {index_.next_work_ms(), conversations_.next_jumps_ms(), conversations_.next_work_ms(), outbox_.next_work_ms(),
        mutations_.next_work_ms(), passing_.next_work_ms(), large_.next_work_ms(), receipts_.next_work_ms()})
    if (wanted) next = std::min(next, *wanted);
  return std::max(next, ws_.now.steady_ms + 1);
}

}  // namespace tidemark::replica
