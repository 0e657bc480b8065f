// An event as the application is told of it. What was said is read here and now, in its present state: what was taken
// back since leaves no more (design, section 1.5).
#pragma once

#include <optional>
#include <string>

#include "core/event.h"
#include "core/view.h"

namespace tidemark {

/// A HookEvent of the schema as JSON; nothing: what it tells of is true no more. Void when the view has failed.
std::optional<std::string> event_json(View& view, const WaitingEvent& waiting, std::uint32_t attempt);

}  // namespace tidemark
