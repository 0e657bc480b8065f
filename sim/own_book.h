// What each user has made of conversations for himself, read from the stored rows of his index: the naive truth that
// visibility, unread numbers and lists are judged by. It shares nothing with the code it judges but the decoding.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/user_object.h"
#include "store/warm.h"

namespace tidemark::sim {

struct OwnState {
  Seq cleared;
  bool removed = false;
  std::set<Seq> deleted;

  bool hides(Seq seq) const { return seq <= cleared || deleted.contains(seq); }
};

class OwnBook {
 public:
  OwnBook() = default;
  explicit OwnBook(const Snapshot& snapshot);

  const OwnState& of(const UserId& user, const ConversationId& conversation) const;
  /// Drafts, settings and blocks that are there, by name.
  const std::map<std::string, UserObject>& objects(const UserId& user) const;

 private:
  void take(const UserId& user, const UserConversation& row);

  std::map<std::pair<UserId, ConversationId>, OwnState> states_;
  std::map<UserId, std::map<std::string, UserObject>> objects_;
};

}  // namespace tidemark::sim
