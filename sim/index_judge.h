// Whether what stands beside the logs says what the logs say (I13): the index of every user, the touches, who left,
// what conversations are, the memory of sends. None of it ever names what no log holds; and since all of it is written
// in one commit with the log, every moment that a crash can leave has all of it. Reads the stored rows themselves.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/commands.h"
#include "sim/log_book.h"
#include "sim/own_book.h"
#include "store/row_codec.h"

namespace tidemark::sim {

class IndexJudge {
 public:
  IndexJudge(const LogBook& book, const OwnBook& own) : book_(book), own_(own) {}

  /// All that a snapshot holds. REQUIRES: both books have read it.
  void read(const Snapshot& snapshot);
  /// What a round tells of one conversation. REQUIRES: the log book has read the conversation on.
  void read_on(const Snapshot& snapshot, const Notice& notice);
  /// What is wrong with an object that somebody was told of, or holds; "" when nothing is.
  std::string leads(const UserId& user, const Change& object) const;
  /// Where the user's index stood when it was last looked at.
  Mark mark(const UserId& user) const;

 private:
  using Rows = std::map<ConversationId, UserConversation>;
  using Order = std::map<Mark, ConversationId>;
  /// One user's part of the tables.
  struct Index {
    UserRecord record;
    Rows stored;  // in table objects
    Order by_head;
    Order by_state;
    std::map<std::string, Mark> objects;  // that are no conversations
    std::map<std::string, Mark> objects_by_mark;
    Rows rows = {};  // as they are now
    void take(char kind, std::string_view rest, std::string_view value);
  };
  std::map<UserId, Index> indexes_in(const Snapshot& snapshot) const;
  void check_stored(const UserId& user, const Index& index) const;
  void check_places(const UserId& user, const Index& index) const;
  void check_row(const UserId& user, const UserConversation& row) const;
  void check_named(const UserId& user, const UserConversation& row) const;
  void check_touches(const Snapshot& snapshot) const;
  void check_conversations(const Snapshot& snapshot) const;
  void check_conversation(Conversation conversation, const std::vector<Member>& rows) const;
  void check_memory_of_sends(const Snapshot& snapshot) const;
  std::set<UserId> concerned(const ConversationId& id) const;

  const LogBook& book_;
  const OwnBook& own_;
  std::map<UserId, UserHead> heads_;
};

}  // namespace tidemark::sim
