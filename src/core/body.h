// Bodies: what may be one, what tells two apart, and what is left when one is taken back.
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "core/params.h"
#include "core/types.h"

namespace tidemark {

/// What counts against body_bytes_max: the UTF-8 bytes of all its parts; the type counts when it is not "text".
std::size_t body_size(const Body& body);

/// A body as it may be sent, or the refusal that names its part.
Result<void> check_body(const Body& body, const CoreParams& params);

Digest digest_of_body(const Body& body);

/// When its files expire: each time once.
std::vector<std::int64_t> expiries_in(const Body& body);
/// Whether one of its files expires at this time.
bool has_expiry(const Body& body, std::int64_t at);

/// A dead message is a marker with sender and time: everything that it said is erased.
void erase_content(Entry& message);

}  // namespace tidemark
