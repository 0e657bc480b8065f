// What backends and operators do in a run, and users who come and go.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/uuid7.h"
#include "sim/world.h"

namespace tidemark::sim {

// ------------------------------------------------------------------------------------------------------ messages

void World::act_over_http() {
  if (run_.dice.chance(200)) return change_over_http();
  if (run_.dice.chance(100)) return read_over_http();
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
  command.priority = pick_priority();
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

/// A backend that takes a message back, for its author or as an operator, or edits it.
void World::change_over_http() {
  if (book_.logs().empty() || !server_.up()) return;
  const auto skip = static_cast<std::ptrdiff_t>(run_.dice.below(book_.logs().size()));
  const auto& [id, log] = *std::next(book_.logs().begin(), skip);
  if (log.empty()) return;
  change_over_http(id, std::next(log.begin(), static_cast<std::ptrdiff_t>(run_.dice.below(log.size())))->first);
}

void World::change_over_http(const ConversationId& id, Seq seq) {
  const Entry* found = book_.entry(id, seq);
  if (found == nullptr || !server_.up()) return;
  const Entry& entry = *found;
  if (!entry.countable() || entry.dead()) return;
  if (run_.dice.chance(150)) return delete_as_operator(id, seq);
  MutateCommand command{entry.sender, DeviceId("http"), {}, 0, {}};
  std::string text;
  if (run_.dice.chance(300)) {
    const UserId by = pick_user();
    command = {by, DeviceId("http"), {}, 0, {}};
    command.change =
        ReactCommand{by, DeviceId("http"), id, seq, fmt::format("r{}", run_.dice.below(4)), run_.dice.chance(650)};
    return server_.submit(std::move(command), [](const Result<Reply>&) {});
  }
  if (run_.dice.chance(500)) {
    const bool admin = run_.dice.chance(300);
    if (admin) command.user = UserId("ops");
    command.change = RecallCommand{command.user, DeviceId("http"), id, entry.seq, admin};
  } else {
    text = fresh_text(entry.sender);
    Body body;
    body.text = text;
    command.change = EditCommand{entry.sender, DeviceId("http"), id, entry.seq, std::move(body), std::nullopt};
  }
  server_.submit(std::move(command), [this, conversation = id, target = entry.seq, text](Result<Reply> reply) {
    if (!reply) return;
    const auto& done = std::get<MutatedReply>(*reply);
    if (text.empty())
      book_.acknowledge_recall(conversation, target);
    else
      book_.acknowledge_edit(conversation, done.seq, target, text);
  });
}

void World::delete_as_operator(const ConversationId& id, Seq seq) {
  server_.submit(DeleteMessageCommand{UserId("ops"), DeviceId("http"), id, seq}, [this, id, seq](Result<Reply> reply) {
    if (!reply) return;
    run_.hit(Counter::deletions);
    book_.acknowledge_recall(id, seq);
  });
}

/// A backend that knows of more than there is, or of less.
void World::read_over_http() {
  if (book_.logs().empty() || !server_.up()) return;
  const auto skip = static_cast<std::ptrdiff_t>(run_.dice.below(book_.logs().size()));
  const auto& [id, log] = *std::next(book_.logs().begin(), skip);
  if (log.empty()) return;
  const UserId user = pick_user();
  const Seq head = log.rbegin()->first;
  const ReadCommand read{user, id, head + run_.dice.below(8) - std::min(head.value, run_.dice.below(5))};
  server_.submit(MutateCommand{user, DeviceId("http"), {}, 0, read}, [this](Result<Reply> reply) {
    if (reply && std::get<MutatedReply>(*reply).clamped) run_.hit(Counter::reads_beyond);
  });
}

// ------------------------------------------------------------------------------------------- who comes and goes

/// A user logs out on one of his devices, often to come back at once; or an operator, or he himself elsewhere, logs one
/// out or removes it, or logs out all.
void World::log_out() {
  SimDevice* device = pick_device();
  if (device == nullptr || !server_.up()) return;
  if (run_.dice.chance(500)) {
    if (device->log_out(run_.dice.chance(700))) note_logout(*device);
    return;
  }
  EndSessionsCommand command{device->user(), device->name().device, {}, SessionEnd::logged_out};
  if (run_.dice.chance(300)) command.end = SessionEnd::removed;
  if (run_.dice.chance(200)) command = {device->user(), {}, {}, SessionEnd::logged_out};
  ++logged_out_by_others_[device->user()];
  server_.submit(std::move(command), [this, user = device->user()](const Result<Reply>& reply) {
    // Where that could not be known, sessions may end once it is.
    if (reply || reply.error().code != ErrorCode::RETRY_LATER) --logged_out_by_others_[user];
    if (reply) run_.hit(Counter::logouts);
  });
}

/// For good: his id is never used again. His devices are not waited for.
void World::delete_user() {
  if (users_.size() < 3) return;
  const UserId user = pick_user();
  std::erase(users_, user);
  deleted_.emplace(user, Deletion::begun);
  for (const SimDevice& device : devices_)
    if (device.user() == user) thrown_away_.insert(&device);
  go_on_deleting(user);
}

/// As an operator does, until nothing of the user is left; again after a restore from before.
void World::go_on_deleting(const UserId& user) {
  run_.timeline.after(run_.dice.skewed(100, 3'000), [this, user] { go_on_deleting(user); });
  if (!server_.up() || deleted_.at(user) == Deletion::done) return;
  server_.submit(DeleteUserCommand{user, 1}, [this, user](Result<Reply> reply) {
    if (!reply) return;
    const bool done = !std::get<UserReply>(*reply).groups_left;
    deleted_[user] = done ? Deletion::done : Deletion::begun;
    if (done) run_.hit(Counter::users_deleted);
  });
}

}  // namespace tidemark::sim
