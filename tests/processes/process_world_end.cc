// Once faults have stopped: everybody comes into step, and shows what the server's log holds.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "client/sqlite_store.h"
#include "core/conversation_id.h"
#include "core/params.h"
#include "processes/process_world.h"
#include "sim/run_context.h"

namespace tidemark::testing {
using sim::Violation;

replica::MemoryStore read_store(const std::string& path) {
  replica::MemoryStore store;
  // Killed before it had made its file.
  if (!std::filesystem::exists(path)) return store;
  auto file = open_sqlite_store(path);
  if (!file) throw std::runtime_error("a device's store: " + file.error().detail);
  const auto image = (*file)->load();
  if (!image) throw std::runtime_error("a device's store: " + image.error().detail);
  replica::StoreBatch batch;
  batch.device = image->device;
  batch.conversations = image->conversations;
  batch.outbox = image->outbox;
  batch.mutations = image->mutations;
  batch.objects = image->objects;
  for (const auto& [conversation, notes] : image->rows) {
    const auto rows = (*file)->rows(conversation, {}, notes.size());
    if (!rows) throw std::runtime_error("a device's store: " + rows.error().detail);
    if (rows->size() != notes.size()) throw std::runtime_error(path + " has rows without notes");
    for (std::size_t i = 0; i < notes.size(); ++i) batch.rows.push_back({conversation, (*rows)[i].entry, notes[i]});
  }
  store.apply(batch);
  return store;
}

void ProcessWorld::calm_down() {
  tell_progress("faults stop");
  proxy_->calm_down();
  server_again_ms_ = 0;
  for (Actor& actor : actors_) actor.again_ms = 0;
  // Old state and what came since are to be the same as everything at once.
  for (const UserId& user : users_) add_device(user, "new");
  put_back();
  wait_for("backends are not answered", [this] {
    repeat_posts();
    return posts_.empty();
  });
}

void ProcessWorld::wait_for(const std::string& what, const std::function<bool()>& holds) {
  const std::int64_t deadline = steady_ms() + options_.arrive_ms;
  while (!holds()) {
    if (steady_ms() > deadline)
      throw Violation("I19", fmt::format("{} s after the last fault: {}\n{}", options_.arrive_ms / 1'000, what,
                                         proxy_->describe()));
    put_back();
    sleep_ms(50);
  }
}

void ProcessWorld::arrive() {
  for (const UserId& user : users_)
    wait_for("devices of " + user.value + " are not in step", [&] { return in_step(user); });
  // Looked at, a conversation has its newest rows and all that was missing above them; then it is scrolled to its
  // beginning.
  tell_progress("everybody is in step");
  for (Actor& actor : actors_)
    for (const UserId& other : users_) actor.process.tell("open " + single_conversation(actor.seen.user, other).value);
  for (Actor& actor : actors_)
    for (const ConversationId& group : groups_) actor.process.tell("open " + group.value);
  for (const UserId& user : users_)
    wait_for("devices of " + user.value + " cannot show what is newest", [&] { return in_step(user); });
  for (Actor& actor : actors_) actor.process.tell("load");
  for (const UserId& user : users_)
    wait_for("devices of " + user.value + " cannot fetch all that is theirs", [&] { return in_step(user); });
}

/// All devices of the user say that they hold the newest mark of the list, and that nothing waits.
bool ProcessWorld::in_step(const UserId& user) {
  std::uint64_t mark = 0;
  for (const Change& each : backend_->conversations(user)) mark = std::max(mark, each.mark.value);
  for (Actor& actor : actors_) {
    actor.seen.state = {};
    if (actor.seen.user == user) actor.process.tell("state");
  }
  const std::int64_t deadline = steady_ms() + 2'000;
  for (Actor& actor : actors_) {
    if (actor.seen.user != user) continue;
    while (actor.seen.state.words.empty() && steady_ms() < deadline) {
      sleep_ms(5);
      read_all_lines();
    }
    const LogLine& state = actor.seen.state;
    if (state.word(1) != "settled" || state.word(2) != "in_step" || state.number(3) != mark || state.number(5) != 0)
      return false;
  }
  return true;
}

void ProcessWorld::check_end() {
  tell_progress("all is compared");
  std::map<UserId, Told> told;
  for (const UserId& user : users_) {
    told[user].list = backend_->conversations(user);
    for (const Change& each : told[user].list)
      told[user].rows[each.conversation] = backend_->history(user, each.conversation);
  }
  stop_all();
  const auto warm = open_copy();
  const auto snapshot = warm->snapshot();
  std::vector<replica::MemoryStore> stores;
  for (Actor& actor : actors_) {
    stores.push_back(read_store(actor.process.store_path()));
    judge_.look_at_store(actor.seen, stores.back());
  }
  judge_.look_at_log(*snapshot, witnesses());
  judge_.check_sends(witnesses());
  for (const auto& [user, all] : told) judge_.check_told(user, all);
  const sim::GoneTexts gone = judge_.gone();
  sim::Asked asked;
  auto store = stores.begin();
  for (Actor& actor : actors_) {
    sim::check_in_step({actor.seen.shown, actor.seen.user, *store},
                       {judge_.book(), gone, snapshot, CoreParams(), asked});
    judge_.check_complete(actor.seen, *store, told.at(actor.seen.user));
    ++store;
  }
}

/// Half of the devices are killed: what counts is what they have stored.
void ProcessWorld::stop_all() {
  for (Actor& actor : actors_) {
    if (dice_.chance(500))
      actor.process.kill_hard();
    else if (!actor.process.stop())
      throw Violation("device", actor.seen.shown + " did not stop when it was asked to");
  }
  if (const int code = server_->stop(); code != 0)
    throw Violation("server", fmt::format("it ended with {} when it was asked to stop", code));
  read_all_lines();
}

}  // namespace tidemark::testing
