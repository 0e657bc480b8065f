#include "sim/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/link.h"
#include "tidemark.pb.h"
#include "wire/convert_client.h"
#include "wire/dialect.h"

namespace tidemark::sim {

SimDevice::SimDevice(RunContext& run, SimServer& server, DeviceWatch& watch, Name name, replica::MemoryStore store)
    : run_(run),
      server_(server),
      watch_(watch),
      name_(std::move(name)),
      dialect_(run.dice.chance(300) ? Dialect::json : Dialect::binary),
      clock_(run.timeline),
      store_(std::move(store)),
      backup_(store_),
      waits_(LinkOptions().retry_min_ms, LinkOptions().retry_max_ms) {
  if (run_.plan.clock_jump > 0 && run_.dice.chance(300)) clock_.jump(run_.dice.between(-7'200'000, 7'200'000));
}

SimDevice::~SimDevice() = default;

// --------------------------------------------------------------------------------------------------- the process

void SimDevice::start() {
  ++life_;
  crashing_ = retired_ = connecting_ = false;
  receipts_of_.clear();
  if (!options_) options_ = any_options();
  replica::Options options = *options_;
  options.seed = {run_.dice.next(), run_.dice.next()};
  replica_ = std::make_unique<replica::Replica>(
      options, store_.image(), [this](const ConversationId& id, Seq seq) { return store_.row(id, seq); });
  tell("starts");
  set_alarm();
  connect_at_once();
}

void SimDevice::start(const replica::Options& options) {
  options_ = options;
  start();
}

replica::Options SimDevice::any_options() {
  replica::Options options;
  options.recent = static_cast<std::uint32_t>(run_.dice.below(6));
  options.bodies = options.recent == 0 ? Bodies::none : Bodies::recent;
  options.page_limit = static_cast<std::uint32_t>(run_.dice.between(1, 12));
  options.sync_limit = static_cast<std::uint32_t>(run_.dice.between(1, 5));
  options.held_items_max = static_cast<std::size_t>(run_.dice.between(1, 20));
  options.held_bytes_max = static_cast<std::size_t>(run_.dice.between(200, 20'000));
  options.ranges_max = static_cast<std::size_t>(run_.dice.between(2, 8));
  options.outbox_max = static_cast<std::size_t>(run_.dice.between(5, 200));
  options.sends_in_flight_max = static_cast<std::size_t>(run_.dice.between(1, 32));
  options.mutations_max = static_cast<std::size_t>(run_.dice.between(1, 32));
  options.pulls_in_flight_max = static_cast<std::size_t>(run_.dice.between(1, 4));
  options.open_max = 3;
  return options;
}

void SimDevice::crash() {
  if (!up()) return;
  tell("dies");
  ++life_;
  if (connection_) connection_->device_close();
  connection_.reset();
  asked_.clear();
  replica_.reset();
  if (run_.strikes(run_.plan.old_backup)) {
    run_.hit(Counter::old_backups);
    store_ = backup_;
    watch_.on_restored(*this);
  } else if (run_.strikes(run_.plan.clone)) {
    run_.hit(Counter::clones);
    watch_.on_cloned(*this);
  }
  run_.timeline.after(run_.dice.skewed(1, run_.calm ? 500 : 20'000), [this] {
    if (!up()) start();
  });
}

void SimDevice::later(std::int64_t delay_ms, std::function<void()> act) {
  run_.timeline.after(delay_ms, [this, life = life_, act = std::move(act)] {
    if (life == life_) act();
  });
}

template <typename Input>
void SimDevice::act(Input input) {
  if (!up() || crashing_) return;
  input(*replica_);
  carry_out();
}

void SimDevice::carry_out() {
  replica::Outputs outputs = replica_->take_outputs();
  const std::optional<Death> dies = death(outputs);
  if (!outputs.batch.empty()) {
    if (dies == Death::before_storing) {
      run_.hit(Counter::client_batches_lost);
    } else {
      watch_.on_storing(*this, outputs.batch);
      store_.apply(outputs.batch);
    }
  }
  for (const replica::Request& request : outputs.requests)
    if (std::holds_alternative<replica::Heads>(request.operation)) run_.hit(Counter::heads);
  if (dies != Death::before_storing && connection_) {
    std::size_t count = outputs.requests.size();
    if (dies == Death::half_sent) count = run_.dice.below(count + 1);
    const HelloExtras extras{name_.user.value, name_.device.value == "d0" ? "phone" : "desk", "1"};
    if (run_.tracing) trace_requests(outputs.requests);
    for (std::size_t i = 0; i < count; ++i) {
      note_asked(outputs.requests[i]);
      if (watch_.on_request(*this, outputs.requests[i]))
        connection_->device_send(encode_request(dialect_, outputs.requests[i], extras));
    }
  }
  if (dies) {
    run_.hit(Counter::client_crashes);
    crashing_ = true;
    return later(0, [this] { crash(); });
  }
  for (const replica::Event& event : outputs.events) {
    watch_.on_event(*this, event);
    const auto* link = std::get_if<replica::LinkEvent>(&event);
    if (link && link->state == replica::LinkState::refused) retired_ = true;
    if (link && link->state == replica::LinkState::in_step) waits_.settled();
  }
  watch_.on_acted(*this);
  if (outputs.close_link) lose_connection();
  if (run_.dice.chance(5)) backup_ = store_;
  set_alarm();
}

std::optional<SimDevice::Death> SimDevice::death(const replica::Outputs& outputs) {
  if (dies_at_ && !outputs.batch.empty()) return std::exchange(dies_at_, std::nullopt);
  if (!run_.strikes(run_.plan.device_crash)) return std::nullopt;
  return static_cast<Death>(run_.dice.below(3));
}

void SimDevice::note_asked(const replica::Request& request) {
  if (std::holds_alternative<replica::Ack>(request.operation)) return;  // has no answer
  Asked& asked = asked_[request.id];
  asked.kind = request.operation.index();
  if (const auto* send = std::get_if<replica::Send>(&request.operation)) asked.client_msg_id = send->client_msg_id;
}

void SimDevice::trace_requests(const std::vector<replica::Request>& requests) {
  for (const replica::Request& request : requests) {
    if (const auto* sync = std::get_if<replica::ConversationSync>(&request.operation)) {
      std::string known;
      for (const Interval& range : sync->known) known += fmt::format(" ({}, {}]", range.after.value, range.to.value);
      show(fmt::format("asks for news of {} after {}, holds{}", sync->conversation.value, sync->after.value, known));
    }
    if (const auto* mutate = std::get_if<replica::Mutate>(&request.operation))
      show(fmt::format("sends change {} of kind {}", mutate->item.number, static_cast<int>(mutate->item.kind)));
    if (const auto* history = std::get_if<replica::History>(&request.operation))
      show(fmt::format("asks for history of {}, before {}", history->conversation.value,
                       history->before.value_or(Seq()).value));
    if (const auto* ack = std::get_if<replica::Ack>(&request.operation))
      show(fmt::format("acknowledges mark {}", ack->mark.value));
    if (const auto* receipts = std::get_if<replica::AskReceipts>(&request.operation))
      show(fmt::format("{} how far others have read {}", receipts->watch ? "looks" : "looks no more",
                       receipts->conversation.value));
  }
}

void SimDevice::set_alarm() {
  const std::int64_t delay = std::max<std::int64_t>(0, replica_->next_tick_ms() - clock_.steady_ms());
  later(delay, [this, alarm = ++alarms_] {
    if (alarm != alarms_ || crashing_) return;
    act([this](replica::Replica& replica) { replica.on_tick(now()); });
  });
}

// ------------------------------------------------------------------------------------------------ the connection

bool SimDevice::may_connect() const {
  return !offline_ && !retired_ && !connection_ && !connecting_;
}

void SimDevice::connect_again() {
  if (!may_connect()) return;
  const Plan& plan = run_.plan;
  if (plan.reconnect_max_ms == 0) return connect_in(waits_.next(run_.dice.next()));
  connect_in(run_.dice.skewed(0, run_.calm ? 500 : plan.reconnect_max_ms));
}

/// The app was opened, or the network is back.
void SimDevice::connect_at_once() {
  if (run_.plan.reconnect_max_ms != 0) return connect_again();
  waits_.settled();
  if (may_connect()) connect_in(0);
}

void SimDevice::connect_in(std::int64_t wait_ms) {
  connecting_ = true;
  later(wait_ms, [this] {
    connecting_ = false;
    connect();
  });
}

void SimDevice::connect() {
  if (offline_ || retired_ || connection_ || crashing_) return;
  const std::uint64_t number = ++connections_;
  const auto present = [this, life = life_, number] { return life == life_ && number == connections_ && !crashing_; };
  connection_ = server_.connect(dialect_, {.on_data =
                                               [this, present](std::string_view message) {
                                                 if (present()) on_data(message);
                                               },
                                           .on_closed =
                                               [this, present] {
                                                 if (present()) lose_connection();
                                               },
                                           .on_unblocked = {}});
  if (!connection_) return connect_again();
  act([this](replica::Replica& replica) { replica.on_connected(now()); });
}

void SimDevice::lose_connection() {
  if (!connection_) return;
  ++connections_;
  connection_->device_close();
  connection_.reset();
  asked_.clear();
  act([this](replica::Replica& replica) { replica.on_disconnected(now()); });
  connect_again();
}

void SimDevice::on_data(std::string_view message) {
  auto frame = old_version_ ? decode_answer(dialect_, old_version_->met(dialect_, message, run_.counters))
                            : decode_answer(dialect_, message);
  if (!frame) throw Violation("wire", "the server sent what cannot be read: " + frame.error().error.message());
  deliver(std::move(*frame));
}

void SimDevice::deliver(replica::ServerFrame frame) {
  if (!watch_.on_answer(*this, frame)) return;
  asked_.erase(frame.id);
  act([&](replica::Replica& replica) { replica.on_frame(now(), std::move(frame)); });
}

void SimDevice::set_offline(bool offline) {
  offline_ = offline;
  if (!up() || crashing_) return;
  tell(offline ? "goes offline" : "comes online");
  if (offline)
    lose_connection();
  else
    connect_at_once();
}

void SimDevice::wake_up() {
  if (!up() || !std::exchange(retired_, false)) return;
  tell("is opened again");
  lose_connection();
  connect_at_once();
}

bool SimDevice::log_out(bool comes_back) {
  using replica::LinkState;
  if (!connection_ || (replica_->link() != LinkState::catching_up && replica_->link() != LinkState::in_step))
    return false;
  tell(comes_back ? "logs out and comes back" : "logs out");
  run_.hit(Counter::logouts);
  pb::ClientFrame frame;
  frame.mutable_logout();
  std::string bytes;
  encode_client_frame(dialect_, frame, bytes);
  connection_->device_send(bytes);
  if (!comes_back) return true;
  ++connections_;
  asked_.clear();
  run_.timeline.after(run_.dice.skewed(0, 5'000), [old = std::exchange(connection_, nullptr)] { old->device_close(); });
  act([this](replica::Replica& replica) { replica.on_disconnected(now()); });
  if (up() && may_connect()) connect_in(0);
  return true;
}

std::string SimDevice::waits_for() const {
  if (!up()) return "down";
  std::string all =
      fmt::format("link {}, {} pushes held, {} in the outbox, {} changes", static_cast<int>(replica_->link()),
                  replica_->held_pushes(), replica_->outbox().size(), store_.mutations().size());
  for (const auto& [id, held] : replica_->conversations()) {
    if (held.pull || held.wants()) all += fmt::format(", {} {}", held.pull ? "asks for" : "wants", id.value);
    if (held.state.wants_read || held.state.wants_unread) all += ", has read marks of " + id.value + " to tell";
  }
  return all;
}

bool SimDevice::settled() const {
  return up() && replica_->settled() && std::ranges::none_of(replica_->outbox(), [](const replica::OutboxItem& item) {
           return item.state == replica::OutboxState::waiting || item.state == replica::OutboxState::searching;
         });
}

// -------------------------------------------------------------------------------------------------- the user acts

/// They are taken back with the text, and are searched for as it is.
std::vector<Attachment> SimDevice::any_files(const std::string& text) const {
  std::vector<Attachment> files;
  while (files.size() < 2 && run_.dice.chance(run_.plan.files)) {
    const std::int64_t lasts_ms = run_.dice.chance(100) ? 0 : run_.dice.between(-5'000, 100'000);
    files.push_back(
        {.url = text.substr(0, text.find(';') + 1), .size_bytes = files.size(), .mime = "image/png", .hash = {}});
    if (lasts_ms != 0) files.back().expires_at = now().wall_ms + lasts_ms;
  }
  return files;
}

void SimDevice::send(const UserId& to, const ConversationId& conversation, const std::string& text, Seq reply_to,
                     const Meant& meant) {
  act([&](replica::Replica& replica) {
    replica::Draft draft;
    draft.to = to;
    draft.conversation = conversation;
    draft.body.text = text;
    draft.body.attachments = any_files(text);
    draft.reply_to = reply_to;
    draft.mentions = meant.users;
    draft.mention_all = meant.everybody;
    draft.priority = meant.priority;
    if (!meant.users.empty() || meant.everybody) run_.hit(Counter::mentions);
    if (!replica.send(now(), draft)) return;
    run_.hit(Counter::sends);
    if (meant.priority != Priority::normal) run_.hit(meant.priority == Priority::high ? Counter::high : Counter::low);
    tell(fmt::format("sends {} to {}{}", text, to.value, conversation.value));
  });
}

void SimDevice::recall(const ConversationId& conversation, Seq seq) {
  act([&](replica::Replica& replica) {
    if (!replica.recall(now(), conversation, seq)) return;
    run_.hit(Counter::recalls);
    tell(fmt::format("takes {}:{} back", conversation.value, seq.value));
  });
}

void SimDevice::edit(const ConversationId& conversation, Seq seq, const std::string& text,
                     std::optional<Seq> base_revision) {
  act([&](replica::Replica& replica) {
    Body body;
    body.text = text;
    body.attachments = any_files(text);
    if (!replica.edit(now(), conversation, seq, body, base_revision)) return;
    run_.hit(Counter::edits);
    tell(fmt::format("edits {}:{} to {}", conversation.value, seq.value, text));
  });
}

void SimDevice::react(const ConversationId& conversation, Seq seq, const std::string& reaction, bool on) {
  act([&](replica::Replica& replica) {
    if (!replica.react(now(), conversation, seq, reaction, on)) return;
    run_.hit(Counter::reactions);
    tell(fmt::format("{} {} {}:{}", on ? "puts" : "takes", reaction, conversation.value, seq.value));
  });
}

void SimDevice::mark_read(const ConversationId& conversation, Seq seq) {
  act([&](replica::Replica& replica) {
    if (!replica.mark_read(now(), conversation, seq)) return;
    run_.hit(Counter::reads);
    tell(fmt::format("reads {} to {}", conversation.value, seq.value));
  });
}

void SimDevice::mark_unread(const ConversationId& conversation) {
  act([&](replica::Replica& replica) { (void)replica.mark_unread(now(), conversation); });
}
void SimDevice::clear(const ConversationId& conversation, Seq seq) {
  act([&](replica::Replica& replica) { (void)replica.clear(now(), conversation, seq); });
}
void SimDevice::remove(const ConversationId& conversation) {
  act([&](replica::Replica& replica) { (void)replica.remove(now(), conversation); });
}
void SimDevice::delete_for_me(const ConversationId& conversation, const std::vector<Interval>& ranges) {
  act([&](replica::Replica& replica) { (void)replica.delete_for_me(now(), conversation, ranges); });
}
void SimDevice::mute(const ConversationId& conversation, std::int64_t until) {
  act([&](replica::Replica& replica) { (void)replica.mute(now(), conversation, until); });
}
void SimDevice::pin(const ConversationId& conversation, bool pinned) {
  act([&](replica::Replica& replica) { (void)replica.pin(now(), conversation, pinned); });
}
void SimDevice::set_object(UserObject wish) {
  act([&](replica::Replica& replica) { (void)replica.set_object(now(), std::move(wish)); });
}
void SimDevice::fetch_bodies(const ConversationId& conversation) {
  std::vector<Seq> cut;
  for (const auto& [seq, row] : store().conversation(conversation)->rows)
    if (row.entry->body.cut) cut.push_back(seq);
  for (const Seq seq : cut)
    act([&](replica::Replica& replica) {
      if (replica.fetch_body(now(), ++bodies_asked_, conversation, seq)) run_.hit(Counter::bodies);
    });
}

void SimDevice::open(const ConversationId& conversation) {
  act([&](replica::Replica& replica) { replica.open(now(), conversation); });
}
void SimDevice::close(const ConversationId& conversation) {
  act([&](replica::Replica& replica) { replica.close(now(), conversation); });
}
void SimDevice::scroll_back(const ConversationId& conversation, Seq before) {
  act([&](replica::Replica& replica) { replica.scroll_back(now(), conversation, before); });
}
void SimDevice::scroll_forward(const ConversationId& conversation, Seq after) {
  act([&](replica::Replica& replica) { replica.scroll_forward(now(), conversation, after); });
}

void SimDevice::watch_receipts(const std::vector<ConversationId>& conversations) {
  act([&](replica::Replica& replica) {
    if (!replica.watch_receipts(now(), conversations)) return;
    run_.hit(Counter::receipts_watched);
    receipts_of_ = conversations;
  });
}

void SimDevice::settle_outbox() {
  if (!up()) return;
  for (const replica::OutboxItem& item : replica_->outbox()) {
    if (item.state == replica::OutboxState::undecided)
      act([&](replica::Replica& replica) { (void)replica.resend(now(), item.local_id); });
    else if (item.state == replica::OutboxState::failed)
      act([&](replica::Replica& replica) { (void)replica.discard(now(), item.local_id); });
    if (!up() || crashing_) return;
  }
}

}  // namespace tidemark::sim
