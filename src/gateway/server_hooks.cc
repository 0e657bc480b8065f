#include "gateway/server_hooks.h"

#include "gateway/metrics.h"
#include "gateway/settings.h"

namespace tidemark {

Result<std::unique_ptr<ServerHooks>> ServerHooks::open(World world) {
  const HooksConfig& hooks = world.config.hooks;
  if (hooks.url.empty() && hooks.before_send_url.empty() && hooks.notify_url.empty()) return nullptr;
  std::unique_ptr<ServerHooks> made(new ServerHooks(std::move(world)));
  TM_TRY(made->open_all());
  return made;
}

Result<HookUrl> ServerHooks::url_of(const std::string& text, std::string_view setting) {
  TM_ASSIGN(HookUrl url, parse_hook_url(text, setting));
  if (url.tls && !tls_) {
    TM_ASSIGN(tls_, TlsContext::client({.ca_file = world_.config.hooks.ca}));
  }
  return url;
}

Result<void> ServerHooks::open_all() {
  const Config& config = world_.config;
  const HooksConfig& hooks = config.hooks;
  if (!hooks.url.empty()) {
    TM_ASSIGN(const HookUrl url, url_of(hooks.url, "hooks.url"));
    teller_ = std::make_unique<EventTeller>(world_.engine, world_.clock, world_.random,
                                            event_options(config, url, world_.secret), tls_for(url));
  }
  if (!hooks.before_send_url.empty()) {
    TM_ASSIGN(const HookUrl url, url_of(hooks.before_send_url, "hooks.before_send_url"));
    asker_ =
        std::make_unique<BeforeSendAsker>(world_.clock, before_send_options(config, url, world_.secret), tls_for(url));
    world_.service.ask_before_send(*asker_, hooks.when_down);
  }
  if (!hooks.notify_url.empty()) {
    TM_ASSIGN(const HookUrl url, url_of(hooks.notify_url, "hooks.notify_url"));
    open_notifications(url);
  }
  return {};
}

void ServerHooks::open_notifications(const HookUrl& url) {
  NotifySender::Host host;
  host.answered = [this](const Notifier::Turn& turn, bool told) {
    world_.on_network([this, turn, told] { desk_->answered(turn, told); });
  };
  host.missed = [this](std::vector<NotifySender::Missed> missed) {
    world_.on_network([this, missed = std::move(missed)] { desk_->missed(missed); });
  };
  host.outdated = [this](std::vector<UserId> users) {
    world_.on_network([this, users = std::move(users)] { desk_->outdated(users); });
  };
  notifier_ = std::make_unique<NotifySender>(
      world_.engine, world_.clock, notify_options(world_.config, url, world_.secret), tls_for(url), std::move(host));
  desk_ = std::make_unique<NotifyDesk>(world_.links, world_.random, notifier_options(world_.config),
                                       [this](Notifier::Turn turn) { notifier_->send(std::move(turn)); });
}

void ServerHooks::start() {
  if (teller_) teller_->start();
  if (asker_) asker_->start();
  if (notifier_) notifier_->start();
}

void ServerHooks::stop() {
  if (asker_) asker_->stop();
  if (notifier_) notifier_->stop();
  if (teller_) teller_->stop();
}

void ServerHooks::wake() {
  if (teller_) teller_->wake();
}

void ServerHooks::take_back(const std::vector<Notice>& notices) {
  for (const Notice& notice : notices) {
    if (!notice.dead) continue;
    if (teller_) teller_->taken_back(notice.conversation);
    if (notifier_) notifier_->taken_back(notice.conversation);
  }
}

void ServerHooks::published(const std::vector<Notice>& notices) {
  if (!desk_) return;
  desk_->published(notices);
  for (const Notice& notice : notices)
    if (notice.large && notice.entry && notice.entry->kind == EntryKind::config && notice.entry->config->dissolved)
      notifier_->dissolved(notice.conversation);
}

void ServerHooks::tick() {
  if (desk_) desk_->tick();
}

void ServerHooks::write_metrics(std::string& out) const {
  const auto write = [&out](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    write_metric(out, name, type, help, static_cast<double>(value));
  };
  if (teller_) {
    const Outbox::Status outbox = world_.engine.outbox();
    const EventTeller::Status events = teller_->status();
    write("tidemark_hook_events_waiting", "gauge", "Events that the application is yet to be told of.", outbox.waiting);
    write("tidemark_hook_events_dead", "gauge", "Events that were given up and are kept.", outbox.dead);
    write("tidemark_hook_events_lost_total", "counter", "Events that were not kept because too many waited.",
          outbox.lost);
    write("tidemark_hook_events_told_total", "counter", "Events that the application has taken.", events.told);
    write("tidemark_hook_failures_total", "counter", "Tries that failed.", events.failed);
    write("tidemark_hook_events_given_up_total", "counter", "Events given up after too many tries.", events.dead);
    write("tidemark_hook_reachable", "gauge", "0 while nobody takes connections at the hook's address.",
          events.reachable ? 1 : 0);
  }
  if (asker_) {
    const BeforeSendAsker::Status asked = asker_->status();
    write("tidemark_before_send_asked_total", "counter", "Messages that the application was asked about.", asked.asked);
    write("tidemark_before_send_refused_total", "counter", "Messages that it has refused.", asked.refused);
    write("tidemark_before_send_amended_total", "counter", "Messages that it has amended.", asked.amended);
    write("tidemark_before_send_silent_total", "counter", "Messages about which it did not answer.", asked.silent);
    write("tidemark_before_send_down", "gauge", "1 while it does not answer and is mostly not asked.",
          asked.down ? 1 : 0);
  }
  if (notifier_) {
    const NotifySender::Status told = notifier_->status();
    write("tidemark_notifications_waiting", "gauge", "Users whose turn to be notified may come.", desk_->waiting());
    write("tidemark_notifications_told_total", "counter", "Notifications that the application has taken.", told.told);
    write("tidemark_notification_failures_total", "counter", "Tries that failed.", told.failed);
    write("tidemark_notifications_given_up_total", "counter", "Notifications given up after too many tries.",
          desk_->given_up());
    write("tidemark_notifications_dropped_total", "counter", "Users not noted because too many waited.",
          desk_->dropped());
  }
}

}  // namespace tidemark
