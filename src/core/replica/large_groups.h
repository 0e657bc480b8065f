// How a device is kept in step with its large groups (design, section 3): a digest of where it stands in them, carried
// in hello and heartbeat; when it differs, a vector of their heads; and which of them are on the screen.
#pragma once

#include <map>
#include <set>

#include "core/replica/conversations.h"

namespace tidemark::replica {

class LargeGroups {
 public:
  LargeGroups(Workspace& workspace, Conversations& conversations) : ws_(workspace), conversations_(conversations) {}

  /// As core/large_group.h defines it, over what is held.
  std::uint64_t digest() const;

  void on_welcome(const Welcome& welcome);
  void on_link_down();
  void on_heartbeat(const HeartbeatAnswer& answer);
  void on_notice(const HeadNotice& notice);
  void on_heads(const Pending& asked, const HeadsPage& page);
  void on_refused(const Pending& asked, const Error& error);
  void work();
  std::optional<std::int64_t> next_work_ms() const;
  /// Nothing is being asked or waits to be.
  bool settled() const { return !comparing_ && !asking_ && wanted_.empty() && conversations_.guessed().empty(); }

 private:
  /// By number of the group.
  std::map<std::uint64_t, KnownHead> vector() const;
  void compare();
  void ask_single();
  void end_guesses(const std::vector<Change>& told);
  void tell_focus();

  Workspace& ws_;
  Conversations& conversations_;
  bool comparing_ = false;                         // all heads are to be compared, or are being
  ConversationId compared_to_;                     // the parts of the vector up to here are done
  bool asking_ = false;                            // a question is in flight
  std::map<ConversationId, std::int64_t> wanted_;  // single ones, and not before this
  std::set<ConversationId> guesses_;               // that the question in flight is about
  std::set<ConversationId> focused_;               // as the server knows it
  Retry retry_;
};

}  // namespace tidemark::replica
