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
  std::map<std::uint64_t, std::string> took;  // local id -> text
  std::set<std::uint64_t> failed;             // local ids
  std::map<std::uint64_t, Sent> sent;         // local id ->
  std::vector<Row> rows;                      // not yet compared with the log
  std::set<std::pair<ConversationId, Seq>> notified;
  std::map<ConversationId, Seq> read;
  std::set<std::uint64_t> retried;
  Mark cursor;
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
  /// The server has answered a backend.
  void note_posted(const ConversationId& conversation, Seq seq, const UserId& sender, const std::string& text);

  /// The next lines of a device's log.
  void read_lines(Witness& witness, const std::vector<LogLine>& lines);
  /// The device's store while no process has it.
  void look_at_store(Witness& witness, const replica::MemoryStore& store);
  /// The server's store while no process has it. REQUIRES: the lines of all devices were read after the server's end:
  /// whatever they say must be there.
  void look_at_log(const Snapshot& snapshot, const std::vector<Witness*>& witnesses);

  /// At the end: everything that was to be sent is there once.
  void check_sends(const std::vector<Witness*>& witnesses) const;
  /// The server tells the user of every row that he may see, and of none else.
  void check_told(const UserId& user, const Told& told) const;
  /// The device has loaded all: it holds the rows and shows the list that its user is told of.
  void check_complete(const Witness& witness, const replica::MemoryStore& store, const Told& told) const;

  const sim::LogBook& book() const { return book_; }

 private:
  void read_line(Witness& witness, const LogLine& line);
  void read_outbox(Witness& witness, const LogLine& line);
  void read_message(Witness& witness, const LogLine& line);
  void read_link(Witness& witness, const LogLine& line);
  void raise_pointer(Witness& witness, const ConversationId& conversation, Seq read);
  void check_row(const Witness& witness, const Witness::Row& row) const;
  void check_sent(const Witness& witness, std::uint64_t local_id, const Witness::Sent& sent) const;
  std::map<std::string, int> copies() const;

  Counters& counters_;
  sim::LogBook book_;
  std::set<std::string> texts_;
  std::set<std::string> posted_;
};

}  // namespace tidemark::testing
