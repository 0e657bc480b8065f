#include "sim/plan.h"

namespace tidemark::sim {
namespace {

/// A fault that some seeds have, each in a strength of its own.
std::uint32_t sometimes(Dice& dice, std::uint32_t strongest) {
  return dice.chance(500) ? 0 : static_cast<std::uint32_t>(dice.skewed(1, strongest));
}

void draw_hooks(Dice& dice, Plan& plan) {
  HooksConfig& hooks = plan.config.hooks;
  if (dice.chance(400)) return;
  hooks.url = "http://application";
  hooks.messages = dice.chance(900);
  hooks.changes = dice.chance(800);
  hooks.groups = dice.chance(800);
  hooks.devices = dice.chance(500);
  if (plan.restore == 0 && dice.chance(200)) {
    // Full now and then. What is lost is counted, and no count could tell what a restore makes of that.
    hooks.waiting_max = dice.between(5, 50);
    hooks.devices = hooks.attachments = false;
  }
  plan.event_queue.window = static_cast<std::size_t>(dice.between(3, 60));
  plan.event_queue.lane_max = static_cast<std::size_t>(dice.between(1, 6));
  plan.event_queue.tries = static_cast<std::uint32_t>(dice.between(2, 12));
  plan.event_queue.retry_ms = dice.between(50, 500);
  plan.event_queue.retry_max_ms = dice.between(500, 5'000);
  plan.hook_down = sometimes(dice, 200);
  plan.hook_refused = sometimes(dice, 400);
  plan.hook_unheard = sometimes(dice, 200);
  plan.hook_twice = sometimes(dice, 200);
}

}  // namespace

Plan draw_plan(Dice& dice) {
  Plan plan;
  plan.users = static_cast<int>(dice.between(2, 4));
  plan.devices_max = static_cast<int>(dice.between(1, 3));
  plan.groups = static_cast<int>(dice.below(3));
  plan.busy_ms = dice.between(20'000, 90'000);
  plan.action_every_ms = dice.skewed(100, 1'500);
  plan.latency_max_ms = dice.skewed(0, 800);
  plan.drop = sometimes(dice, 60);
  plan.twice = sometimes(dice, 100);
  plan.reorder = dice.chance(150) ? 400 : sometimes(dice, 100);
  plan.cut = sometimes(dice, 30);
  plan.stall = sometimes(dice, 5);
  plan.half_open = sometimes(dice, 400);
  plan.reconnect_max_ms = 3'000;  // more connections in a minute than the library would make
  plan.window_bytes = dice.chance(300) ? static_cast<std::size_t>(dice.between(100, 2'000)) : 1 << 20;
  plan.round_max_ms = dice.skewed(0, 60);
  plan.crash_round = sometimes(dice, 40);
  plan.fail_round = sometimes(dice, 40);
  plan.crash = sometimes(dice, 30);
  plan.disk_full = sometimes(dice, 20);
  plan.restore = dice.chance(700) ? 0 : static_cast<std::uint32_t>(dice.skewed(1, 40));
  plan.clock_jump = sometimes(dice, 40);
  plan.device_crash = sometimes(dice, 20);
  plan.device_offline = sometimes(dice, 100);
  plan.old_backup = sometimes(dice, 300);
  plan.clone = sometimes(dice, 200);

  Limits& limits = plan.config.limits;
  limits.messages_per_second = limits.requests_per_second = limits.logins_per_minute = 0;
  limits.push_entries = dice.between(1, 10);
  limits.page_default = limits.page_max = 20;
  limits.sync_default = limits.sync_max = dice.between(5, 20);
  limits.inline_bytes = dice.chance(500) ? 4'096 : dice.between(256, 400);
  limits.hole_above = dice.between(3, 30);
  if (dice.chance(500)) limits.small_max = dice.between(2, 3);
  limits.unanswered_max = dice.between(1, 64);
  limits.sync_bytes_default = limits.sync_bytes_max = dice.between(200, 20'000);
  limits.push_bytes = dice.skewed(300, 20'000);
  limits.unanswered_bytes_max = dice.between(100, 20'000);
  limits.connections_per_user_max = dice.skewed(4, 32);
  limits.commit_queue_max = dice.skewed(3, 500);
  plan.config.store.round_commands_max = dice.between(1, 40);
  if (dice.chance(400)) {
    plan.config.devices.policy = static_cast<DevicePolicy::Kind>(dice.below(3));
    plan.config.devices.max = dice.between(1, 3);
    if (dice.chance(200)) plan.config.devices.when_full = DevicePolicy::WhenFull::refuse;
  }
  plan.state.block_rows = static_cast<std::size_t>(dice.between(1, 8));
  plan.state.users_max = static_cast<std::size_t>(dice.between(1, 8));
  plan.state.conversations_max = static_cast<std::size_t>(dice.between(1, 8));
  plan.glutton = sometimes(dice, 100);
  draw_hooks(dice, plan);
  plan.files = sometimes(dice, 300);
  plan.old_versions = dice.chance(400) ? 400 : 0;
  return plan;
}

}  // namespace tidemark::sim
