#include "apps/bench/filler.h"

#include <memory>
#include <unordered_map>

#include "apps/bench/clock.h"
#include "apps/bench/messages.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

/// What one link still has to send.
struct Source {
  Link* link;
  std::vector<FillJob> jobs;
  std::size_t next = 0;  // job whose turn it is
};

class Filling {
 public:
  Filling(World& world, const FillPlan& plan) : world_(world), plan_(plan), maker_(plan.text_bytes) {
    std::unordered_map<Link*, Source*> by_link;
    for (const FillJob& job : plan.jobs) {
      Source*& source = by_link[job.link];
      if (source == nullptr) source = sources_.emplace_back(std::make_unique<Source>(Source{job.link, {}, 0})).get();
      source->jobs.push_back(job);
      wanted_ += job.count;
    }
  }

  Result<void> run(Progress& progress) {
    for (const auto& source : sources_) {
      source->link->on_answer = [this, source = source.get()](const pb::ServerFrame& frame) {
        answered(*source, frame);
      };
      for (int i = 0; i < plan_.in_flight && send_next(*source); ++i) {
      }
    }
    std::int64_t seen = 0;
    std::int64_t moved_ns = now_ns();
    while (acknowledged_ < wanted_) {
      TM_TRY(world_.loop().turn(kSecond));
      progress.at(acknowledged_);
      if (acknowledged_ != seen) moved_ns = now_ns();
      seen = acknowledged_;
      if (now_ns() - moved_ns > 30 * kSecond)
        return trouble("The server has acknowledged nothing for 30 s. Look at its log (--keep leaves it).");
    }
    for (const auto& source : sources_) source->link->on_answer = nullptr;
    return {};
  }

 private:
  bool send_next(Source& source) {
    for (std::size_t tried = 0; tried < source.jobs.size(); ++tried) {
      FillJob& job = source.jobs[source.next];
      source.next = (source.next + 1) % source.jobs.size();
      if (job.count == 0) continue;
      --job.count;
      ++sent_;
      maker_.fill(frame_, sent_, job.to, static_cast<std::uint32_t>(sent_));
      source.link->send(frame_);
      return true;
    }
    return false;
  }

  void answered(Source& source, const pb::ServerFrame& frame) {
    if (frame.has_error()) return world_.loop().stop_with(refusal_of(frame));
    ++acknowledged_;
    send_next(source);
  }

  World& world_;
  const FillPlan& plan_;
  MessageMaker maker_;
  std::vector<std::unique_ptr<Source>> sources_;
  pb::ClientFrame frame_;
  std::int64_t wanted_ = 0;
  std::int64_t acknowledged_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace

Result<void> fill(World& world, const FillPlan& plan, Progress& progress) {
  return Filling(world, plan).run(progress);
}

}  // namespace tidemark::bench
