#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/reads.h"
#include "core/uuid7.h"
#include "store/store_view.h"

namespace tidemark::sim {
World::World(RunContext& run, const RunOptions& options) : run_(run), options_(options), server_(run, *this) {}

void World::populate() {
  constexpr std::array kNames{"10", "9", "ann", "zoe"};
  server_.start();
  for (int i = 0; i < run_.plan.users; ++i) {
    const UserId& user = users_.emplace_back(kNames[static_cast<std::size_t>(i)]);
    const auto count = run_.dice.between(1, run_.plan.devices_max);
    for (std::int64_t k = 0; k < count; ++k) add_device(user, "d" + std::to_string(k)).start();
  }
}

SimDevice& World::add_device(const UserId& user, const std::string& name) {
  replica::Dice dice({run_.dice.next(), run_.dice.next() | 1});
  return devices_.emplace_back(run_, server_, *this, SimDevice::Name{user, DeviceId(name), user.value + "/" + name},
                               replica::MemoryStore(user, DeviceId(name), InstallId(dice.install_id())));
}

void World::run() {
  populate();
  run_.timeline.after(1'000, [this] { every_second(); });
  play();
  while (run_.timeline.step(run_.plan.busy_ms)) {
  }
  if (options_.mode == RunMode::safety) {
    if (server_.up()) look_at_log();
    return;
  }
  calm_down();
  const std::int64_t end = run_.timeline.now_ms() + kArriveMs;
  while (run_.timeline.step(end)) {
  }
  check_arrived();
}

// ------------------------------------------------------------------------------------------------ what users do

void World::play() {
  run_.timeline.after(run_.dice.skewed(1, 2 * run_.plan.action_every_ms), [this] {
    if (run_.calm) return;
    if (actions_ < options_.actions_max) {
      ++actions_;
      act();
    }
    play();
  });
}

UserId World::pick_user() {
  return run_.dice.pick(users_);
}

SimDevice* World::pick_device() {
  const auto skip = run_.dice.below(devices_.size());
  const auto place = std::next(devices_.begin(), static_cast<std::ptrdiff_t>(skip));
  return place->up() ? &*place : nullptr;
}

std::optional<ConversationId> World::pick_conversation(const SimDevice& device) {
  const auto& held = device.store().conversations();
  if (held.empty()) return std::nullopt;
  return std::next(held.begin(), static_cast<std::ptrdiff_t>(run_.dice.below(held.size())))->first;
}

std::string World::fresh_text(const UserId& user) {
  std::string text = fmt::format("{}#{}", user.value, ++texts_);
  if (run_.dice.chance(100)) text.append(static_cast<std::size_t>(run_.dice.below(300)), '.');
  return text;
}

void World::act() {
  const auto what = run_.dice.below(100);
  if (what < 12) return act_over_http();
  if (what < 22) return act_of_group();
  if (what < 27) return run_bot(pick_user());
  SimDevice* device = pick_device();
  if (device == nullptr) return;
  const auto conversation = pick_conversation(*device);
  if (what < 60 || !conversation) {
    for (auto left = run_.dice.skewed(1, 6); left > 0 && device->up(); --left) {
      if (conversation && run_.dice.chance(600))
        device->send({}, *conversation, fresh_text(device->user()));
      else
        device->send(pick_user(), {}, fresh_text(device->user()));
    }
  } else if (what < 80) {
    const Seq head = device->store().conversation(*conversation)->state.object.head_seq;
    const std::uint64_t back = run_.dice.chance(600) ? 0 : run_.dice.below(head.value + 2);
    device->mark_read(*conversation, head - std::min(back, head.value));
  } else if (what < 83) {
    device->mark_unread(*conversation);
  } else if (what < 90) {
    device->open(*conversation);
  } else if (what < 93) {
    device->close(*conversation);
  } else if (what < 98) {
    device->scroll_back(*conversation);
  } else {
    device->wake_up();
  }
}

void World::act_of_group() {
  if (!server_.up()) return;
  const auto ignore = [](Result<Reply>) {};
  if (groups_.size() < static_cast<std::size_t>(run_.plan.groups)) {
    CreateGroupCommand command;
    command.creator = pick_user();
    command.title = "G";
    for (const UserId& user : users_)
      if (run_.dice.chance(600)) command.members.push_back(user);
    command.newcomers = static_cast<HistoryForNewcomers>(run_.dice.below(3));
    if (command.newcomers == HistoryForNewcomers::last) command.newcomers_last = 2;
    return server_.submit(std::move(command), [this](Result<Reply> reply) {
      if (!reply) return;
      run_.hit(Counter::group_changes);
      groups_.push_back(std::get<GroupReply>(*reply).group.id);
    });
  }
  if (groups_.empty()) return;
  const ConversationId group = run_.dice.pick(groups_);
  const UserId by = pick_user();
  const UserId whom = pick_user();
  const auto count = [this](Result<Reply> reply) {
    if (reply) run_.hit(Counter::group_changes);
  };
  switch (run_.dice.below(4)) {
    case 0:
      return server_.submit(AddMembersCommand{by, DeviceId("http"), group, {whom}}, count);
    case 1:
      return server_.submit(RemoveMemberCommand{by, DeviceId("http"), group, whom}, count);
    case 2:
      return server_.submit(RemoveMemberCommand{by, DeviceId("http"), group, by}, count);
    default:
      return server_.submit(ChangeGroupCommand{by, DeviceId("http"), group, fmt::format("G{}", ++texts_)}, ignore);
  }
}

void World::act_over_http() {
  auto post_of = std::make_shared<Post>();
  SendCommand& command = post_of->command;
  command.sender = pick_user();
  command.device = DeviceId("http");
  if (!groups_.empty() && run_.dice.chance(400))
    command.conversation = run_.dice.pick(groups_);
  else
    command.to = pick_user();
  std::array<std::uint8_t, 10> random;
  run_.dice.fill(random);
  const std::int64_t age = run_.dice.chance(50) ? 24 * kHourMs : 0;
  command.client_msg_id = make_uuid_v7(server_.clock().wall_ms() - age, random);
  command.body.text = fresh_text(command.sender);
  post_of->left = static_cast<int>(run_.dice.skewed(1, 5));
  post(std::move(post_of));
}

/// Sends it, and again after a while, whatever was answered; sometimes the last time with another text.
void World::post(std::shared_ptr<Post> post_of) {
  if (post_of->left-- <= 0) return;
  if (server_.up()) {
    SendCommand command = post_of->command;
    const bool changed = post_of->left == 0 && run_.dice.chance(300);
    if (changed) command.body.text += "!";
    server_.submit(command, [this, command](Result<Reply> reply) {
      if (!reply) {
        if (reply.error().code == ErrorCode::CLIENT_MSG_ID_CONFLICT) run_.hit(Counter::conflicts);
        if (reply.error().code == ErrorCode::CLIENT_MSG_ID_EXPIRED) run_.hit(Counter::expired_ids);
        return;
      }
      const auto& sent = std::get<SentReply>(*reply);
      if (sent.duplicate) run_.hit(Counter::duplicates);
      book_.acknowledge(sent.conversation, sent.seq, command.sender.value, command.body.text);
    });
  }
  run_.timeline.after(run_.dice.skewed(0, 8'000), [this, post_of] { post(post_of); });
}

// ------------------------------------------------------------------------------------------------ what goes wrong

void World::every_second() {
  run_.timeline.after(1'000, [this] { every_second(); });
  if (server_.up() && run_.dice.chance(100)) look_at_log();
  if (run_.calm) return;
  if (run_.strikes(run_.plan.crash) && server_.up()) {
    run_.hit(Counter::server_crashes);
    server_.crash(run_.dice.chance(500) ? MemoryDisk::Fate::lost : MemoryDisk::Fate::kept);
    run_.timeline.after(run_.dice.skewed(1, 10'000), [this] {
      if (!server_.up()) server_.start();
    });
  }
  if (run_.strikes(run_.plan.disk_full)) {
    run_.hit(Counter::full_disks);
    run_.tell("the disk is full");
    server_.disk().set_full(true);
    run_.timeline.after(run_.dice.skewed(1, 8'000), [this] { server_.disk().set_full(false); });
  }
  if (run_.strikes(run_.plan.clock_jump)) {
    run_.hit(Counter::clock_jumps);
    SimDevice* device = pick_device();
    SimClock& clock = device && run_.dice.chance(700) ? device->clock() : server_.clock();
    clock.jump(run_.dice.between(-300'000, 300'000));
  }
  for (SimDevice& device : devices_)
    if (run_.strikes(run_.plan.device_offline)) device.set_offline(!device.offline());
}

void World::calm_down() {
  run_.tell("faults stop");
  run_.calm = true;
  server_.disk().set_full(false);
  server_.disk().fail_recoveries(0);
  server_.disk().fail_write(0);
  if (!server_.up()) server_.start();
  for (SimDevice& device : devices_) {
    device.set_offline(false);
    if (!device.up()) device.start();
  }
  // Those that were kicked for good, and what waits for its user's decision.
  for (std::int64_t at = 1'000; at < kArriveMs / 2; at += 5'000)
    run_.timeline.after(at, [this] {
      for (SimDevice& device : devices_) {
        device.wake_up();
        device.settle_outbox();
      }
    });
}

// ---------------------------------------------------------------------------------------------------- who watches

void World::on_published(const Outcome& outcome) {
  const auto snapshot = server_.snapshot();
  for (const Notice& notice : outcome.notices)
    if (notice.entry) book_.read_on(*snapshot, notice.conversation);
  for (const auto& [done, answer] : outcome.answers) {
    if (!answer) continue;
    const auto* sent = std::get_if<SentReply>(&*answer);
    if (sent == nullptr) continue;
    book_.read_on(*snapshot, sent->conversation);
    if (book_.entry(sent->conversation, sent->seq) == nullptr)
      throw Violation(
          "I3", fmt::format("{}:{} is acknowledged before it is durable", sent->conversation.value, sent->seq.value));
  }
  for (const Notice& notice : outcome.notices) {
    if (!notice.entry) continue;
    if (book_.entry(notice.conversation, notice.entry->seq) == nullptr)
      throw Violation("I3", fmt::format("{}:{} is pushed before it is durable", notice.conversation.value,
                                        notice.entry->seq.value));
    for (const Receiver& receiver : notice.receivers)
      if (!book_.sight(notice.conversation, receiver.user).sees(notice.entry->seq))
        throw Violation("I10", fmt::format("{}:{} is pushed to {}, who may not see it", notice.conversation.value,
                                           notice.entry->seq.value, receiver.user.value));
    // Everybody in period is told of it.
    for (const UserId& user : users_) {
      if (!book_.sight(notice.conversation, user).in_period(notice.entry->seq)) continue;
      if (std::ranges::find(notice.receivers, user, &Receiver::user) == notice.receivers.end())
        throw Violation("I5", fmt::format("{} is not told of {}:{}", user.value, notice.conversation.value,
                                          notice.entry->seq.value));
    }
  }
}

void World::look_at_log() {
  book_.read(*server_.snapshot());
}

void World::on_storing(SimDevice& device, const replica::StoreBatch& batch) {
  Seen& seen = seen_[&device];
  for (const replica::StoredRow& row : batch.rows) {
    if (row.note.provisional) continue;
    const Seq seq = row.entry->seq;
    if (server_.up() && book_.entry(row.conversation, seq) == nullptr) look_at_log();
    const Entry* truth = book_.entry(row.conversation, seq);
    const auto named = [&] {
      return fmt::format("{}:{} on {}", row.conversation.value, seq.value, device.name().shown);
    };
    if (truth == nullptr) throw Violation("I3", named() + " is not in the log");
    if (!book_.sight(row.conversation, device.user()).sees(seq)) throw Violation("I10", named() + " may not be seen");
    if (truth->sender != row.entry->sender || (!truth->dead() && truth->body.text != row.entry->body.text))
      throw Violation("I2", named() + " says something else than the log");
  }
  for (const replica::ConversationState& state : batch.conversations) {
    if (run_.tracing)
      device.tell(fmt::format("stores {}: head {} mark {} read {} (own {}) unread {}{}", state.id().value,
                              state.object.head_seq.value, state.object.mark.value, state.object.read.value,
                              state.local_read.value, state.object.unread.count, state.object.unread.exact ? "" : "+"));
    Seq& read = seen.read[state.id()];
    if (state.object.read < read && !state.stale)
      throw Violation("I9", fmt::format("{} shows {} read to {}, and showed {} before", device.name().shown,
                                        state.id().value, state.object.read.value, read.value));
    read = std::max(read, state.object.read);
  }
  for (const ConversationId& id : batch.dropped) seen.read.erase(id);
  if (!batch.device) return;
  const Mark mark = batch.device->cursor.mark;
  if (mark < seen.cursor && !batch.device->cursor.empty())
    throw Violation("I6", device.name().shown + "'s cursor goes back");
  seen.cursor = mark;
}

void World::on_event(SimDevice& device, const replica::Event& event) {
  if (const auto* message = std::get_if<replica::MessageEvent>(&event)) {
    device.tell(fmt::format("shows {}:{} {}{}", message->conversation.value, message->entry->seq.value,
                            message->entry->body.text, message->notify ? " and notifies" : ""));
    if (!message->notify) return;
    const bool fresh = seen_[&device].notified.insert({message->conversation, message->entry->seq}).second;
    if (!fresh && !seen_[&device].stepped_back)
      throw Violation("I4", fmt::format("{} notifies of {}:{} twice", device.name().shown, message->conversation.value,
                                        message->entry->seq.value));
  }
  if (const auto* outbox = std::get_if<replica::OutboxEvent>(&event)) {
    if (outbox->outcome != replica::OutboxOutcome::sent) return;
    run_.hit(Counter::acknowledged);
    device.tell(fmt::format("has sent {}:{}", outbox->conversation.value, outbox->seq.value));
  }
  if (const auto* link = std::get_if<replica::LinkEvent>(&event))
    device.tell(fmt::format("link {}", static_cast<int>(link->state)));
}

void World::on_answer(SimDevice& device, const replica::ServerFrame& frame) {
  if (run_.tracing) trace_answer(device, frame);
  if (std::holds_alternative<replica::Push>(frame.answer)) run_.hit(Counter::pushes);
  if (std::holds_alternative<replica::Hint>(frame.answer)) run_.hit(Counter::hints);
  if (const auto* error = std::get_if<Error>(&frame.answer)) {
    if (error->code == ErrorCode::NEW_INSTALL_REQUIRED) run_.hit(Counter::new_installs);
    if (error->code == ErrorCode::INTERNAL) throw Violation("server", "an answer says INTERNAL: " + error->message());
  }
  if (const auto* sync = std::get_if<replica::SyncAnswer>(&frame.answer)) {
    if (device.store().device().pass.snapshot) run_.hit(Counter::snapshots);
    if (sync->page.more) run_.hit(Counter::descents);
  }
  if (const auto* page = std::get_if<ConversationPage>(&frame.answer)) {
    run_.hit(Counter::gaps);
    if (page->hole.to > page->hole.after) run_.hit(Counter::holes);
    if (!page->hidden.empty()) run_.hit(Counter::hidden);
  }
  if (const auto* page = std::get_if<HistoryPage>(&frame.answer))
    if (!page->hidden.empty()) run_.hit(Counter::hidden);
  if (const auto* sent = std::get_if<SentReply>(&frame.answer))
    if (sent->duplicate) run_.hit(Counter::duplicates);
}

void World::trace_answer(SimDevice& device, const replica::ServerFrame& frame) {
  if (const auto* welcome = std::get_if<replica::Welcome>(&frame.answer))
    device.tell(fmt::format("is welcomed: mode {}, head {}, behind {}", static_cast<int>(welcome->mode),
                            welcome->head.mark.value, welcome->behind));
  if (const auto* hint = std::get_if<replica::Hint>(&frame.answer))
    device.tell(fmt::format("is told of mark {}", hint->head.value));
  if (const auto* sync = std::get_if<replica::SyncAnswer>(&frame.answer)) {
    const SyncPage& page = sync->page;
    device.tell(fmt::format("gets ({}, {}] of the index, p0 {}, head {}{}", page.after.value, page.to.value,
                            page.p0.value, page.head.value, page.more ? ", more" : ""));
    for (const Change& change : page.changes)
      device.tell(fmt::format("  {} mark {} head {} read {} unread {}", change.conversation.value, change.mark.value,
                              change.head_seq.value, change.read.value, change.unread.count));
  }
  if (const auto* push = std::get_if<replica::Push>(&frame.answer))
    for (const PushItem& item : push->items)
      device.tell(fmt::format("is pushed ({}, {}] {}:{}{}", item.index_after.value, item.index_to.value,
                              item.conversation.value, item.entry ? item.entry->seq.value : 0,
                              item.summary ? " with the summary" : ""));
}

void World::on_restored(SimDevice& device) {
  Seen& seen = seen_[&device];
  seen = {};
  seen.stepped_back = true;
}

void World::on_cloned(SimDevice& device) {
  if (devices_.size() > 12) return;
  SimDevice& clone = devices_.emplace_back(
      run_, server_, *this, SimDevice::Name{device.user(), device.name().device, device.name().shown + "'"},
      device.store());
  seen_[&clone].stepped_back = true;
  run_.timeline.after(run_.dice.skewed(1, 5'000), [&clone] {
    if (!clone.up()) clone.start();
  });
}

// ------------------------------------------------------------------------------------------------------- the bot

/// A page of bodies "all", and the next ones later, whatever happens in between.
void World::run_bot(const UserId& user) {
  if (!server_.up()) return;
  const auto query = std::make_shared<SyncQuery>();
  query->user = user;
  query->cursor = bot_cursors_[user];
  query->bodies = Bodies::all;
  query->limit = static_cast<std::uint32_t>(run_.dice.between(1, 4));
  query->byte_budget = static_cast<std::uint64_t>(run_.dice.between(1, 200));
  // One run at a time: a second one would take the same messages again.
  std::vector<std::pair<ConversationId, Seq>> taken;
  for (int pages = 0; pages < 1'000; ++pages) {
    StoreView view(server_.snapshot());
    const auto page = read_sync(view, server_.params(), *query);
    if (!page) throw Violation("I15", "a bot's page is refused: " + page.error().message());
    for (const Change& change : page->changes)
      for (const Entry& entry : change.messages) taken.emplace_back(change.conversation, entry.seq);
    if (page->resume_conversation.empty()) {
      bot_cursors_[user] = page->next;
      break;
    }
    query->p0 = page->p0;
    query->p0_round = page->p0_round;
    query->resume_conversation = page->resume_conversation;
    query->resume_after = page->resume_after;
  }
  run_.hit(Counter::bot_runs);
  for (const auto& message : taken)
    if (++bot_messages_[user][message] > 1)
      throw Violation("I15",
                      fmt::format("{}'s bot got {}:{} twice", user.value, message.first.value, message.second.value));
}

}  // namespace tidemark::sim
