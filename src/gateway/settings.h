// From the settings of the config file to the options of the parts.
#pragma once

#include "engine/delivery.h"
#include "engine/engine.h"
#include "gateway/config.h"
#include "gateway/service.h"
#include "tidemark.pb.h"

namespace tidemark {

EngineOptions engine_options(const Config& config);
DeliveryOptions delivery_options(const Config& config);
ServiceLimits service_limits(const Config& config);
Rate login_rate(const Config& config);
/// A welcome with the limits that clients are told.
pb::ServerFrame welcome_template(const Config& config);

}  // namespace tidemark
