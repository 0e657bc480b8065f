// Long bodies (design, section 11) travel in pushes and pages without what makes them long: type, summary or the front
// of the text, length and hash. Whoever needs all of one asks for it.
#pragma once

#include <cstddef>
#include <memory>

#include "core/types.h"

namespace tidemark {

/// The body itself when it has at most `inline_bytes`; otherwise what stands for it.
Body slim(Body body, std::size_t inline_bytes);
Entry slim(Entry entry, std::size_t inline_bytes);
std::shared_ptr<const Entry> slim(std::shared_ptr<const Entry> entry, std::size_t inline_bytes);

/// Whether `sent` is `body`, or stands for it.
bool stands_for(const Body& sent, const Body& body);

}  // namespace tidemark
