// An event as the application is told of it. What was said is read here and now, in its present state: what was taken
// back since leaves no more (design, section 1.5).
#pragma once

#include <string>

#include "core/event.h"
#include "core/view.h"

namespace tidemark {

/// A HookEvent of the schema as JSON. Void when the view has failed.
std::string event_json(View& view, const WaitingEvent& waiting, std::uint32_t attempt);

}  // namespace tidemark
