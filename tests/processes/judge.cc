#include "processes/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/run_context.h"

namespace tidemark::testing {
using sim::Violation;

namespace {

/// What of a conversation differs for its user; "" when nothing does.
std::string difference_of(const Change& a, const Change& b) {
  if (a.conversation != b.conversation)
    return fmt::format("{} instead of {}", a.conversation.value, b.conversation.value);
  std::string what;
  const auto compare = [&](const char* name, const auto& left, const auto& right) {
    if (left != right) what += fmt::format("{} {}: {} instead of {}", a.conversation.value, name, left, right);
  };
  compare("head", a.head_seq.value, b.head_seq.value);
  compare("membership", a.member, b.member);
  compare("read pointer", a.read.value, b.read.value);
  compare("unread flag", a.unread_flag, b.unread_flag);
  compare("unread", a.unread.count, b.unread.count);
  compare("place", a.sort_time, b.sort_time);
  compare("title", a.title, b.title);
  compare("preview", a.preview.seq.value, b.preview.seq.value);
  compare("preview's text", a.preview.text, b.preview.text);
  return what;
}

std::string named(const ConversationId& conversation, Seq seq) {
  return fmt::format("{}:{}", conversation.value, seq.value);
}

/// "-" stands for an empty text in logs.
std::string text_of(const std::string& word) {
  return word == "-" ? std::string() : word;
}

}  // namespace

void Judge::note_posted(const ConversationId& conversation, Seq seq, const UserId& sender, const std::string& text) {
  posted_.insert(text);
  book_.acknowledge(conversation, seq, sender.value, text);
}

// ----------------------------------------------------------------------------------------------- what devices say

void Judge::read_lines(Witness& witness, const std::vector<LogLine>& lines) {
  for (const LogLine& line : lines) read_line(witness, line);
}

void Judge::read_line(Witness& witness, const LogLine& line) {
  if (line.what() == "took") {
    counters_.hit(Counter::sends);
    const auto [place, fresh] = witness.took.emplace(line.number(1), line.word(2));
    if (!fresh) throw Violation("local ids", witness.shown + " gave a local id twice: " + line.text);
  } else if (line.what() == "outbox") {
    read_outbox(witness, line);
  } else if (line.what() == "message") {
    read_message(witness, line);
  } else if (line.what() == "unread") {
    raise_pointer(witness, ConversationId(line.word(1)), Seq(line.number(3)));
  } else if (line.what() == "link") {
    read_link(witness, line);
  } else if (line.what() == "state") {
    witness.state = line;
  } else if (line.what() == "no_store" || line.what() == "not_started" || line.what() == "lost" ||
             line.what() == "lost_rows") {
    throw Violation("device", witness.shown + " says: " + line.text);
  }
}

void Judge::read_outbox(Witness& witness, const LogLine& line) {
  const std::uint64_t local_id = line.number(2);
  if (line.word(1) == "undecided") throw Violation("I4", witness.shown + " gave a young message up: " + line.text);
  if (line.word(1) == "failed") witness.failed.insert(local_id);
  if (line.word(1) != "sent") return;
  counters_.hit(Counter::acknowledged);
  const Witness::Sent sent{ConversationId(line.word(3)), Seq(line.number(4)), line.word(5), false};
  const auto [place, fresh] = witness.sent.emplace(local_id, sent);
  if (!fresh && place->second.seq != sent.seq)
    throw Violation("I4", witness.shown + " saw one message sent as two: " + line.text);
}

void Judge::read_message(Witness& witness, const LogLine& line) {
  const ConversationId conversation(line.word(1));
  const Seq seq(line.number(2));
  witness.rows.push_back({conversation, seq, UserId(line.word(5)), text_of(line.word(6)), "shows"});
  if (line.word(4) != "notify") return;
  counters_.hit(Counter::notified);
  if (line.word(5) == witness.user.value)
    throw Violation("notify", witness.shown + " notified of an own message: " + line.text);
  if (!witness.notified.emplace(conversation, seq).second)
    throw Violation("I4", witness.shown + " notified twice of " + named(conversation, seq));
}

void Judge::read_link(Witness& witness, const LogLine& line) {
  if (line.word(1) == "refused") throw Violation("link", witness.shown + " was refused: " + line.text);
  if (line.word(1) == "offline") witness.offline = true;
  if (line.word(1) == "in_step" && std::exchange(witness.offline, false)) counters_.hit(Counter::reconnects);
}

void Judge::raise_pointer(Witness& witness, const ConversationId& conversation, Seq read) {
  Seq& known = witness.read[conversation];
  if (read < known)
    throw Violation("I9", fmt::format("{} had read {} to {} and now to {}", witness.shown, conversation.value,
                                      known.value, read.value));
  if (read > known) counters_.hit(Counter::reads);
  known = read;
}

// ------------------------------------------------------------------------------------------------ what stores hold

void Judge::look_at_store(Witness& witness, const replica::MemoryStore& store) {
  const Mark mark = store.device().cursor.mark;
  if (mark < witness.cursor)
    throw Violation(
        "I6", fmt::format("the cursor of {} went back from {} to {}", witness.shown, witness.cursor.value, mark.value));
  witness.cursor = mark;
  // No store is ever copied or restored here; but two welcomes that are lost in a row look the same to the server.
  const InstallId& install = store.device().install;
  if (!witness.install.empty() && install != witness.install) counters_.hit(Counter::new_installs);
  witness.install = install;
  for (const auto& [id, item] : store.outbox())
    if (item.attempts > 1 && witness.retried.insert(id).second) counters_.hit(Counter::retried);
  for (const auto& [id, stored] : store.conversations()) {
    raise_pointer(witness, id, stored.state.object.read);
    for (const auto& [seq, row] : stored.rows)
      witness.rows.push_back({id, seq, row.entry->sender, row.entry->body.text, "holds"});
  }
}

void Judge::look_at_log(const Snapshot& snapshot, const std::vector<Witness*>& witnesses) {
  for (Witness* witness : witnesses)
    for (auto& [local_id, sent] : witness->sent) {
      // A device that was killed before it had noted what it took is known by the message's id alone.
      const auto text = witness->took.find(local_id);
      if (text == witness->took.end() || std::exchange(sent.in_book, true)) continue;
      book_.acknowledge(sent.conversation, sent.seq, witness->user.value, text->second);
    }
  book_.read(snapshot);
  for (Witness* witness : witnesses) {
    for (const auto& [local_id, sent] : witness->sent) check_sent(*witness, local_id, sent);
    for (const Witness::Row& row : witness->rows) check_row(*witness, row);
    witness->rows.clear();
  }
}

void Judge::check_sent(const Witness& witness, std::uint64_t local_id, const Witness::Sent& sent) const {
  const Entry* entry = book_.entry(sent.conversation, sent.seq);
  const std::string what =
      fmt::format("{} of {}, sent as {}", local_id, witness.shown, named(sent.conversation, sent.seq));
  if (entry == nullptr) throw Violation("I1", what + ", is gone");
  if (entry->client_msg_id != sent.client_msg_id || entry->sender != witness.user ||
      entry->sender_device != witness.device)
    throw Violation("I2", what + ", is another message");
}

void Judge::check_row(const Witness& witness, const Witness::Row& row) const {
  const std::string what = fmt::format("{} {} {}", witness.shown, row.where, named(row.conversation, row.seq));
  const Entry* entry = book_.entry(row.conversation, row.seq);
  if (entry == nullptr) throw Violation("I3", what + ", which is not in the log");
  if (!book_.sight(row.conversation, witness.user).sees(row.seq))
    throw Violation("I10", what + ", which " + witness.user.value + " may not see");
  if (entry->sender != row.sender || (!entry->dead() && entry->body.text != row.text))
    throw Violation("I2", fmt::format("{} as \"{}\" of {}; the log has \"{}\" of {}", what, row.text, row.sender.value,
                                      entry->body.text, entry->sender.value));
}

// --------------------------------------------------------------------------------------------------------- the end

std::map<std::string, int> Judge::copies() const {
  std::map<std::string, int> count;
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log)
      if (entry.countable()) ++count[entry.body.text];
  return count;
}

void Judge::check_sends(const std::vector<Witness*>& witnesses) const {
  const std::map<std::string, int> there = copies();
  for (const auto& [text, count] : there) {
    if (!texts_.contains(text)) throw Violation("I2", "\"" + text + "\" is in the log, and nobody has sent it");
    if (count > 1) throw Violation("I4", fmt::format("\"{}\" is in the log {} times", text, count));
  }
  for (const std::string& text : posted_)
    if (!there.contains(text)) throw Violation("I1", "\"" + text + "\" was acknowledged to a backend and is gone");
  for (const Witness* witness : witnesses)
    for (const auto& [local_id, text] : witness->took) {
      const bool failed = witness->failed.contains(local_id);
      if (there.contains(text) == failed)
        throw Violation("I19", fmt::format("\"{}\", {} of {}, {}", text, local_id, witness->shown,
                                           failed ? "was refused and is in the log" : "never arrived"));
    }
}

void Judge::check_told(const UserId& user, const Told& told) const {
  for (const auto& [id, log] : book_.logs()) {
    const sim::Sight sight = book_.sight(id, user);
    const auto rows = told.rows.find(id);
    if (sight.spans.empty() != (rows == told.rows.end()))
      throw Violation("I10",
                      fmt::format("the list of {} {} {}", user.value, sight.spans.empty() ? "has" : "lacks", id.value));
    if (sight.spans.empty()) continue;
    auto row = rows->second.begin();
    for (const auto& [seq, entry] : log) {
      if (!sight.sees(seq)) continue;
      if (row == rows->second.end() || row->seq != seq || row->body.text != entry.body.text ||
          row->sender != entry.sender)
        throw Violation("I5",
                        fmt::format("the history that {} is told lacks {} or has another", user.value, named(id, seq)));
      ++row;
    }
    if (row != rows->second.end())
      throw Violation("I10", fmt::format("the history that {} is told has {}", user.value, named(id, row->seq)));
  }
}

void Judge::check_complete(const Witness& witness, const replica::MemoryStore& store, const Told& told) const {
  std::vector<Change> shown;
  for (const auto& [id, stored] : store.conversations()) shown.push_back(stored.state.object);
  std::ranges::sort(shown, [](const Change& a, const Change& b) {
    return std::tie(a.sort_time, a.conversation) > std::tie(b.sort_time, b.conversation);
  });
  if (shown.size() != told.list.size())
    throw Violation("I7",
                    fmt::format("{} lists {} conversations of {}", witness.shown, shown.size(), told.list.size()));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string difference = difference_of(shown[i], told.list[i]);
    if (!difference.empty())
      throw Violation("I7", fmt::format("place {} in the list of {}: {}", i + 1, witness.shown, difference));
    const auto& rows = store.conversation(shown[i].conversation)->rows;
    for (const Entry& entry : told.rows.at(shown[i].conversation)) {
      const auto row = rows.find(entry.seq);
      const std::string what = witness.shown + " has loaded all and ";
      if (row == rows.end()) throw Violation("I7", what + "lacks " + named(shown[i].conversation, entry.seq));
      if (row->second.entry->body != entry.body || row->second.entry->sender != entry.sender)
        throw Violation("I7", what + "holds another " + named(shown[i].conversation, entry.seq));
    }
  }
}

}  // namespace tidemark::testing
