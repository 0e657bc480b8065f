// What a client of an older version makes of entries that it does not know, or cannot read (I20): its cursors go past
// them as past any other, it does not ask in a circle, and it shows nothing else than a client of today.
#include <fmt/format.h>

#include <algorithm>

#include "sim/judged_world.h"

namespace tidemark::sim {
namespace {

/// Nothing is asked of the index that would have to be answered first.
bool takes_pushes(const SimDevice& device) {
  const replica::LinkState link = device.engine().link();
  if (link != replica::LinkState::catching_up && link != replica::LinkState::in_step) return false;
  const replica::DeviceState& state = device.store().device();
  const replica::Pass& pass = state.pass;
  if (pass.open || pass.snapshot || pass.p0 > state.cursor.mark) return false;
  const std::size_t sync = replica::Operation(replica::Sync()).index();
  return std::ranges::none_of(device.asked(), [&](const auto& asked) { return asked.second.kind == sync; });
}

}  // namespace

/// The pushes that follow where the cursor stands take it along, whatever is in them.
void JudgedWorld::expect_passing(const SimDevice& device, const replica::ServerFrame& frame) {
  passing_.reset();
  const auto* push = std::get_if<replica::Push>(&frame.answer);
  if (!device.old_version() || push == nullptr || !takes_pushes(device)) return;
  Passing passing{&device, device.life(), device.store().device().cursor.mark, {}};
  for (const PushItem& item : push->items) {
    if (item.part == ItemPart::index) break;  // whether its entry is in hand nobody knows here
    if (!item.index_to || item.index_after != passing.to) continue;
    passing.to = item.index_to;
    if (!item.entry || !device.old_version()->strange(item.conversation, item.entry->seq)) continue;
    passing.over = fmt::format("{}:{}", item.conversation.value, item.entry->seq.value);
    run_.ask(Judge::I20);
  }
  if (!passing.over.empty()) passing_ = passing;
}

void JudgedWorld::check_passed(const SimDevice& device) {
  if (!passing_ || passing_->device != &device) return;
  const Passing passing = *std::exchange(passing_, std::nullopt);
  if (device.life() == passing.life && device.store().device().cursor.mark < passing.to)
    throw Violation("I20", fmt::format("{} stops at {}, which it does not know", device.name().shown, passing.over));
}

void JudgedWorld::begin_quiet() {
  asked_when_quiet_.clear();
  quiet_ = true;
}

bool JudgedWorld::on_request(SimDevice& device, const replica::Request& request) {
  const bool always = std::holds_alternative<replica::Ack>(request.operation) ||
                      std::holds_alternative<replica::Heartbeat>(request.operation);
  if (const auto* send = std::get_if<replica::Send>(&request.operation)) {
    const auto again = [&](const auto& each) {
      return each.second.client_msg_id == send->client_msg_id && each.second.attempts > 1;
    };
    if (std::ranges::any_of(device.store().outbox(), again)) run_.hit(Counter::sent_again);
  }
  if (quiet_ && !always) ++asked_when_quiet_[&device];
  return true;
}

/// While nobody does anything there is nothing to ask about. Two processes of one device have to log in for ever.
void JudgedWorld::check_quiet() {
  quiet_ = false;
  for (const SimDevice& device : devices_) {
    if (!device.old_version() || thrown_away_.contains(&device)) continue;
    const auto same = [&](const SimDevice& other) {
      return other.user() == device.user() && other.name().device == device.name().device;
    };
    if (std::ranges::count_if(devices_, same) > 1) continue;
    run_.ask(Judge::I20);
    if (asked_when_quiet_.contains(&device))
      throw Violation("I20", fmt::format("{} asks {} times though nothing happens", device.name().shown,
                                         asked_when_quiet_.at(&device)));
  }
}

}  // namespace tidemark::sim
