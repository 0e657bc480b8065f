// Joins what the rounds bring with who is there to be pushed to: notes whom no push reaches, and hands over their
// turns. Network thread.
#pragma once

#include <memory>

#include "gateway/links.h"
#include "hooks/notify_sender.h"

namespace tidemark {

class NotifyDesk {
 public:
  /// All must outlive this.
  NotifyDesk(Links& links, Random& random, NotifierOptions options, std::function<void(Notifier::Turn)> take_turn)
      : links_(links), random_(random), notifier_(options), take_turn_(std::move(take_turn)) {}

  void published(const std::vector<Notice>& notices);
  void missed(const std::vector<NotifySender::Missed>& users);
  void outdated(const std::vector<UserId>& users);
  void answered(const Notifier::Turn& turn, bool told);
  /// Call about once a second.
  void tick();

  std::size_t waiting() const { return notifier_.users(); }
  std::uint64_t dropped() const { return notifier_.dropped(); }
  std::uint64_t given_up() const { return given_up_; }

 private:
  Links& links_;
  Random& random_;
  Notifier notifier_;
  const std::function<void(Notifier::Turn)> take_turn_;
  std::uint64_t given_up_ = 0;
};

}  // namespace tidemark
