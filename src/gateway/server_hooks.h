// The hooks of a server (docs/hooks.md): what tells, asks and notifies the application, as far as it is configured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/links.h"
#include "gateway/notify_desk.h"
#include "hooks/before_send.h"
#include "hooks/event_teller.h"
#include "hooks/notify_sender.h"

namespace tidemark {

class ServerHooks {
 public:
  /// All must outlive it.
  struct World {
    const Config& config;
    const std::string& secret;
    Engine& engine;
    Service& service;
    Links& links;
    const Clock& clock;
    Random& random;
    std::function<void(Task)> on_network;
  };
  /// Null when no hook is configured. Errors name the setting at fault.
  static Result<std::unique_ptr<ServerHooks>> open(World world);

  void start();
  /// Before the engine stops.
  void stop();

  // The lane's thread.
  void wake();
  /// What these take back leaves no more. Before anybody is told of it.
  void take_back(const std::vector<Notice>& notices);

  // The network thread.
  void published(const std::vector<Notice>& notices);
  void tick();
  void write_metrics(std::string& out) const;

 private:
  explicit ServerHooks(World world) : world_(std::move(world)) {}
  Result<void> open_all();
  Result<HookUrl> url_of(const std::string& text, std::string_view setting);
  const TlsContext* tls_for(const HookUrl& url) const { return url.tls ? tls_.get() : nullptr; }
  void open_notifications(const HookUrl& url);

  const World world_;
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<EventTeller> teller_;
  std::unique_ptr<BeforeSendAsker> asker_;
  std::unique_ptr<NotifySender> notifier_;
  std::unique_ptr<NotifyDesk> desk_;
};

}  // namespace tidemark
