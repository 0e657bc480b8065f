#include "gateway/settings.h"

namespace tidemark {
namespace {

std::uint32_t small(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

// What the core keeps to by itself, as limits.h tells it.
constexpr CoreParams kCore{};
static_assert(kCore.known_ranges_max == Limits::known_ranges_max && kCore.jump_lines_max == Limits::jump_lines_max &&
              kCore.heads_max == Limits::heads_max && kCore.delete_ranges_max == Limits::delete_ranges_max &&
              kCore.reaction_bytes_max == Limits::reaction_bytes_max && kCore.import_max == Limits::import_max &&
              kCore.setting_name_bytes_max == Limits::setting_name_bytes_max);

CoreParams core_params(const Config& config) {
  const Limits& limits = config.limits;
  CoreParams params;
  params.dedup_accept_ms = limits.dedup_accept_ms;
  params.dedup_remember_ms = limits.dedup_remember_ms;
  params.future_ms = limits.future_ms;
  params.recall_ms = limits.recall_ms;
  params.edit_ms = limits.edit_ms;
  params.reactions_per_user_max = size(limits.reactions_per_user_max);
  params.reactions_per_message_max = size(limits.reactions_per_message_max);
  params.body_bytes_max = size(limits.body_bytes_max);
  params.body_type_bytes_max = size(limits.body_type_bytes_max);
  params.attachments_max = size(limits.attachments_max);
  params.mentions_max = size(limits.mentions_max);
  params.read_on_send = config.read_on_send;
  params.users_registered = config.users == UsersPolicy::registered;
  params.high_priority = config.priority.high;
  params.low_priority = config.priority.low;
  params.delete_max = size(limits.delete_max);
  params.settings_max = size(limits.settings_max);
  params.setting_bytes_max = size(limits.setting_bytes_max);
  params.blocked_max = size(limits.blocked_max);
  params.tombstone_ms = limits.tombstone_ms;
  params.small_max = size(limits.small_max);
  params.large_max = size(limits.large_max);
  params.members_per_call = size(limits.members_per_call);
  params.title_bytes_max = size(limits.title_bytes_max);
  params.newcomers_last_max = size(limits.newcomers_last_max);
  params.group_data_bytes_max = size(limits.group_data_bytes_max);
  params.page_default = small(limits.page_default);
  params.page_max = small(limits.page_max);
  params.sync_default = small(limits.sync_default);
  params.sync_max = small(limits.sync_max);
  params.recent_max = small(limits.recent_max);
  params.unread_exact_max = small(limits.unread_exact_max);
  params.hole_above = small(limits.hole_above);
  params.sync_bytes_default = size(limits.sync_bytes_default);
  params.sync_bytes_max = size(limits.sync_bytes_max);
  params.preview_bytes = size(limits.preview_bytes);
  params.inline_bytes = size(limits.inline_bytes);
  params.devices.kind = config.devices.policy;
  params.devices.max = size(config.devices.max);
  params.devices.when_full = config.devices.when_full;
  params.mutations_kept = size(limits.mutations_kept);
  return params;
}

std::optional<OutboxOptions> outbox_options(const HooksConfig& hooks) {
  if (hooks.url.empty() && hooks.notify_url.empty()) return std::nullopt;
  return OutboxOptions{.choice = {.messages = hooks.messages,
                                  .changes = hooks.changes,
                                  .groups = hooks.groups,
                                  .devices = hooks.devices,
                                  .attachments = hooks.attachments},
                       .events = !hooks.url.empty(),
                       .notifications = !hooks.notify_url.empty(),
                       .waiting_max = size(hooks.waiting_max),
                       .dead_max = size(hooks.dead_max)};
}

}  // namespace

EventTellerOptions event_options(const Config& config, HookUrl url, std::string secret) {
  const HooksConfig& hooks = config.hooks;
  EventTellerOptions options;
  options.url = std::move(url);
  options.secret = std::move(secret);
  options.timeout_ms = hooks.timeout_ms;
  options.parallel = size(hooks.parallel);
  options.queue.tries = small(hooks.tries);
  options.queue.retry_ms = hooks.retry_ms;
  options.queue.retry_max_ms = hooks.retry_max_ms;
  return options;
}

BeforeSendOptions before_send_options(const Config& config, HookUrl url, std::string secret) {
  BeforeSendOptions options;
  options.url = std::move(url);
  options.secret = std::move(secret);
  options.timeout_ms = config.hooks.before_send_timeout_ms;
  options.parallel = size(config.hooks.before_send_parallel);
  return options;
}

NotifySenderOptions notify_options(const Config& config, HookUrl url, std::string secret) {
  NotifySenderOptions options;
  options.url = std::move(url);
  options.secret = std::move(secret);
  options.timeout_ms = config.hooks.timeout_ms;
  options.parallel = size(config.hooks.parallel);
  options.content.text = config.hooks.notify_text;
  return options;
}

NotifierOptions notifier_options(const Config& config) {
  NotifierOptions options;
  options.after_ms = config.hooks.notify_after_ms;
  options.retry_ms = config.hooks.retry_ms;
  options.retry_max_ms = config.hooks.retry_max_ms;
  return options;
}

EngineOptions engine_options(const Config& config) {
  EngineOptions options;
  options.page_cache_bytes = static_cast<std::size_t>(config.store.page_cache_bytes);
  options.params = core_params(config);
  options.outbox = outbox_options(config.hooks);
  options.round_commands_max = size(config.store.round_commands_max);
  options.queue_max = size(config.limits.commit_queue_max);
  options.queue_bytes_max = size(config.limits.commit_queue_bytes_max);
  return options;
}

DeliveryOptions delivery_options(const Config& config) {
  DeliveryOptions options;
  options.push_entries = size(config.limits.push_entries);
  options.push_bytes = size(config.limits.push_bytes);
  options.inline_bytes = size(config.limits.inline_bytes);
  options.again_ms = config.limits.push_again_ms;
  options.again_max = static_cast<int>(config.limits.push_again_times);
  return options;
}

ServiceLimits service_limits(const Config& config) {
  const Limits& limits = config.limits;
  return {.messages = {limits.messages_per_second, kSecondMs, limits.messages_burst},
          .requests = {limits.requests_per_second, kSecondMs, limits.requests_burst},
          .ephemerals = {limits.ephemerals_per_second, kSecondMs, limits.ephemerals_burst},
          .users_max = size(limits.rate_users_max),
          .watched_max = size(limits.presence_watched_max),
          .presence_every_ms = limits.presence_every_ms,
          .shows_online = config.presence.online,
          .shows_last_seen = config.presence.last_seen};
}

Rate login_rate(const Config& config) {
  return {config.limits.logins_per_minute, kMinuteMs, config.limits.logins_burst};
}

pb::ServerFrame welcome_template(const Config& config) {
  const Limits& limits = config.limits;
  pb::ServerFrame frame;
  pb::WireLimits& made = *frame.mutable_welcome()->mutable_limits();
  made.set_frame_bytes(small(limits.frame_bytes_max));
  made.set_body_bytes(small(limits.body_bytes_max));
  made.set_page_max(small(limits.page_max));
  made.set_sync_page_max(small(limits.sync_max));
  made.set_heartbeat_ms(small(limits.heartbeat_ms));
  made.set_ack_entries(small(limits.ack_entries));
  made.set_ack_ms(small(limits.ack_ms));
  made.set_gap_wait_ms(small(limits.gap_wait_ms));
  made.set_unanswered_max(small(limits.unanswered_max));
  return frame;
}

}  // namespace tidemark
