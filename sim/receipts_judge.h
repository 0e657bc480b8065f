// What devices are told of how far others have read, and of what has reached them: never more than is so, nothing of
// those who do not tell or to those who do not, never less than before, and in the end all of it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/results.h"
#include "sim/log_book.h"
#include "sim/own_book.h"
#include "sim/run_context.h"

namespace tidemark::sim {

class SimDevice;

class ReceiptsJudge {
 public:
  ReceiptsJudge(RunContext& run, const LogBook& book, const OwnBook& own) : run_(run), book_(book), own_(own) {}

  /// The indexes are as after another round.
  void published(const std::vector<UserId>& users);
  /// A device has stored that the log goes up to here.
  void learned(const UserId& user, const ConversationId& conversation, Seq head);
  /// A device has stored this cursor: what was committed up to its round counts as delivered, though of a conversation
  /// that moved while pages were read it is told by the next one only.
  void reached(const UserId& user, const Cursor& cursor);
  void welcomed(const SimDevice& device);
  void told(const SimDevice& device, const ConversationId& conversation, const std::vector<Receipt>& receipts,
            bool off);
  /// The device is in step, and nobody has done anything for a while.
  void check_arrived(const SimDevice& device, const std::vector<UserId>& users);

 private:
  struct Sharing {
    bool on = true;
    int changes = 0;
  };
  /// Since the link stands.
  struct Link {
    std::map<UserId, Sharing> sharing;  // as it was then
    std::map<std::pair<ConversationId, UserId>, Receipt> told;
  };
  bool silent_on(const Link& link, const UserId& user) const;
  bool tells_on(const Link& link, const UserId& user) const;
  Seq covered(const UserId& user, const ConversationId& conversation) const;
  void check(const SimDevice& device, Link& link, const ConversationId& conversation, const Receipt& receipt) const;

  RunContext& run_;
  const LogBook& book_;
  const OwnBook& own_;
  std::map<UserId, Sharing> sharing_;
  std::map<std::pair<UserId, ConversationId>, Seq> heads_;  // the furthest that any device of the user knows of
  std::map<UserId, std::pair<std::uint32_t, std::uint64_t>> rounds_;  // the furthest cursor: epoch and round
  std::map<const SimDevice*, Link> links_;
};

}  // namespace tidemark::sim
