// What each user has made of conversations for himself, read from the stored rows of his index: the naive truth that
// visibility, unread numbers and lists are judged by. It shares nothing with the code it judges but the decoding.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/user_object.h"
#include "store/warm.h"

namespace tidemark::sim {

struct OwnState {
  Seq read;
  Seq cleared;
  bool removed = false;
  std::set<Seq> deleted;

  bool hides(Seq seq) const { return seq <= cleared || deleted.contains(seq); }
};

/// Reads the rows of a user when it is asked for him: most rounds and devices are about few.
class OwnBook {
 public:
  OwnBook() = default;
  explicit OwnBook(std::shared_ptr<const Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}

  const OwnState& of(const UserId& user, const ConversationId& conversation) const;
  /// Drafts, settings and blocks that are there, by name.
  const std::map<std::string, UserObject>& objects(const UserId& user) const;

 private:
  struct Page {
    std::map<ConversationId, OwnState> states;
    std::map<std::string, UserObject> objects;
  };
  void take(Page& page, const UserConversation& row) const;
  const Page& page_of(const UserId& user) const;
  Page read(const UserId& user) const;

  std::shared_ptr<const Snapshot> snapshot_;  // null: nobody has made anything of anything
  mutable std::map<UserId, Page> pages_;
};

}  // namespace tidemark::sim
