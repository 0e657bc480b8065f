// The one decision function (design, section 1.6): given what it may look at, it returns what to write, what to
// answer and whom to tell. It changes nothing itself; a refusal changes nothing at all.
#pragma once

#include "core/commands.h"
#include "core/params.h"

namespace tidemark {

/// What a decision knows of the world.
struct Context {
  std::int64_t now_ms = 0;  // the server's wall clock, read once for a round
  const CoreParams& params;
};

/// `by` is the session that asks: a command of one that has ended is refused, whatever it is.
Result<Decision> decide(View& view, const Command& command, const Context& context, const Session& by = {});

/// A login while nothing can be written, as of the view's round: the device may read and is pushed to, and keeps the
/// session generation it came with, so that its next hello is judged as this one was. Void when the view has failed.
Result<LoginReply> login_unwritten(View& view, const LoginCommand& command, const CoreParams& params);

/// The number after `head` on a line last written in `line_epoch`: each epoch in between leaves a jump of 2^32, so
/// that no two epochs ever share a number (design, section 2).
std::uint64_t next_number(std::uint64_t head, std::uint32_t line_epoch, std::uint32_t store_epoch);

/// Digest of what a sender gave: a later send under the same client_msg_id has to give the same.
Digest content_of(const SendCommand& command);

/// The keys under which a send of this id may be remembered, or the refusal of its time. The first is the one a new
/// record is kept under.
Result<std::vector<DedupKey>> dedup_keys(const UserId& sender, const ConversationId& conversation,
                                         const std::string& client_msg_id, std::int64_t client_time, bool admin,
                                         const Context& context);

}  // namespace tidemark
