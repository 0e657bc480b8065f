#include "processes/process_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "core/conversation_id.h"
#include "core/uuid7.h"
#include "sim/run_context.h"
#include "sim/texts.h"
#include "store/embedded/embedded_store.h"
#include "tidemark.pb.h"

namespace tidemark::testing {
namespace fs = std::filesystem;
using sim::Violation;

WorldOptions any_world(std::uint64_t seed) {
  sim::Dice dice(~seed);
  WorldOptions options;
  options.seed = seed;
  options.busy_ms = dice.between(15'000, 90'000);
  options.users = static_cast<int>(dice.between(2, 4));
  options.devices = static_cast<int>(dice.between(1, 3));
  Weather& weather = options.weather;
  weather.cut = static_cast<std::uint32_t>(dice.below(900));
  weather.cut_bytes_max = dice.skewed(500, 60'000);
  weather.half_open = static_cast<std::uint32_t>(dice.below(700));
  weather.born_frozen = static_cast<std::uint32_t>(dice.below(200));
  weather.change_every_ms = dice.between(1'000, 15'000);
  // Up to where a device finds out by itself that nobody answers.
  weather.silence_max_ms = dice.skewed(2'000, 75'000);
  weather.dribble = static_cast<std::uint32_t>(dice.below(400));
  weather.latency_max_ms = dice.skewed(0, 400);
  return options;
}

ProcessWorld::ProcessWorld(const WorldOptions& options, Counters& counters, Progress progress)
    : options_(options), counters_(counters), progress_(std::move(progress)), dice_(options.seed), judge_(counters) {}

void ProcessWorld::run() {
  begin_ms_ = steady_ms();
  populate();
  play();
  calm_down();
  arrive();
  check_end();
}

void ProcessWorld::tell_progress(const std::string& what) {
  if (progress_) progress_(fmt::format("{:.1f} s, {}", static_cast<double>(steady_ms() - begin_ms_) / 1'000, what));
}

/// Small limits, so that they are met within seconds.
void ProcessWorld::populate() {
  ServerOptions server;
  server.data = options_.directory + "/server";
  const auto setting = [&](const char* name, std::int64_t value) {
    server.settings.push_back(fmt::format("{}={}", name, value));
  };
  setting("limits.push_entries", dice_.between(1, 10));
  setting("limits.page_default", 20);
  setting("limits.page_max", 20);
  const std::int64_t sync = dice_.between(5, 20);
  setting("limits.sync_default", sync);
  setting("limits.sync_max", sync);
  setting("limits.hole_above", dice_.between(50, 80));
  setting("limits.unanswered_max", dice_.between(1, 64));
  server_ = std::make_unique<ServerProcess>(server);
  backend_ = std::make_unique<Backend>(*server_);
  proxy_ = std::make_unique<Proxy>(dice_.next(), options_.weather, counters_);
  proxy_->forward_to(server_->port());
  constexpr std::array kNames{"10", "9", "ann", "zoe", "ben"};
  for (int i = 0; i < options_.users; ++i) users_.emplace_back(kNames.at(static_cast<std::size_t>(i)));
  groups_.push_back(backend_->create_group(users_.front(), users_, "last"));
  for (const UserId& user : users_)
    for (int i = 0; i < options_.devices; ++i) add_device(user, fmt::format("d{}", i)).process.start();
}

ProcessWorld::Actor& ProcessWorld::add_device(const UserId& user, const std::string& name) {
  DeviceSpec spec;
  spec.user = user;
  spec.device = DeviceId(name);
  spec.token = server_->token(user.value);
  spec.port = proxy_->port();
  spec.directory = options_.directory;
  // Both dialects are met in every run.
  spec.dialect = actors_.size() % 2 == 0 ? Dialect::binary : Dialect::json;
  spec.recent = static_cast<std::uint32_t>(dice_.below(6));
  spec.page_limit = static_cast<std::uint32_t>(dice_.between(2, 12));
  return actors_.emplace_back(spec, spec.user, spec.device);
}

void ProcessWorld::play() {
  const std::int64_t end = steady_ms() + options_.busy_ms;
  next_server_strike_ms_ = steady_ms() + 2'000;
  std::int64_t next_look_ms = 0;
  for (std::int64_t now = steady_ms(); now < end; now = steady_ms()) {
    put_back();
    repeat_posts();
    if (now >= next_act_ms_) {
      act();
      next_act_ms_ = now + dice_.skewed(0, 60);
    }
    strike();
    if (now >= next_look_ms) {
      read_all_lines();
      tell_progress(fmt::format("{} messages sent", counters_.of(Counter::acknowledged)));
      next_look_ms = now + 500;
    }
    sleep_ms(2);
  }
}

// ------------------------------------------------------------------------------------------------ what users do

ProcessWorld::Actor* ProcessWorld::pick_actor() {
  Actor& actor = *std::next(actors_.begin(), static_cast<std::ptrdiff_t>(dice_.below(actors_.size())));
  return actor.process.up() && !actor.process.paused() ? &actor : nullptr;
}

ConversationId ProcessWorld::pick_conversation(const UserId& user) {
  if (!groups_.empty() && dice_.chance(450)) return dice_.pick(groups_);
  return single_conversation(user, dice_.pick(users_));
}

std::string ProcessWorld::fresh_text(const UserId& user) {
  std::string text = sim::numbered_text(user.value, ++texts_);
  if (dice_.chance(100)) text.append(dice_.below(4'000), '.');
  judge_.note_text(text);
  return text;
}

void ProcessWorld::act() {
  const auto what = dice_.below(100);
  if (what < 8) {
    posts_.push_back(fresh_post());
    return;
  }
  if (what < 14) return change_group();
  if (what < 16) return change_over_http();
  Actor* actor = pick_actor();
  if (actor == nullptr) return;
  if (what < 24) return change_message(*actor);
  if (what < 55) return send(*actor);
  const std::string where = pick_conversation(actor->seen.user).value;
  if (what < 72)
    actor->process.tell(fmt::format("read {} {}", where, dice_.chance(600) ? 0 : dice_.below(60)));
  else if (what < 76)
    actor->process.tell("unread " + where);
  else if (what < 84)
    actor->process.tell("open " + where);
  else if (what < 88)
    actor->process.tell("close " + where);
  else
    actor->process.tell("back " + where);
}

void ProcessWorld::send(Actor& actor) {
  const UserId& user = actor.seen.user;
  const ConversationId conversation = pick_conversation(user);
  for (auto left = dice_.skewed(1, 6); left > 0; --left) {
    const std::string text = fresh_text(user);
    if (dice_.chance(200))
      actor.process.tell(fmt::format("send_to {} {}", dice_.pick(users_).value, text));
    else
      actor.process.tell(fmt::format("send {} {}", conversation.value, text));
  }
}

/// A message that lives, as far as is known.
std::optional<std::pair<ConversationId, Seq>> ProcessWorld::pick_message(const UserId& author) {
  std::vector<std::pair<ConversationId, Seq>> all;
  for (const auto& [id, log] : judge_.book().logs())
    for (const auto& [seq, entry] : log)
      if (entry.countable() && !entry.dead() && entry.sender == author) all.emplace_back(id, seq);
  if (all.empty()) return std::nullopt;
  return dice_.pick(all);
}

/// Often the one that it has sent just now.
void ProcessWorld::change_message(Actor& actor) {
  const UserId& user = actor.seen.user;
  auto message = pick_message(user);
  const auto& sent = actor.seen.sent;
  if (!sent.empty() && dice_.chance(600)) message = {sent.rbegin()->second.conversation, sent.rbegin()->second.seq};
  if (!message) return;
  const std::string name = fmt::format("{} {}", message->first.value, message->second.value);
  if (dice_.chance(400)) return actor.process.tell("recall " + name);
  const std::string text = fresh_text(user);
  judge_.note_edit(message->first, message->second, text);
  actor.process.tell(fmt::format("edit {} {}", name, text));
}

void ProcessWorld::change_over_http() {
  const UserId author = dice_.pick(users_);
  const auto message = pick_message(author);
  if (!message || !server_answers()) return;
  const auto& [id, seq] = *message;
  if (dice_.chance(400)) {
    if (backend_->recall(author, id, seq).status == 200) judge_.note_recalled(id, seq);
    return;
  }
  const std::string text = fresh_text(author);
  judge_.note_edit(id, seq, text);
  const HttpResponse response = backend_->edit(author, id, seq, text);
  if (response.status == 200) judge_.note_edited(id, Seq(parsed<pb::Mutated>(response).seq()), seq, text);
}

/// The first user owns all groups and stays; the others come and go.
void ProcessWorld::change_group() {
  if (!server_answers()) return;
  const UserId& owner = users_.front();
  const UserId other = users_[1 + dice_.below(users_.size() - 1)];
  const ConversationId group = dice_.pick(groups_);
  bool done = false;
  switch (dice_.below(5)) {
    case 0:
      if (groups_.size() < 3) {
        constexpr std::array kNewcomers{"none", "last", "all"};
        groups_.push_back(backend_->create_group(owner, {other}, kNewcomers.at(dice_.below(3))));
        done = true;
      }
      break;
    case 1:
      done = backend_->remove(group, dice_.chance(500) ? owner : other, other);
      break;
    case 2:
      done = backend_->rename(group, owner, fmt::format("G{}", ++texts_));
      break;
    default:
      done = backend_->add(group, owner, other);
      break;
  }
  if (done) counters_.hit(Counter::group_changes);
}

Post ProcessWorld::fresh_post() {
  counters_.hit(Counter::posts);
  std::array<std::uint8_t, 10> random;
  dice_.fill(random);
  Post post;
  post.sender = dice_.pick(users_);
  post.conversation = single_conversation(post.sender, dice_.pick(users_));
  post.text = fresh_text(post.sender);
  post.client_msg_id = make_uuid_v7(wall_ms(), random);
  post.left = static_cast<int>(dice_.skewed(1, 4));
  return post;
}

void ProcessWorld::repeat_posts() {
  for (Post& post : posts_) {
    if (!server_answers()) return;
    if (steady_ms() < post.at_ms) continue;
    take_answer(post, backend_->send(post));
    --post.left;
    post.at_ms = steady_ms() + dice_.skewed(0, 4'000);
  }
  std::erase_if(posts_, [](const Post& post) { return post.answered && post.left <= 0; });
}

void ProcessWorld::take_answer(Post& post, const HttpResponse& response) {
  if (response.status == 503) return;
  const auto sent = parsed<pb::Sent>(response);
  if (sent.duplicate()) counters_.hit(Counter::duplicates);
  if (post.answered && !sent.duplicate())
    throw Violation("I4", "\"" + post.text + "\" was answered and then taken as a new message");
  post.answered = true;
  post.seq = Seq(sent.seq());
  judge_.note_posted(post.conversation, Seq(sent.seq()), post.sender, post.text);
}

// ----------------------------------------------------------------------------------------------- what goes wrong

/// Kinds of faults take turns, so that a short run has them all.
void ProcessWorld::strike() {
  const std::int64_t now = steady_ms();
  if (now >= next_device_strike_ms_) {
    strike_device();
    next_device_strike_ms_ = now + dice_.between(100, 1'200);
  }
  if (now >= next_server_strike_ms_ && server_answers()) {
    strike_server();
    next_server_strike_ms_ = steady_ms() + dice_.between(1'000, 4'000);
  }
}

void ProcessWorld::strike_device() {
  Actor* actor = pick_actor();
  if (actor == nullptr) return;
  actor->again_ms = steady_ms() + dice_.skewed(1, 2'500);
  const auto turn = device_strikes_++ % 8;
  if (turn == 6) {
    counters_.hit(Counter::pauses);
    return actor->process.pause();
  }
  const bool stops = turn == 7;
  if (stops) {
    counters_.hit(Counter::device_stops);
    if (!actor->process.stop()) throw Violation("device", actor->seen.shown + " did not stop when it was asked to");
  } else {
    counters_.hit(Counter::device_kills);
    // Most often in the midst of what it was told just now.
    if (dice_.chance(700)) send(*actor);
    if (dice_.chance(700)) sleep_ms(dice_.skewed(0, 20));
    actor->process.kill_hard();
  }
  const replica::MemoryStore store = look_at_store(*actor);
  // Those that were refused wait for their user.
  const bool unsent = std::ranges::any_of(
      store.outbox(), [](const auto& each) { return each.second.state == replica::OutboxState::waiting; });
  if (!stops && unsent) counters_.hit(Counter::device_kills_unsent);
}

void ProcessWorld::strike_server() {
  enum class Kind : std::uint8_t { kill, kill_in_post, stop, restore, pause };
  // The rarer kinds come early: a short run has few strikes.
  constexpr std::array kTurns{Kind::kill_in_post, Kind::stop,  Kind::kill,         Kind::restore,
                              Kind::kill,         Kind::pause, Kind::kill_in_post, Kind::kill};
  const Kind kind = kTurns.at(server_strikes_++ % kTurns.size());
  server_again_ms_ = steady_ms() + dice_.skewed(1, 2'000);
  if (kind == Kind::pause) {
    counters_.hit(Counter::pauses);
    ::kill(server_->pid(), SIGSTOP);
    server_paused_ = true;
    return;
  }
  if (kind == Kind::stop) {
    counters_.hit(Counter::server_stops);
    if (const int code = server_->stop(); code != 0)
      throw Violation("server", fmt::format("it ended with {} when it was asked to stop", code));
  } else {
    counters_.hit(Counter::server_kills);
    std::optional<HttpClient> open;
    if (kind == Kind::kill_in_post) {
      counters_.hit(Counter::server_kills_in_post);
      open = backend_->begin_send(posts_.emplace_back(fresh_post()));
      if (dice_.chance(700)) sleep_ms(dice_.skewed(0, 6));
    }
    server_->kill_hard();
  }
  look_at_log();
  if (kind == Kind::stop) back_up();
  if (kind == Kind::restore) restore();
}

/// REQUIRES: the server is down, and its log was read.
void ProcessWorld::back_up() {
  const std::string copy = options_.directory + "/backup";
  fs::remove_all(copy);
  fs::copy(server_->data(), copy, fs::copy_options::recursive);
  backup_ = judge_.book();
}

void ProcessWorld::restore() {
  if (!backup_) return;
  counters_.hit(Counter::restores);
  const Finished done =
      run_program({tidemark_program(), "restore", "--from", options_.directory + "/backup", "--data", server_->data()});
  if (done.exit_code != 0) throw Violation("server", "it cannot be restored: " + done.err);
  judge_.restore(*backup_);
  std::erase_if(groups_, [&](const ConversationId& group) { return judge_.book().log(group).empty(); });
  for (Post& post : posts_)
    post.answered = post.answered && judge_.book().entry(post.conversation, post.seq) != nullptr;
}

void ProcessWorld::start_server() {
  if (server_->pid() <= 0) {
    server_->start();
    proxy_->forward_to(server_->port());
  } else if (std::exchange(server_paused_, false)) {
    ::kill(server_->pid(), SIGCONT);
  }
}

void ProcessWorld::put_back() {
  const std::int64_t now = steady_ms();
  if (!server_answers() && now >= server_again_ms_) start_server();
  for (Actor& actor : actors_) {
    if (actor.process.ended_by_itself())
      throw Violation("device", actor.seen.shown + " ended by itself; see " + actor.process.spec().path(".err"));
    if (now < actor.again_ms) continue;
    if (!actor.process.up()) actor.process.start();
    actor.process.go_on();
  }
}

// --------------------------------------------------------------------------------------------------- who watches

std::vector<Witness*> ProcessWorld::witnesses() {
  std::vector<Witness*> all;
  for (Actor& actor : actors_) all.push_back(&actor.seen);
  return all;
}

void ProcessWorld::read_all_lines() {
  for (Actor& actor : actors_) judge_.read_lines(actor.seen, actor.process.new_lines());
}

replica::MemoryStore ProcessWorld::look_at_store(Actor& actor) {
  judge_.read_lines(actor.seen, actor.process.new_lines());
  replica::MemoryStore store = read_store(actor.process.store_path());
  judge_.look_at_store(actor.seen, store);
  return store;
}

/// The server's files as they are, opened beside it: its own recovery is left to itself.
std::unique_ptr<Warm> ProcessWorld::open_copy() const {
  EmbeddedOptions options;
  options.path = options_.directory + "/copy";
  options.cache_bytes = options.write_buffer_bytes = 8U << 20;
  options.segment_bytes = 1U << 20;
  options.min_free_bytes = 0;
  fs::remove_all(options.path);
  fs::copy(server_->data() + "/store", options.path, fs::copy_options::recursive);
  static const SystemClock clock;
  SystemRandom random;
  auto warm = open_embedded_store(options, clock, random);
  if (!warm) throw Violation("I1", "the server's store cannot be opened: " + warm.error().message());
  return std::move(*warm);
}

void ProcessWorld::look_at_log() {
  read_all_lines();
  const auto warm = open_copy();
  judge_.look_at_log(*warm->snapshot(), witnesses());
}

}  // namespace tidemark::testing
