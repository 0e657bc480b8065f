#include "apps/bench/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tidemark::bench {
namespace {

constexpr std::int64_t kDrainNs = 30 * kSecond;

}  // namespace

Load::Load(World& world, LoadPlan plan) : world_(world), plan_(std::move(plan)), maker_(plan_.text_bytes) {}

void Load::take_answers(Link& link) {
  link.on_answer = [this](const pb::ServerFrame& frame) { answered(frame); };
}

void Load::take_screen(Link& link, unsigned screen) {
  link.on_item = [this, screen](const pb::PushItem& item) { shown_on(item.entry(), screen); };
  link.on_pulled = [this, screen](const v1::Change& change) {
    for (const v1::Message& message : change.messages()) shown_on(message, screen);
  };
}

Result<Phase> Load::closed(Progress& progress) {
  begin_phase();
  sends_go_on_ = true;
  for (int i = 0; i < plan_.in_flight; ++i)
    for (std::size_t route = 0; route < plan_.routes.size(); ++route) send(route, now_ns());
  while (now_ns() < phase_.to_ns) {
    TM_TRY(world_.loop().turn(phase_.to_ns - now_ns()));
    progress.at((now_ns() - phase_.from_ns) / kSecond);
  }
  sends_go_on_ = false;
  TM_TRY(drain());
  return std::exchange(phase_, {});
}

Result<Phase> Load::open(double rate, Progress& progress, const std::function<Result<void>()>& meanwhile) {
  begin_phase();
  const std::int64_t begin = phase_.from_ns - kWarmUpNs;
  const auto total = static_cast<std::int64_t>(rate * as_seconds(phase_.to_ns - begin));
  const auto intended = [&](std::int64_t i) {
    return begin + static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / rate);
  };
  for (std::int64_t i = 0; i < total;) {
    for (const std::int64_t now = now_ns(); i < total && intended(i) <= now; ++i)
      send(static_cast<std::size_t>(i) % plan_.routes.size(), intended(i));
    if (meanwhile) TM_TRY(meanwhile());
    TM_TRY(world_.loop().turn(intended(i) - now_ns()));
    progress.at((now_ns() - phase_.from_ns) / kSecond);
  }
  TM_TRY(drain());
  return std::exchange(phase_, {});
}

void Load::begin_phase() {
  phase_ = {};
  phase_.from_ns = now_ns() + kWarmUpNs;
  phase_.to_ns = phase_.from_ns + plan_.seconds * kSecond;
}

void Load::send(std::size_t route, std::int64_t begin_ns) {
  const auto index = static_cast<std::uint32_t>(flights_.size());
  flights_.push_back({begin_ns, 0, static_cast<std::uint32_t>(route), plan_.screens});
  ++under_way_;
  const Route& way = plan_.routes[route];
  maker_.fill(frame_, index + 1, way.to, index);
  if (!way.conversation.empty()) frame_.mutable_send()->set_conversation_id(way.conversation);
  way.sender->send(frame_);
}

void Load::answered(const pb::ServerFrame& frame) {
  if (frame.has_error()) return world_.loop().stop_with(refusal_of(frame));
  if (!frame.has_sent() || frame.id() == 0 || frame.id() > flights_.size()) return;
  Flight& flight = flights_[frame.id() - 1];
  if (std::exchange(flight.acknowledged, true)) return;
  const std::int64_t now = now_ns();
  if (measured(flight)) phase_.to_ack.add(now - flight.begin_ns);
  if (flight.missing == 0) note_done(flight, now);
}

Load::Flight* Load::flight_of(const v1::Message& message) {
  const auto index = index_of(message.body().text());
  return index && *index < flights_.size() ? &flights_[*index] : nullptr;
}

void Load::shown_on(const v1::Message& message, unsigned screen) {
  Flight* flight = flight_of(message);
  if (flight == nullptr || (flight->seen >> screen & 1) != 0) return;
  flight->seen |= std::uint64_t{1} << screen;
  note_shown(*flight);
}

void Load::shown(const v1::Message& message) {
  if (Flight* flight = flight_of(message); flight != nullptr) note_shown(*flight);
}

void Load::note_shown(Flight& flight) {
  const std::int64_t now = now_ns();
  if (now >= phase_.from_ns && now < phase_.to_ns) ++phase_.deliveries;
  if (flight.missing == 0 || --flight.missing > 0) return;
  if (measured(flight)) phase_.to_screen.add(now - flight.begin_ns);
  if (flight.acknowledged) note_done(flight, now);
}

bool Load::measured(const Flight& flight) const {
  return flight.begin_ns >= phase_.from_ns && flight.begin_ns < phase_.to_ns;
}

void Load::note_done(const Flight& flight, std::int64_t now) {
  --under_way_;
  if (now >= phase_.from_ns && now < phase_.to_ns) ++phase_.completed;
  if (sends_go_on_) send(flight.route, now);
}

Result<void> Load::drain() {
  return world_.loop().run_until([this] { return under_way_ == 0; }, kDrainNs,
                                 "a message was not acknowledged, or not shown where it should be");
}

void report_cpu(const std::string& phase, const CpuShares& cpu, double messages, Report& report) {
  report.figure(phase + "_client_cpu", fmt::format("{} loop: client's thread", phase), cpu.client * 100, "% busy");
  report.figure(phase + "_client_us", fmt::format("{} loop: client's processor time per message", phase),
                cpu.client_s / messages * 1e6, "us");
  if (cpu.server_s > 0)
    report.figure(phase + "_server_us", fmt::format("{} loop: server's processor time per message", phase),
                  cpu.server_s / messages * 1e6, "us");
  std::string threads;
  for (std::size_t i = 0; i < std::min<std::size_t>(cpu.threads.size(), 6); ++i)
    threads += fmt::format("{}{} {:.0f} %", i == 0 ? "; " : ", ", cpu.threads[i].first, cpu.threads[i].second * 100);
  report.remark(fmt::format("processors, {}: client {:.0f} %, server {:.0f} %, others {:.0f} %, idle {:.0f} %{}", phase,
                            cpu.client * 100, cpu.server * 100, cpu.others * 100, cpu.idle * 100, threads));
  if (cpu.client > kClientLimit)
    report.remark(
        fmt::format("THE CLIENT WAS THE LIMIT in the {} loop: its thread was busy {:.0f} % of the time, so the "
                    "server can do more than this says.",
                    phase, cpu.client * 100));
}

}  // namespace tidemark::bench
