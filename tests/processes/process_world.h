// Users with devices of their own processes, a server, a proxy between them, and the faults that strike all of them:
// what sim/world.h is in virtual time, with real processes, sockets, clocks and disks.
//
// Users and faults are drawn from the seed; when they happen is up to the machine, so that no run is ever repeated.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "processes/backend.h"
#include "processes/device_process.h"
#include "processes/judge.h"
#include "processes/proxy.h"
#include "server_process.h"
#include "sim/dice.h"
#include "store/warm.h"

namespace tidemark::testing {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::int64_t busy_ms = 20'000;    // how long users act and faults strike
  std::int64_t arrive_ms = 60'000;  // how long it may take until everybody is in step when they have stopped
  int users = 3;
  int devices = 2;  // of each user
  Weather weather = {};
  std::string directory;  // of everything that is written
};

/// A world of another size in another weather for each seed.
WorldOptions any_world(std::uint64_t seed);

/// Told how far a run has come.
using Progress = std::function<void(const std::string& line)>;

class ProcessWorld {
 public:
  ProcessWorld(const WorldOptions& options, Counters& counters, Progress progress);

  /// Throws sim::Violation for an invariant that does not hold, std::runtime_error when a process does not do what it
  /// has to. Everything that was started ends with this object.
  void run();
  /// What the server wrote to its log.
  std::string server_log() const { return server_ ? server_->log() : std::string(); }

 private:
  struct Actor {
    Actor(DeviceSpec spec, const UserId& user, const DeviceId& device) : process(std::move(spec)), seen(user, device) {}
    DeviceProcess process;
    Witness seen;
    std::int64_t again_ms = 0;  // down: when it is started; paused: when it goes on
  };

  void populate();
  Actor& add_device(const UserId& user, const std::string& name);
  void play();
  // What users do.
  void act();
  void send(Actor& actor);
  void change_group();
  std::optional<std::pair<ConversationId, Seq>> pick_message(const UserId& author);
  void change_message(Actor& actor);
  void change_over_http();
  void repeat_posts();
  Post fresh_post();
  void take_answer(Post& post, const HttpResponse& response);
  // What goes wrong.
  void strike();
  void strike_device();
  void strike_server();
  void back_up();
  void restore();
  void put_back();
  void start_server();
  // Who watches.
  void read_all_lines();
  replica::MemoryStore look_at_store(Actor& actor);
  std::unique_ptr<Warm> open_copy() const;
  void look_at_log();
  // The end.
  void calm_down();
  void arrive();
  bool in_step(const UserId& user);
  void wait_for(const std::string& what, const std::function<bool()>& holds);
  void check_end();
  void stop_all();

  Actor* pick_actor();
  ConversationId pick_conversation(const UserId& user);
  std::string fresh_text(const UserId& user);
  std::vector<Witness*> witnesses();
  bool server_answers() const { return server_->pid() > 0 && !server_paused_; }
  void tell_progress(const std::string& what);

  const WorldOptions options_;
  Counters& counters_;
  const Progress progress_;
  sim::Dice dice_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Proxy> proxy_;
  Judge judge_;
  std::optional<sim::LogBook> backup_;  // the log as the backup has it
  std::vector<UserId> users_;
  std::vector<ConversationId> groups_;
  std::list<Actor> actors_;
  std::list<Post> posts_;
  std::uint64_t texts_ = 0;
  std::int64_t begin_ms_ = 0;
  std::int64_t next_act_ms_ = 0;
  std::int64_t next_device_strike_ms_ = 0;
  std::int64_t next_server_strike_ms_ = 0;
  std::uint64_t device_strikes_ = 0;
  std::uint64_t server_strikes_ = 0;
  std::int64_t server_again_ms_ = 0;  // down or paused: when it is put back
  bool server_paused_ = false;
};

/// What a device's file holds. std::runtime_error when it cannot be read.
replica::MemoryStore read_store(const std::string& path);

}  // namespace tidemark::testing
