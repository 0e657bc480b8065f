// How messages were reacted to, told again from the log alone.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/params.h"
#include "sim/log_book.h"

namespace tidemark::sim {

/// By message and by name: who reacts so. Of living messages.
using Reacted = std::map<Seq, std::map<std::string, std::set<UserId>>>;

Reacted reactions_in(const LogBook::Log& log);

/// Throws a Violation of I8 when the row does not show what `reacted` says; as `user` sees it, or, for none, as it is
/// stored.
void check_reactions(const std::string& named, const Entry& row, const Reacted& reacted, const UserId& user);

/// The rows of a log, as it is stored; and that no user reacts in more ways than are allowed.
void check_reactions(const ConversationId& id, const LogBook::Log& log, const CoreParams& params);

}  // namespace tidemark::sim
