// A client of an older version than its server: some entries are of a kind that it has never heard of, others have
// something in them that it cannot read. They are the same ones on whatever path they come, as bytes on the wire.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/types.h"
#include "sim/counters.h"
#include "wire/dialect.h"

namespace tidemark::sim {

class OldVersion {
 public:
  using Entries = std::set<std::pair<ConversationId, Seq>>;

  /// `salt` says which entries are strange to it. What its user has written himself never is.
  OldVersion(UserId user, std::uint64_t salt) : user_(std::move(user)), salt_(salt) {}

  /// The server's message as such a client gets it.
  std::string met(Dialect dialect, std::string_view message, Counters& counters);
  /// All that it could not make sense of.
  const Entries& strange() const { return strange_; }
  bool strange(const ConversationId& conversation, Seq seq) const { return strange_.contains({conversation, seq}); }

 private:
  void look_into(Dialect dialect, google::protobuf::Message& message, Counters& counters);
  void look_at(Dialect dialect, pb::Message& entry, Counters& counters);

  UserId user_;
  std::uint64_t salt_;
  Entries strange_;
  std::uint64_t met_ = 0;  // of them, how often
};

}  // namespace tidemark::sim
