// One server, the devices of some users, and the judges: what is checked of each round as it is published, of each
// input as a device stores it, and of everybody once all is quiet. Who acts, and what goes wrong, is said by those who
// derive from it: chance (sim/world.h) or a scenario (sim/scenario.h).
#pragma once

#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/device.h"
#include "sim/hook_book.h"
#include "sim/index_judge.h"
#include "sim/log_book.h"
#include "sim/memory_judge.h"
#include "sim/order_judge.h"
#include "sim/own_book.h"
#include "sim/receipts_judge.h"
#include "sim/screen_judge.h"
#include "sim/server.h"
#include "sim/texts.h"

namespace tidemark::sim {

// Once faults have stopped: a backlog over a slow line has its time, and then time-outs of dead links and a heartbeat.
inline constexpr std::int64_t kUnsentMs = 900'000;  // until nothing is on its way out any more
inline constexpr std::int64_t kArriveMs = 180'000;  // from then on until everybody is in step
inline constexpr std::int64_t kQuietMs = 30'000;    // the last part of it, in which nobody has anything to ask

/// Throws a Violation where an invariant does not hold.
class JudgedWorld : public ServerWatch, public DeviceWatch {
 public:
  explicit JudgedWorld(RunContext& run);

  void on_published(const Outcome& outcome) override;
  void on_telling(const Outcome& outcome) override;
  void on_told() override;
  void on_heard(const WsLink& link, const Connection& connection) override { memory_.check(link, connection); }
  void on_started() override;
  void on_hook(const std::string& body) override { hooks_.take(body); }
  void on_given_up(const Event& event) override { hooks_.given_up(event); }
  void on_dying() override { look_at_log(); }
  void on_storing(SimDevice& device, const replica::StoreBatch& batch) override;
  void on_acted(SimDevice& device) override;
  void on_event(SimDevice& device, const replica::Event& event) override;
  bool on_request(SimDevice& device, const replica::Request& request) override;
  bool on_answer(SimDevice& device, replica::ServerFrame& frame) override;
  /// From here on frames come late by the will of a scenario.
  void reordered() { order_.reordered(); }
  void on_restored(SimDevice& device) override;
  void on_cloned(SimDevice&) override {}

 protected:
  /// What was seen of a device, as long as its store goes on without a step back.
  struct Seen {
    std::map<ConversationId, Seq> read;
    std::map<ConversationId, Seq> cleared;
    std::set<std::pair<ConversationId, Seq>> notified;
    Mark cursor;
    std::uint32_t epoch = 0;
    bool stepped_back = false;
  };

  SimDevice& add_device(const UserId& user, const std::string& name);
  /// The backup is made with what the judges know by then; the restore takes them back to that.
  void back_up_server();
  void restore_server();
  /// Reads all bodies that are new to the user, page by page.
  void run_bot(const UserId& user);
  void look_at_log();
  /// The device's user has asked on its present link to be logged out.
  void note_logout(const SimDevice& device);

  /// From now on nobody has anything to ask until check_quiet.
  void begin_quiet();
  void check_quiet();
  /// Once everybody has arrived: all in step, all as the logs have it, and new devices the same as old ones.
  void check_arrived();
  /// Those that are in step show what the logs hold.
  void check_devices();
  /// Lets time pass for new devices to come into step.
  virtual void await_fresh_devices();

  RunContext& run_;
  SimServer server_;
  std::vector<UserId> users_;  // who are judged
  std::list<SimDevice> devices_;
  std::set<const SimDevice*> thrown_away_;  // nobody waits for these
  enum class Deletion : std::uint8_t { begun, done };
  std::map<UserId, Deletion> deleted_;          // users who are none any more
  std::map<UserId, int> logged_out_by_others_;  // commands under way that end sessions of the user
  std::map<const SimDevice*, Seen> seen_;
  LogBook book_;
  MemoryJudge memory_{run_};
  std::optional<LogBook> backup_;
  OwnBook own_backup_;
  GoneTexts gone_{[this](std::uint64_t number) { return book_.lives(number); }};

 private:
  bool knows_of_restores(const SimDevice& device, const ConversationId& id) const;
  void forget_texts(const ConversationId& id, Seq seq);
  void check_sessions(const Outcome& outcome);
  void check_ended(const EndedSession& ended) const;
  void check_deleted() const;
  void check_notice(const Notice& notice, const std::set<UserId>& told);
  void check_stored(const SimDevice& device, const replica::StoredRow& row);
  void check_object(const SimDevice& device, Change object);
  void check_touched(const SimDevice& device, const replica::StoreBatch& batch) const;
  void count_page(const SimDevice& device, std::uint64_t request, const HistoryPage& page);
  void note_change(const SimDevice& device, const MutatedReply& reply);
  void expect_passing(const SimDevice& device, const replica::ServerFrame& frame);
  void check_passed(const SimDevice& device);
  void check_sent(const SimDevice& device, const replica::OutboxEvent& event);
  void check_fresh_devices();
  void check_device(const SimDevice& device);
  void check_bot(const UserId& user);

  std::set<std::pair<UserId, DeviceId>> live_;                         // devices with a session
  std::set<std::tuple<UserId, DeviceId, std::uint64_t>> logging_out_;  // sessions that asked for their end, ever
  OwnBook own_;                                                        // as of the last round published
  IndexJudge indexes_{book_, own_};
  OrderJudge order_{run_, book_};
  HookBook hooks_{run_, book_,
                  [this] {
                    if (server_.up()) look_at_log();
                  },
                  [this] { return server_.latest_ms(); }};
  ReceiptsJudge receipts_{run_, book_, own_};
  ScreenJudge screens_{run_};
  OwnBook own_before_;  // and of the one before it
  /// A push with entries that its device does not know.
  struct Passing {
    const SimDevice* device;
    std::uint64_t life;  // it dies with it
    Mark to;             // where it takes the cursor
    std::string over;    // the last of them
  };
  std::optional<Passing> passing_;  // under way
  std::map<const SimDevice*, int> asked_when_quiet_;
  bool quiet_ = false;
  std::map<UserId, Cursor> bot_cursors_;
  std::map<UserId, std::map<std::pair<ConversationId, Seq>, int>> bot_messages_;
};

/// What the device is told, in the trace.
void trace_answer(SimDevice& device, const replica::ServerFrame& frame);
void trace_receipts(SimDevice& device, const replica::ReceiptsEvent& told);

}  // namespace tidemark::sim
