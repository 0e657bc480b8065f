#include "processes/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/run_context.h"

namespace tidemark::testing {
using sim::Violation;

namespace {

std::string named(const ConversationId& conversation, Seq seq) {
  return fmt::format("{}:{}", conversation.value, seq.value);
}

/// "-" stands for an empty text in logs.
std::string text_of(const std::string& word) {
  return word == "-" ? std::string() : word;
}

}  // namespace

void Judge::note_posted(const ConversationId& conversation, Seq seq, const UserId& sender, const std::string& text) {
  posted_[text] = {conversation, seq};
  places_[text].emplace(conversation, seq);
  book_.acknowledge(conversation, seq, sender.value, text);
}

void Judge::note_edit(const ConversationId& conversation, Seq seq, const std::string& text) {
  places_[text].emplace(conversation, seq);
}

void Judge::note_edited(const ConversationId& conversation, Seq change, Seq seq, const std::string& text) {
  counters_.hit(Counter::changes_over_http);
  book_.acknowledge_edit(conversation, change, seq, text);
}

void Judge::note_recalled(const ConversationId& conversation, Seq seq) {
  counters_.hit(Counter::changes_over_http);
  book_.acknowledge_recall(conversation, seq);
}

void Judge::restore(const sim::LogBook& backup) {
  past_.push_back(book_);
  book_.restore(backup);
  std::erase_if(posted_, [&](const auto& each) { return !book_.entry(each.second.first, each.second.second); });
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
  } else if (line.what() == "change") {
    read_change(witness, line);
  } else if (line.what() == "change_refused") {
    counters_.hit(Counter::changes_refused);
  } else if (line.what() == "lost_rows") {
    read_lost(witness, line);
  } else if (line.what() == "unread") {
    raise_pointer(witness, ConversationId(line.word(1)), Seq(line.number(3)));
  } else if (line.what() == "link") {
    read_link(witness, line);
  } else if (line.what() == "state") {
    witness.state = line;
  } else if (line.what() == "no_store" || line.what() == "not_started" || line.what() == "lost") {
    throw Violation("device", witness.shown + " says: " + line.text);
  }
}

void Judge::read_outbox(Witness& witness, const LogLine& line) {
  const std::uint64_t local_id = line.number(2);
  if (line.word(1) == "undecided") throw Violation("I4", witness.shown + " gave a young message up: " + line.text);
  if (line.word(1) == "failed") witness.failed.insert(local_id);
  witness.ids[local_id].insert(line.word(5));
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
  if (line.word(3) == "changed") counters_.hit(Counter::changed_rows);
  if (line.word(4) != "notify") return;
  counters_.hit(Counter::notified);
  if (line.word(5) == witness.user.value)
    throw Violation("notify", witness.shown + " notified of an own message: " + line.text);
  if (!witness.notified.emplace(conversation, seq).second)
    throw Violation("I4", witness.shown + " notified twice of " + named(conversation, seq));
}

void Judge::read_change(Witness& witness, const LogLine& line) {
  if (line.word(4) != "done") return;
  const bool recall = line.word(3) == "recall";
  counters_.hit(recall ? Counter::recalls : Counter::edits);
  witness.changes.push_back({ConversationId(line.word(1)), Seq(line.number(2)), recall});
}

void Judge::read_lost(const Witness& witness, const LogLine& line) {
  if (past_.empty()) throw Violation("I17", witness.shown + " has lost rows, and nothing was restored: " + line.text);
  if (line.number(4) == 0) counters_.hit(Counter::lost_rows);
}

void Judge::read_link(Witness& witness, const LogLine& line) {
  if (line.word(1) == "refused") throw Violation("link", witness.shown + " was refused: " + line.text);
  if (line.word(1) == "offline") witness.offline = true;
  if (line.word(1) == "in_step" && std::exchange(witness.offline, false)) counters_.hit(Counter::reconnects);
}

void Judge::raise_pointer(Witness& witness, const ConversationId& conversation, Seq read) {
  Seq& known = witness.read[conversation];
  // A restore takes it back, once.
  if (std::size_t& over = witness.stepped_back[conversation]; read < known && over < past_.size()) {
    over = past_.size();
    known = read;
  }
  if (read < known)
    throw Violation("I9", fmt::format("{} had read {} to {} and now to {}", witness.shown, conversation.value,
                                      known.value, read.value));
  if (read > known) counters_.hit(Counter::reads);
  known = read;
}

// ------------------------------------------------------------------------------------------------ what stores hold

void Judge::look_at_store(Witness& witness, const replica::MemoryStore& store) {
  const replica::DeviceState& device = store.device();
  // Across a restore it may go back.
  const std::uint32_t epoch = device.pass.snapshot ? device.pass.epoch.number : device.cursor.epoch.number;
  if (std::exchange(witness.epoch, epoch) < epoch) witness.cursor = {};
  const Mark mark = device.cursor.mark;
  if (mark < witness.cursor)
    throw Violation(
        "I6", fmt::format("the cursor of {} went back from {} to {}", witness.shown, witness.cursor.value, mark.value));
  witness.cursor = mark;
  // No store is ever copied or restored here; but two welcomes that are lost in a row look the same to the server.
  const InstallId& install = store.device().install;
  if (!witness.install.empty() && install != witness.install) counters_.hit(Counter::new_installs);
  witness.install = install;
  for (const auto& [id, item] : store.outbox()) {
    if (item.attempts > 1 && witness.retried.insert(id).second) counters_.hit(Counter::retried);
    // Killed before it could tell.
    if (item.state == replica::OutboxState::failed) witness.failed.insert(id);
  }
  for (const auto& [id, stored] : store.conversations()) {
    raise_pointer(witness, id, stored.state.object.read);
    for (const auto& [seq, row] : stored.rows)
      witness.rows.push_back({id, seq, row.entry->sender, row.entry->body.text, "holds"});
  }
}

}  // namespace tidemark::testing
