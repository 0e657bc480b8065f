// A load of sends over given routes. First a closed loop, which finds the maximum: each route keeps its messages in
// flight and sends the next one when one is acknowledged and shown wherever it has to be. Then an open loop: messages
// leave at their intended instants whatever is still under way, and are timed from those instants, so that a stall
// counts for every message that it delayed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/bench/clock.h"
#include "apps/bench/cpu_watch.h"
#include "apps/bench/histogram.h"
#include "apps/bench/messages.h"
#include "apps/bench/progress.h"
#include "apps/bench/report.h"
#include "apps/bench/world.h"
#include "tidemark.pb.h"

namespace tidemark::bench {

/// Where messages go: to a user, or into a conversation.
struct Route {
  Link* sender = nullptr;
  std::string to = {};
  std::string conversation = {};
};

struct LoadPlan {
  std::vector<Route> routes;
  int in_flight = 16;  // of each route
  int screens = 1;     // on which a message has to be shown; those that show it are told apart by `screen`
  int seconds = 10;    // of a phase, without the warm-up
  int text_bytes = 100;
};

/// What one phase found.
struct Phase {
  std::int64_t from_ns = 0;  // what began or ended before is warm-up
  std::int64_t to_ns = 0;
  std::uint64_t completed = 0;   // acknowledged and shown everywhere
  std::uint64_t deliveries = 0;  // shown, each screen counted
  Histogram to_ack;
  Histogram to_screen;  // the last of them
};

class Load {
 public:
  Load(World& world, LoadPlan plan);

  /// What the sender's link is answered belongs to this load from now on.
  void take_answers(Link& link);
  /// What comes on this link is shown on a screen of that number, 0 to 63: a message that comes again counts once.
  void take_screen(Link& link, unsigned screen);
  /// One more screen shows this message, and not for the second time.
  void shown(const v1::Message& message);

  Result<Phase> closed(Progress& progress);
  /// `rate` messages a second, over the routes in turn. `meanwhile` is called at each turn of the loop.
  Result<Phase> open(double rate, Progress& progress, const std::function<Result<void>()>& meanwhile = {});
  /// Messages sent so far.
  std::size_t sent() const { return flights_.size(); }

 private:
  struct Flight {
    std::int64_t begin_ns = 0;  // closed loop: when it was sent; open loop: when it should have been
    std::uint64_t seen = 0;     // a bit for each screen
    std::uint32_t route = 0;
    int missing = 0;  // screens
    bool acknowledged = false;
  };

  void begin_phase();
  void send(std::size_t route, std::int64_t begin_ns);
  void answered(const pb::ServerFrame& frame);
  void shown_on(const v1::Message& message, unsigned screen);
  void note_shown(Flight& flight);
  void note_done(const Flight& flight, std::int64_t now);
  Flight* flight_of(const v1::Message& message);
  bool measured(const Flight& flight) const;
  Result<void> drain();

  World& world_;
  const LoadPlan plan_;
  MessageMaker maker_;
  pb::ClientFrame frame_;
  std::vector<Flight> flights_;
  std::size_t under_way_ = 0;
  bool sends_go_on_ = false;
  Phase phase_;
};

/// The processor time that `messages` took in a phase, and who used the processors meanwhile.
void report_cpu(const std::string& phase, const CpuShares& cpu, double messages, Report& report);

}  // namespace tidemark::bench
