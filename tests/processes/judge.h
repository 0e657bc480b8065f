// Judges a run by what was seen of it: the logs of the devices, their stores, and the server's own store as it lay on
// the disk after each kill. Throws sim::Violation with the invariant that does not hold.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/replica/memory_store.h"
#include "processes/counters.h"
#include "processes/device_log.h"
#include "sim/arrival.h"
#include "sim/log_book.h"

namespace tidemark::testing {

/// What a device was seen to say over all its lives.
struct Witness {
  Witness(UserId whose, DeviceId name)
      : user(std::move(whose)), device(std::move(name)), shown(user.value + "/" + device.value) {}

  UserId user;
  DeviceId device;
  std::string shown;

  struct Sent {
    ConversationId conversation;
    Seq seq;
    std::string client_msg_id;
    bool in_book = false;  // the log book knows that it was acknowledged
  };
  struct Row {
    ConversationId conversation;
    Seq seq;
    UserId sender;
    std::string text;
    std::string where;  // "shows" or "holds"
  };
  /// A recall or an edit that it saw done.
  struct Change {
    ConversationId conversation;
    Seq seq;
    bool recall = false;
  };
  std::map<std::uint64_t, std::string> took;           // local id -> text
  std::map<std::uint64_t, std::set<std::string>> ids;  // local id -> the client_msg_ids that it has had
  std::set<std::uint64_t> failed;                      // local ids
  std::map<std::uint64_t, Sent> sent;                  // local id ->
  std::vector<Row> rows;                               // not yet compared with the log
  std::vector<Change> changes;
  std::set<std::pair<ConversationId, Seq>> notified;
  std::map<ConversationId, Seq> read;
  std::map<ConversationId, std::size_t> stepped_back;  // restores of the server after which `read` has gone back
  std::set<std::uint64_t> retried;
  Mark cursor;
  std::uint32_t epoch = 0;  // of the cursor
  InstallId install;
  bool offline = false;
  LogLine state;  // the last answer to the command `state`
};

/// What the server has told a user over HTTP when all was over.
struct Told {
  std::vector<Change> list;  // newest first
  std::map<ConversationId, std::vector<Entry>> rows;
};

class Judge {
 public:
  explicit Judge(Counters& counters) : counters_(counters) {}

  /// A text that a user is about to send, on a device or elsewhere. No two are the same.
  void note_text(const std::string& text) { texts_.insert(text); }
  /// A user is about to give a message another text.
  void note_edit(const ConversationId& conversation, Seq seq, const std::string& text);
  /// The server has answered a backend: what it sent is this message, `change` has given it another text, it is taken
  /// back.
  void note_posted(const ConversationId& conversation, Seq seq, const UserId& sender, const std::string& text);
  void note_edited(const ConversationId& conversation, Seq change, Seq seq, const std::string& text);
  void note_recalled(const ConversationId& conversation, Seq seq);

  /// The next lines of a device's log.
  void read_lines(Witness& witness, const std::vector<LogLine>& lines);
  /// The device's store while no process has it.
  void look_at_store(Witness& witness, const replica::MemoryStore& store);
  /// The server's store while no process has it. REQUIRES: the lines of all devices were read after the server's end:
  /// whatever they say must be there.
  void look_at_log(const Snapshot& snapshot, const std::vector<Witness*>& witnesses);

  /// The server was put back to where it was when `backup` had read its log. REQUIRES: its log was read since its end.
  void restore(const sim::LogBook& backup);

  /// At the end: everything that was to be sent is there once.
  void check_sends(const std::vector<Witness*>& witnesses) const;
  /// The server tells the user of every row that he may see, and of none else.
  void check_told(const UserId& user, const Told& told) const;
  /// The device has loaded all: it holds the rows and shows the list that its user is told of.
  void check_complete(const Witness& witness, const replica::MemoryStore& store, const Told& told) const;

  const sim::LogBook& book() const { return book_; }
  /// What was taken back.
  sim::GoneTexts gone() const;

 private:
  using Place = std::pair<ConversationId, Seq>;
  void read_line(Witness& witness, const LogLine& line);
  void read_outbox(Witness& witness, const LogLine& line);
  void read_message(Witness& witness, const LogLine& line);
  void read_link(Witness& witness, const LogLine& line);
  void raise_pointer(Witness& witness, const ConversationId& conversation, Seq read);
  void read_change(Witness& witness, const LogLine& line);
  void read_lost(const Witness& witness, const LogLine& line);
  /// What is said of a log may be of one that a restore has taken since. Calls `check` with the present one, and if
  /// that does not hold with those of before; throws what it threw first.
  template <typename Check>
  void check_any(Check check) const;
  void check_row(const sim::LogBook& book, const Witness& witness, const Witness::Row& row) const;
  static void check_change(const sim::LogBook& book, const Witness& witness, const Witness::Change& change);
  /// The message has said this at some time.
  bool said(const Entry& entry, const Place& place, const std::string& text) const;
  void note_log();
  void check_sent(const Witness& witness, std::uint64_t local_id, const Witness::Sent& sent) const;
  std::map<std::string, int> copies() const;
  /// The client_msg_ids in the log, and in those that a restore has taken.
  std::set<std::string> ids_there() const;

  Counters& counters_;
  sim::LogBook book_;
  std::vector<sim::LogBook> past_;  // each as it was when a restore took it
  std::set<std::string> texts_;
  std::map<std::string, std::set<Place>> places_;  // of a text: the messages that have said it
  std::map<std::string, Place> posted_;
};

}  // namespace tidemark::testing
