#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/uuid7.h"

namespace tidemark::sim {

void World::populate() {
  constexpr std::array kNames{"10", "9", "ann", "zoe"};
  server_.start();
  for (int i = 0; i < run_.plan.users; ++i) {
    const UserId& user = users_.emplace_back(kNames[static_cast<std::size_t>(i)]);
    const auto count = run_.dice.between(1, run_.plan.devices_max);
    for (std::int64_t k = 0; k < count; ++k) {
      SimDevice& device = add_device(user, "d" + std::to_string(k));
      if (run_.strikes(run_.plan.old_versions)) device.become_old_version();
      device.start();
    }
  }
}

void World::run() {
  populate();
  run_.timeline.after(1'000, [this] { every_second(); });
  play();
  pass(run_.plan.busy_ms);
  if (options_.mode == RunMode::safety) {
    if (server_.up()) look_at_log();
    return;
  }
  calm_down();
  arrive();
}

void World::pass(std::int64_t ms) {
  const std::int64_t end = run_.timeline.now_ms() + ms;
  while (run_.timeline.step(end)) {
  }
}

Asked World::asked() const {
  Asked all = run_.asked;
  all.add(book_.asked());
  return all;
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
  std::string text = numbered_text(user.value, ++texts_);
  if (run_.dice.chance(250)) text.append(static_cast<std::size_t>(run_.dice.below(600)), '.');
  return text;
}

void World::act() {
  const auto what = run_.dice.below(100);
  if (what == 0) return run_.dice.chance(100) ? delete_user() : log_out();
  if (what < 12) return act_over_http();
  if (what < 22) return act_of_group();
  if (what < 27) return run_bot(pick_user());
  SimDevice* device = pick_device();
  if (device == nullptr) return;
  const auto conversation = pick_conversation(*device);
  if (conversation && what < 37) {
    change_message(*device, *conversation);
  } else if (what < 62 || !conversation) {
    for (auto left = run_.dice.skewed(1, 6); left > 0 && device->up(); --left) {
      if (conversation && run_.dice.chance(600))
        device->send({}, *conversation, fresh_text(device->user()), pick_answered(*device, *conversation),
                     pick_meant());
      else
        device->send(pick_user(), {}, fresh_text(device->user()), {}, {{}, false, pick_priority()});
    }
  } else if (what < 79) {
    const Seq head = device->store().conversation(*conversation)->state.object.head_seq;
    const std::uint64_t back = run_.dice.chance(600) ? 0 : run_.dice.below(head.value + 2);
    device->mark_read(*conversation, head - std::min(back, head.value));
  } else if (what < 81) {
    device->mark_unread(*conversation);
  } else if (what < 84) {
    change_own(*device, *conversation);
  } else if (what < 86) {
    device->open(*conversation);
  } else if (what < 87) {
    device->close(*conversation);
  } else if (what < 88) {
    watch_receipts(*device);
  } else if (what < 89) {
    device->fetch_bodies(*conversation);
  } else if (what < 98) {
    scroll(*device, *conversation);
  } else {
    device->wake_up();
  }
}

/// A message that is held and lives: often the last one, sometimes an old one.
std::optional<Seq> World::pick_message(const SimDevice& device, const ConversationId& id, bool own) {
  std::vector<Seq> found;
  for (const auto& [seq, row] : device.store().conversation(id)->rows)
    if (row.note.countable && !row.entry->dead() && (row.note.mine || !own)) found.push_back(seq);
  if (found.empty()) return std::nullopt;
  return run_.dice.chance(400) ? found.back() : run_.dice.pick(found);
}

Seq World::pick_answered(const SimDevice& device, const ConversationId& id) {
  const auto message = run_.dice.chance(250) ? pick_message(device, id, false) : std::nullopt;
  if (!message) return {};
  run_.hit(Counter::replies);
  return *message;
}

Priority World::pick_priority() {
  if (run_.dice.chance(150)) return Priority::high;
  return run_.dice.chance(120) ? Priority::low : Priority::normal;
}

SimDevice::Meant World::pick_meant() {
  SimDevice::Meant meant;
  if (run_.dice.chance(100)) meant.users = {pick_user()};
  if (run_.dice.chance(50)) meant.everybody = true;
  meant.priority = pick_priority();
  return meant;
}

/// What a user makes of a conversation for himself.
void World::change_own(SimDevice& device, const ConversationId& id) {
  const Seq head = device.store().conversation(id)->state.object.head_seq;
  switch (run_.dice.below(8)) {
    case 0:
      run_.hit(Counter::clears);
      return device.clear(id, head - std::min(run_.dice.below(6), head.value));
    case 1:
      run_.hit(Counter::removals);
      return device.remove(id);
    case 2:
    case 3:
    case 4: {
      const auto seq = pick_message(device, id, false);
      if (!seq) return;
      run_.hit(Counter::own_deletions);
      return device.delete_for_me(id, {{*seq - 1, *seq + (run_.dice.chance(200) ? run_.dice.below(5) : 0)}});
    }
    case 5:
      return device.mute(id, run_.dice.chance(500) ? kForEver : 0);
    case 6:
      return device.pin(id, run_.dice.chance(500));
    default:
      return set_object(device, id);
  }
}

/// Of some of the conversations, in place of those before.
void World::watch_receipts(SimDevice& device) {
  std::vector<ConversationId> some;
  for (const auto& [id, stored] : device.store().conversations())
    if (some.size() < 8 && run_.dice.chance(600)) some.push_back(id);
  device.watch_receipts(some);
}

void World::set_object(SimDevice& device, const ConversationId& id) {
  run_.hit(Counter::objects);
  if (run_.dice.chance(200)) {
    const bool off = run_.dice.chance(400);
    return device.set_object({Setting{std::string(kReceiptsSetting), off ? "false" : ""}});
  }
  switch (run_.dice.below(3)) {
    case 0: {
      SavedDraft draft{id};
      if (run_.dice.chance(700)) draft.body.text = fmt::format("begun {}", ++texts_);
      return device.set_object({draft});
    }
    case 1:
      return device.set_object({Setting{"theme", run_.dice.chance(300) ? "" : std::to_string(run_.dice.below(3))}});
    default:
      // Nobody of this world: those who are in it are to arrive.
      return device.set_object({BlockedUser{UserId("nobody"), run_.dice.chance(500)}});
  }
}

/// To anybody's message, often to one to which others react; now and then in more ways than are allowed.
void World::react(SimDevice& device, const ConversationId& id) {
  const auto seq = pick_message(device, id, false);
  if (!seq) return;
  const bool many = run_.dice.chance(30);
  for (int left = many ? 10 : 1; left > 0; --left)
    device.react(id, *seq, fmt::format("r{}", run_.dice.below(many ? 40 : 4)), run_.dice.chance(650));
}

/// On one of the user's devices, and now and then on another at the same time.
void World::change_message(SimDevice& device, const ConversationId& id) {
  if (run_.dice.chance(350)) return react(device, id);
  const auto seq = pick_message(device, id, true);
  if (!seq) return;
  const Seq revision = device.store().row(id, *seq)->revision;
  const UserId user = device.user();
  const auto change = [&](SimDevice& on) {
    if (run_.dice.chance(400)) return on.recall(id, *seq);
    const auto base = run_.dice.chance(300) ? std::optional(revision) : std::nullopt;
    on.edit(id, *seq, fresh_text(user), base);
  };
  change(device);
  for (SimDevice& other : devices_)
    if (other.user() == user && other.up() && run_.dice.chance(200)) change(other);
}

/// Back in a conversation of which older messages are not held; often one of those that are on their way is changed
/// meanwhile.
void World::scroll(SimDevice& device, const ConversationId& id) {
  device.scroll_back(id, run_.dice.chance(200) ? Seq(1 + run_.dice.below(30)) : Seq());
  const auto older = [&]() -> const replica::ConversationState* {
    for (const auto& [other, stored] : device.store().conversations()) {
      const auto& ranges = stored.state.coverage.ranges();
      const Seq bottom = stored.state.bottom.value_or(Seq());
      if (!ranges.empty() && ranges.front().after > bottom && run_.dice.chance(500)) return &stored.state;
    }
    return nullptr;
  }();
  if (older == nullptr) return;
  const ConversationId further = older->id();
  const Seq edge = older->coverage.ranges().front().after;
  device.scroll_back(further, edge + 1);
  for (auto changes = run_.dice.below(4); changes > 0; --changes)
    run_.timeline.after(run_.dice.skewed(0, 500),
                        [this, further, seq = edge - std::min(edge.value, run_.dice.below(8))] {
                          if (!run_.calm) change_over_http(further, seq);
                        });
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
  if (run_.dice.chance(550)) return run_group(group, run_.dice.chance(600) ? owner_of(group).value_or(by) : by, whom);
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

std::optional<UserId> World::owner_of(const ConversationId& id) {
  StoreView view(server_.snapshot());
  const Conversation* group = view.conversation(id);
  if (group == nullptr) return std::nullopt;
  const auto owner = std::ranges::find(group->members, Role::owner, &Member::role);
  return owner == group->members.end() ? std::nullopt : std::optional(owner->user);
}

/// Roles, mutes, policies, coming by oneself and, now and then, the end.
void World::run_group(const ConversationId& group, const UserId& by, const UserId& whom) {
  const auto count = [this](Counter counter) {
    return [this, counter](Result<Reply> reply) {
      if (reply) run_.hit(counter);
      if (!reply && reply.error().code == ErrorCode::FORBIDDEN) run_.hit(Counter::forbidden);
    };
  };
  const auto what = run_.dice.below(100);
  if (what < 30) {
    const auto role = static_cast<Role>(run_.dice.below(3));
    return server_.submit(SetRoleCommand{by, DeviceId("http"), group, whom, role}, count(Counter::roles));
  }
  if (what < 55) {
    const std::int64_t until = server_.clock().wall_ms() + run_.dice.between(-10'000, 60'000);
    return server_.submit(MuteMemberCommand{by, DeviceId("http"), group, whom, std::max<std::int64_t>(until, 0)},
                          count(Counter::mutes));
  }
  if (what < 75) return set_policy(group, by);
  if (what < 97)
    return server_.submit(JoinGroupCommand{by, DeviceId("http"), group}, count(Counter::joined_by_themselves));
  server_.submit(DissolveGroupCommand{by, DeviceId("http"), group}, [this, group](Result<Reply> reply) {
    if (!reply) return;
    run_.hit(Counter::dissolved);
    std::erase(groups_, group);  // another will be made; devices go on with this one
  });
}

void World::set_policy(const ConversationId& group, const UserId& by) {
  ChangeGroupCommand command{by, DeviceId("http"), group, std::nullopt};
  const auto allowed = [this] { return static_cast<Allowed>(1 + run_.dice.below(2)); };
  if (run_.dice.chance(400)) command.add = allowed();
  if (run_.dice.chance(300)) command.send = run_.dice.chance(300) ? Allowed::admins : Allowed::members;
  if (run_.dice.chance(500)) command.join = static_cast<JoinPolicy>(1 + run_.dice.below(2));
  if (run_.dice.chance(400)) {
    command.newcomers = static_cast<HistoryForNewcomers>(run_.dice.below(3));
    command.newcomers_last = static_cast<std::uint32_t>(run_.dice.between(1, 4));
  }
  server_.submit(std::move(command), [this](Result<Reply> reply) {
    if (reply) run_.hit(Counter::policies);
  });
}

// ------------------------------------------------------------------------------------------------ what goes wrong

void World::every_second() {
  run_.timeline.after(1'000, [this] { every_second(); });
  if (server_.up()) memory_.check(server_);
  if (server_.up() && run_.dice.chance(100)) look_at_log();
  if (run_.calm) return;
  // As somebody who has nothing else here or, where that ends none of them, beside the user's devices.
  const bool beside = run_.plan.config.devices == DevicesConfig{} && run_.dice.chance(700);
  if (run_.strikes(run_.plan.glutton)) glutton_.start(beside ? pick_user() : UserId("guest"));
  if (run_.strikes(run_.plan.crash) && server_.up()) {
    run_.hit(Counter::server_crashes);
    server_.crash(run_.dice.chance(500) ? SimDisk::Fate::lost : SimDisk::Fate::kept);
    run_.timeline.after(run_.dice.skewed(1, 10'000), [this] {
      if (!server_.up()) server_.start();
    });
  }
  if (server_.up() && run_.plan.restore > 0 && run_.dice.chance(60)) back_up_server();
  if (backup_ && run_.strikes(run_.plan.restore)) put_back();
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
  if (run_.strikes(run_.plan.hook_down)) run_.application_down = !run_.application_down;
  for (SimDevice& device : devices_)
    if (run_.strikes(run_.plan.device_offline)) device.set_offline(!device.offline());
}

void World::put_back() {
  restore_server();
  std::erase_if(groups_, [this](const ConversationId& id) { return book_.log(id).empty(); });
  run_.timeline.after(run_.dice.skewed(1, 5'000), [this] {
    if (!server_.up()) server_.start();
  });
}

void World::calm_down() {
  run_.tell("faults stop");
  run_.calm = true;
  run_.application_down = false;
  server_.disk().set_full(false);
  server_.disk().fail_recoveries(0);
  server_.disk().fail_write(0);
  // From here on all devices of a user may be there together.
  if (std::exchange(run_.plan.config.devices, DevicesConfig{}) != DevicesConfig{} && server_.up())
    server_.crash(SimDisk::Fate::kept);
  if (!server_.up()) server_.start();
  for (SimDevice& device : devices_) {
    device.set_offline(false);
    if (!device.up()) device.start();
  }
}

/// As long as there is something to send, more follows from it: only then everybody can be waited for.
void World::arrive() {
  const auto unsent = [this](const SimDevice& device) { return device.unsent() && !thrown_away_.contains(&device); };
  const std::int64_t latest = run_.timeline.now_ms() + kUnsentMs;
  while (run_.timeline.now_ms() < latest && std::ranges::any_of(devices_, unsent)) help_devices();
  const std::int64_t half = run_.timeline.now_ms() + kArriveMs / 2;
  while (run_.timeline.now_ms() < half) help_devices();
  pass(kArriveMs / 2 - kQuietMs);
  begin_quiet();
  pass(kQuietMs);
  check_quiet();
  check_arrived();
}

/// For a while: those that were kicked for good, and what waits for its user's decision.
void World::help_devices() {
  for (SimDevice& device : devices_) {
    device.wake_up();
    device.settle_outbox();
  }
  if (server_.up()) server_.replay_events();
  pass(5'000);
}

void World::on_cloned(SimDevice& device) {
  if (devices_.size() > 12) return;
  SimDevice& clone = devices_.emplace_back(
      run_, server_, *this, SimDevice::Name{device.user(), device.name().device, device.name().shown + "'"},
      device.store());
  clone.behave_like(device);
  if (thrown_away_.contains(&device)) thrown_away_.insert(&clone);
  seen_[&clone].stepped_back = true;
  run_.timeline.after(run_.dice.skewed(1, 5'000), [&clone] {
    if (!clone.up()) clone.start();
  });
}

}  // namespace tidemark::sim
