// A world of users, their devices and one server, run from one seed; and those who watch it.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/device.h"
#include "sim/log_book.h"
#include "sim/server.h"
#include "sim/texts.h"

namespace tidemark::sim {

/// safety: faults never stop, nothing wrong may happen. liveness: they stop, and everybody must arrive.
inline constexpr std::int64_t kArriveMs = 300'000;  // once faults have stopped: time-outs of dead links, a heartbeat

enum class RunMode : std::uint8_t { safety, liveness };

struct RunOptions {
  std::uint64_t seed = 1;
  RunMode mode = RunMode::liveness;
  std::uint64_t actions_max = ~std::uint64_t{0};  // of users, to look for the shortest prefix
  bool tracing = false;
};

struct RunResult {
  std::string violation;  // empty: the run holds
  std::uint64_t fingerprint = 0;
  std::uint64_t actions = 0;
  std::uint64_t steps = 0;
  std::int64_t virtual_ms = 0;
  Counters counters;
};

/// Never throws for what is wrong in the code under test: it says so in the result.
RunResult run_world(const RunOptions& options);

class World final : public ServerWatch, public DeviceWatch {
 public:
  World(RunContext& run, const RunOptions& options);

  void run();
  std::uint64_t actions() const { return actions_; }

  void on_published(const Outcome& outcome) override;
  void on_telling(const Outcome& outcome) override;
  void on_started() override;
  void on_dying() override { look_at_log(); }
  void on_storing(SimDevice& device, const replica::StoreBatch& batch) override;
  void on_event(SimDevice& device, const replica::Event& event) override;
  bool on_answer(SimDevice& device, replica::ServerFrame& frame) override;
  void on_restored(SimDevice& device) override;
  void on_cloned(SimDevice& device) override;

 private:
  /// What was seen of a device, as long as its store goes on without a step back.
  struct Seen {
    std::map<ConversationId, Seq> read;
    std::set<std::pair<ConversationId, Seq>> notified;
    Mark cursor;
    std::uint32_t epoch = 0;
    bool stepped_back = false;
  };
  /// A backend that sends for a user over HTTP, and repeats itself.
  struct Post {
    SendCommand command;
    int left = 0;
  };

  void populate();
  SimDevice& add_device(const UserId& user, const std::string& name);
  void play();
  void act();
  void act_of_group();
  void log_out();
  void act_over_http();
  void change_over_http();
  void change_over_http(const ConversationId& id, Seq seq);
  void scroll(SimDevice& device, const ConversationId& id);
  void change_message(SimDevice& device, const ConversationId& id);
  void post(std::shared_ptr<Post> post);
  void every_second();
  void calm_down();
  void restore_server();
  bool knows_of_restores(const SimDevice& device, const ConversationId& id) const;
  void run_bot(const UserId& user);
  void look_at_log();
  void forget_texts(const ConversationId& id, Seq seq);
  void check_sessions(const Outcome& outcome);
  void check_notice(const Notice& notice, const std::set<UserId>& told) const;
  void check_stored(const SimDevice& device, const replica::StoredRow& row);
  void check_touched(const SimDevice& device, const replica::StoreBatch& batch) const;
  void count_page(const SimDevice& device, std::uint64_t request, const HistoryPage& page);
  void note_change(const SimDevice& device, const MutatedReply& reply);
  static void trace_answer(SimDevice& device, const replica::ServerFrame& frame);

  // Once everybody has arrived.
  void check_arrived();
  void check_fresh_devices();
  void check_device(const SimDevice& device);
  void check_bot(const UserId& user);

  UserId pick_user();
  SimDevice* pick_device();
  std::optional<ConversationId> pick_conversation(const SimDevice& device);
  std::optional<Seq> pick_message(const SimDevice& device, const ConversationId& id, bool own);
  Seq pick_answered(const SimDevice& device, const ConversationId& id);
  std::string fresh_text(const UserId& user);

  RunContext& run_;
  const RunOptions options_;
  SimServer server_;
  std::vector<UserId> users_;
  std::list<SimDevice> devices_;
  std::map<const SimDevice*, Seen> seen_;
  std::vector<ConversationId> groups_;
  LogBook book_;
  std::optional<LogBook> backup_;
  GoneTexts gone_{[this](std::uint64_t number) { return book_.lives(number); }};
  std::uint64_t actions_ = 0;
  std::uint64_t texts_ = 0;
  std::set<std::pair<UserId, DeviceId>> live_;  // devices with a session
  std::map<UserId, Cursor> bot_cursors_;
  std::map<UserId, std::map<std::pair<ConversationId, Seq>, int>> bot_messages_;
};

}  // namespace tidemark::sim
