// Whether whoever wrote into a group was allowed to, told from its log alone and without the product's table.
#pragma once

#include "sim/log_book.h"

namespace tidemark::sim {

/// Throws a Violation (I10) for the first entry that its writer had no right to, and for a group that is without an
/// owner, or has two, at the end of a commit.
void check_rights(const ConversationId& id, const LogBook::Log& log);

}  // namespace tidemark::sim
