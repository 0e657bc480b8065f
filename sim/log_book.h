// What the logs hold, read from the stored rows themselves and kept beside them: the naive truth that everything else
// is judged by. It shares nothing with the code it judges but the decoding of a row.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/types.h"
#include "sim/judges.h"
#include "store/warm.h"

namespace tidemark::sim {

/// What a user may see of a log, by its member entries alone.
struct Sight {
  struct Span {
    Seq join;
    Seq from;   // the first visible
    Seq leave;  // 0: still in
  };
  std::vector<Span> spans;

  bool member() const { return !spans.empty() && !spans.back().leave; }
  bool sees(Seq seq) const;
  /// He was in when it was appended, or it is his own leave.
  bool in_period(Seq seq) const;
};

class LogBook {
 public:
  using Log = std::map<Seq, Entry>;

  /// Reads all logs anew and compares with what was known: numbers are given once (I2), no lower one appears later
  /// (I3), an id names one message (I4).
  void read(const Snapshot& snapshot);
  /// Only what one log has got since.
  void read_on(const Snapshot& snapshot, const ConversationId& conversation);

  /// Every state of a message that was ever seen, by its revision (0: as it was sent).
  using Texts = std::map<Seq, std::string>;
  const Texts& texts(const ConversationId& conversation, Seq seq) const;
  /// Whether a message that lives says, or said, the text of this number (sim/texts.h).
  bool lives(std::uint64_t number) const;
  void note_text(const ConversationId& conversation, Seq seq, Seq revision, const std::string& text);
  /// The last reaction to the message, or the last entry of another kind that changed it; null when none has.
  const Entry* last_change(const ConversationId& conversation, Seq target, EntryKind kind) const;
  /// Of the two the later, by which a device learns of both.
  const Entry* last_change(const ConversationId& conversation, Seq target) const;

  /// The author was told that entry `change` has given the message this text, or taken it back.
  void acknowledge_edit(const ConversationId& conversation, Seq change, Seq target, const std::string& text);
  void acknowledge_recall(const ConversationId& conversation, Seq target);

  /// Notes what somebody was told: it has to be there from now on, whatever crashes (I1).
  void acknowledge(const ConversationId& conversation, Seq seq, const std::string& sender, const std::string& text);

  /// The server was put back to when `backup` was taken: what came since is lost, and may be told of no more.
  void restore(const LogBook& backup);
  /// Whether a living message says this.
  bool says(const std::string& text) const;
  /// An entry that a restore has lost.
  const Entry* lost(const ConversationId& conversation, Seq seq) const;

  const std::map<ConversationId, Log>& logs() const { return logs_; }
  const Log& log(const ConversationId& conversation) const;
  const Entry* entry(const ConversationId& conversation, Seq seq) const;
  Sight sight(const ConversationId& conversation, const UserId& user) const;
  std::uint64_t entries() const;
  const Asked& asked() const { return asked_; }

 private:
  struct Acknowledged {
    ConversationId conversation;
    Seq seq;
    std::string sender;
    std::string text;
  };
  struct AcknowledgedChange {
    ConversationId conversation;
    Seq change;  // 0: a recall
    Seq target;
    std::string text;
  };
  /// How many entries there are.
  std::uint64_t scan(const Snapshot& snapshot, const std::string& from, const std::string& to);
  void take(const ConversationId& conversation, Entry entry);
  void take_again(const ConversationId& conversation, Entry& known, Entry entry);
  void check_acknowledged(const Acknowledged& each) const;
  void check_acknowledged(const AcknowledgedChange& each) const;

  std::map<ConversationId, Log> logs_;
  std::map<ConversationId, Log> lost_;
  std::map<std::tuple<std::string, std::string, std::string>, Seq> ids_;  // sender, conversation, client_msg_id
  std::map<std::pair<ConversationId, Seq>, Texts> texts_;
  std::map<std::uint64_t, std::set<std::pair<ConversationId, Seq>>> speakers_;  // by the number of a text
  std::map<std::pair<ConversationId, Seq>, Seq> changes_;    // of a message, the last but for reactions
  std::map<std::pair<ConversationId, Seq>, Seq> reactions_;  // to a message, the last
  std::vector<Acknowledged> acknowledged_;
  std::vector<AcknowledgedChange> acknowledged_changes_;
  Asked asked_;
};

/// The number that a key ends in.
std::uint64_t big_endian(std::string_view bytes);

/// The conversation in the key of an entry, as it is shown.
ConversationId conversation_in_key(std::string_view key);

}  // namespace tidemark::sim
