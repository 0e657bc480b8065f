// A world in which chance acts: users, their devices and one server, run from one seed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/glutton.h"
#include "sim/judged_world.h"

namespace tidemark::sim {

/// safety: faults never stop, nothing wrong may happen. liveness: they stop, and everybody must arrive.
enum class RunMode : std::uint8_t { safety, liveness };

struct RunOptions {
  std::uint64_t seed = 1;
  RunMode mode = RunMode::liveness;
  std::uint64_t actions_max = ~std::uint64_t{0};  // of users, to look for the shortest prefix
  bool tracing = false;
  StoreKind store = StoreKind::memory;
  std::function<void(const std::string&)> traced = {};  // with `tracing`, takes the lines in place of the output
};

struct RunResult {
  std::string violation;  // empty: the run holds
  std::uint64_t fingerprint = 0;
  std::uint64_t actions = 0;
  std::uint64_t steps = 0;
  std::int64_t virtual_ms = 0;
  Counters counters;
  Asked asked;
};

/// Never throws for what is wrong in the code under test: it says so in the result.
RunResult run_world(const RunOptions& options);

class World final : public JudgedWorld {
 public:
  World(RunContext& run, const RunOptions& options) : JudgedWorld(run), options_(options) {}

  void run();
  std::uint64_t actions() const { return actions_; }
  Asked asked() const;

  void on_cloned(SimDevice& device) override;

 private:
  /// A backend that sends for a user over HTTP, and repeats itself.
  struct Post {
    SendCommand command;
    int left = 0;
  };
  void populate();
  void play();
  void act();
  void act_of_group();
  void log_out();
  void delete_user();
  void go_on_deleting(const UserId& user);
  std::optional<UserId> owner_of(const ConversationId& id);
  void run_group(const ConversationId& group, const UserId& by, const UserId& whom);
  void set_policy(const ConversationId& group, const UserId& by);
  void delete_as_operator(const ConversationId& id, Seq seq);
  void act_over_http();
  void change_over_http();
  void change_over_http(const ConversationId& id, Seq seq);
  void read_over_http();
  void scroll(SimDevice& device, const ConversationId& id);
  void react(SimDevice& device, const ConversationId& id);
  void change_message(SimDevice& device, const ConversationId& id);
  void change_own(SimDevice& device, const ConversationId& id);
  void watch_receipts(SimDevice& device);
  void set_object(SimDevice& device, const ConversationId& id);
  void post(std::shared_ptr<Post> post);
  void every_second();
  void calm_down();
  void arrive();
  void help_devices();
  void pass(std::int64_t ms);
  void put_back();

  UserId pick_user();
  SimDevice* pick_device();
  std::optional<ConversationId> pick_conversation(const SimDevice& device);
  std::optional<Seq> pick_message(const SimDevice& device, const ConversationId& id, bool own);
  Seq pick_answered(const SimDevice& device, const ConversationId& id);
  SimDevice::Meant pick_meant();
  Priority pick_priority();
  std::string fresh_text(const UserId& user);

  const RunOptions options_;
  Glutton glutton_{run_, server_};
  std::vector<ConversationId> groups_;
  std::uint64_t actions_ = 0;
  std::uint64_t texts_ = 0;
};

}  // namespace tidemark::sim
