// What is told in passing: who is online, who types. Nothing of it is stored; on a new link it is asked for anew.
#pragma once

#include "core/replica/workspace.h"

namespace tidemark::replica {

class PassingThings {
 public:
  explicit PassingThings(Workspace& workspace) : ws_(workspace) {}

  /// In place of those watched before. LIMIT_REACHED for more than a server takes.
  Result<void> watch(std::vector<UserId> users);
  /// MALFORMED, TOO_LARGE, OUT_OF_RANGE; RETRY_LATER without a link: it would be too late when there is one.
  Result<void> say(Passing passing);
  void set_foreground(bool on);
  bool background() const { return background_; }

  void on_link_down();
  void on_welcome() { asked_ = users_.empty(); }
  void on_states(PresenceStates& states);
  void on_watch_refused(const Error& error);
  void work();
  std::optional<std::int64_t> next_work_ms() const;

 private:
  Workspace& ws_;
  std::vector<UserId> users_;
  bool asked_ = true;
  Retry retry_;
  bool background_ = false;
};

}  // namespace tidemark::replica
