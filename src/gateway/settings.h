// From the settings of the config file to the options of the parts.
#pragma once

#include "engine/delivery.h"
#include "engine/engine.h"
#include "gateway/config.h"
#include "gateway/service.h"
#include "hooks/before_send.h"
#include "hooks/event_teller.h"
#include "hooks/notify_sender.h"
#include "tidemark.pb.h"

namespace tidemark {

/// Without the address: it has to be given.
EventTellerOptions event_options(const Config& config, HookUrl url, std::string secret);
BeforeSendOptions before_send_options(const Config& config, HookUrl url, std::string secret);
NotifySenderOptions notify_options(const Config& config, HookUrl url, std::string secret);
NotifierOptions notifier_options(const Config& config);
EngineOptions engine_options(const Config& config);
DeliveryOptions delivery_options(const Config& config);
ServiceLimits service_limits(const Config& config);
Rate login_rate(const Config& config);
/// A welcome with the limits that clients are told.
pb::ServerFrame welcome_template(const Config& config);

}  // namespace tidemark
