// Who is to be notified when: users whom no push has reached in time (design, section 4, "Acks"). What they are told is
// read when it leaves (notification.h); here are only their turns. A machine without I/O, clock or dice. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "core/types.h"

namespace tidemark {

struct NotifierOptions {
  std::int64_t after_ms = 10'000;   // what a device has not acknowledged for so long
  std::int64_t offline_ms = 1'000;  // without a device: what comes so soon is told together
  std::int64_t low_ms = 5'000;      // the same of low priority; of high it is told at once
  std::uint32_t tries = 8;
  std::int64_t retry_ms = 1'000;
  std::int64_t retry_max_ms = 60'000;
  std::size_t users_max = 1'000'000;  // whose turn is to come; beyond it messages notify nobody, and are counted
};

class Notifier {
 public:
  explicit Notifier(NotifierOptions options) : options_(options) {}

  /// A message moved the user's index to `mark`; `online`: a device of his is there to acknowledge it.
  void message(const UserId& user, Mark mark, bool online, std::int64_t now_ms, Priority priority = Priority::normal);
  /// Something that he may have been told of has changed: what is no longer true is taken away.
  void changed(const UserId& user, std::int64_t now_ms);

  struct Turn {
    UserId user;
    Mark acknowledged;  // by a device that is there
    Mark up_to;         // of the messages that have waited long enough; 0: only what is no longer true is taken away
    std::uint32_t number = 1;
  };
  /// Whose turn it is. `acknowledged` says what the user's live devices have; who has it all needs no telling.
  std::vector<Turn> due(std::int64_t now_ms, const std::function<Mark(const UserId&)>& acknowledged);
  /// A turn was taken: he was told, or there was nothing to tell.
  void done(const Turn& turn);
  /// It failed; false: it is given up until something new comes.
  bool failed(const Turn& turn, std::int64_t now_ms, std::uint64_t dice);

  std::size_t users() const { return users_.size(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct User {
    Mark oldest;  // the message that waits longest
    Mark newest;
    std::int64_t message_ms = 0;  // when the oldest is due; 0: none waits
    std::int64_t newest_ms = 0;
    std::int64_t changed_ms = 0;  // when it is due to look what is no longer true; 0: not
    bool in_turn = false;
    std::uint32_t tries = 0;

    bool idle() const { return message_ms == 0 && changed_ms == 0 && !in_turn; }
  };
  /// Whether a message has waited long enough and has not arrived by itself.
  static bool message_due(User& user, Mark acknowledged, std::int64_t now_ms);
  User* user_of(const UserId& user);
  std::int64_t wait_ms(bool online, Priority priority) const;

  const NotifierOptions options_;
  std::unordered_map<UserId, User> users_;
  std::uint64_t dropped_ = 0;
};

}  // namespace tidemark
