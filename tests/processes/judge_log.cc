// What was seen of a run against the server's log, while it goes on and at its end.
#include <fmt/format.h>

#include <algorithm>

#include "processes/judge.h"
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

}  // namespace

void Judge::look_at_log(const Snapshot& snapshot, const std::vector<Witness*>& witnesses) {
  for (Witness* witness : witnesses)
    for (auto& [local_id, sent] : witness->sent) {
      // A device that was killed before it had noted what it took is known by the message's id alone.
      const auto text = witness->took.find(local_id);
      if (text == witness->took.end() || std::exchange(sent.in_book, true)) continue;
      places_[text->second].emplace(sent.conversation, sent.seq);
      // The answer was late: what it told of was taken by a restore meanwhile.
      if (book_.lost(sent.conversation, sent.seq)) continue;
      book_.acknowledge(sent.conversation, sent.seq, witness->user.value, text->second);
    }
  book_.read(snapshot);
  note_log();
  for (Witness* witness : witnesses) {
    for (const auto& [local_id, sent] : witness->sent) check_sent(*witness, local_id, sent);
    for (const Witness::Row& row : witness->rows)
      check_any([&](const sim::LogBook& book) { check_row(book, *witness, row); });
    for (const Witness::Change& change : witness->changes)
      check_any([&](const sim::LogBook& book) { check_change(book, *witness, change); });
    witness->rows.clear();
  }
}

void Judge::note_log() {
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log)
      if (entry.countable() && !entry.dead()) places_[entry.body.text].emplace(id, seq);
}

template <typename Check>
void Judge::check_any(Check check) const {
  try {
    check(book_);
  } catch (const Violation&) {
    const bool was_so = std::ranges::any_of(past_, [&](const sim::LogBook& book) {
      try {
        check(book);
        return true;
      } catch (const Violation&) {
        return false;
      }
    });
    if (!was_so) throw;
  }
}

void Judge::check_sent(const Witness& witness, std::uint64_t local_id, const Witness::Sent& sent) const {
  const Entry* entry = book_.entry(sent.conversation, sent.seq);
  if (entry == nullptr) entry = book_.lost(sent.conversation, sent.seq);
  const std::string what =
      fmt::format("{} of {}, sent as {}", local_id, witness.shown, named(sent.conversation, sent.seq));
  if (entry == nullptr) throw Violation("I1", what + ", is gone");
  if (entry->client_msg_id != sent.client_msg_id || entry->sender != witness.user ||
      entry->sender_device != witness.device)
    throw Violation("I2", what + ", is another message");
}

void Judge::check_row(const sim::LogBook& book, const Witness& witness, const Witness::Row& row) const {
  const std::string what = fmt::format("{} {} {}", witness.shown, row.where, named(row.conversation, row.seq));
  const Entry* entry = book.entry(row.conversation, row.seq);
  if (entry == nullptr) throw Violation("I3", what + ", which is not in the log");
  if (!book.sight(row.conversation, witness.user).sees(row.seq))
    throw Violation("I10", what + ", which " + witness.user.value + " may not see");
  if (entry->sender != row.sender || !said(*entry, {row.conversation, row.seq}, row.text))
    throw Violation("I2", fmt::format("{} as \"{}\" of {}; the log has \"{}\" of {}", what, row.text, row.sender.value,
                                      entry->body.text, entry->sender.value));
}

bool Judge::said(const Entry& entry, const Place& place, const std::string& text) const {
  if (text == entry.body.text) return true;
  if (!entry.dead() && !entry.revision) return false;
  const auto known = places_.find(text);
  // A message that was changed before anybody looked may have said what no other one has.
  return known == places_.end() ? texts_.contains(text) : known->second.contains(place);
}

void Judge::check_change(const sim::LogBook& book, const Witness& witness, const Witness::Change& change) {
  const Entry* entry = book.entry(change.conversation, change.seq);
  const std::string what = fmt::format("{} saw {} {}", witness.shown, named(change.conversation, change.seq),
                                       change.recall ? "taken back" : "edited");
  if (entry == nullptr) throw Violation("I1", what + ", and it is gone");
  if (!entry->dead() && (change.recall || !entry->revision)) throw Violation("I1", what + ", and it is not");
}

// --------------------------------------------------------------------------------------------------------- the end

sim::GoneTexts Judge::gone() const {
  sim::GoneTexts gone;
  for (const auto& [text, places] : places_) {
    const auto is = [&](bool dead) {
      return std::ranges::any_of(places, [&](const Place& place) {
        const Entry* entry = book_.entry(place.first, place.second);
        return entry != nullptr && entry->dead() == dead;
      });
    };
    if (is(true) && !is(false)) gone.add(text);
  }
  return gone;
}

std::map<std::string, int> Judge::copies() const {
  std::map<std::string, int> count;
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log)
      if (entry.countable() && !entry.dead()) ++count[entry.body.text];
  return count;
}

std::set<std::string> Judge::ids_there() const {
  std::set<std::string> ids;
  const auto note = [&](const sim::LogBook& book) {
    for (const auto& [id, log] : book.logs())
      for (const auto& [seq, entry] : log) ids.insert(entry.client_msg_id);
  };
  note(book_);
  std::ranges::for_each(past_, note);
  return ids;
}

void Judge::check_sends(const std::vector<Witness*>& witnesses) const {
  const std::map<std::string, int> there = copies();
  for (const auto& [text, count] : there) {
    if (!texts_.contains(text)) throw Violation("I2", "\"" + text + "\" is in the log, and nobody has sent it");
    if (count > 1) throw Violation("I4", fmt::format("\"{}\" is in the log {} times", text, count));
  }
  for (const auto& [text, place] : posted_)
    if (!book_.entry(place.first, place.second))
      throw Violation("I1", "\"" + text + "\" was acknowledged to a backend and is gone");
  const std::set<std::string> ids = ids_there();
  const auto was_there = [&](const std::string& text) {
    return std::ranges::any_of(past_, [&](const sim::LogBook& book) { return book.says(text); });
  };
  for (const Witness* witness : witnesses)
    for (const auto& [local_id, text] : witness->took) {
      const bool failed = witness->failed.contains(local_id);
      // What was seen sent has been looked for, whatever it says by now. What was taken back before anybody looked says
      // nothing any more, and is known by its id when the device died before it could say that it was sent.
      const auto own = witness->ids.find(local_id);
      const bool known = own != witness->ids.end() &&
                         std::ranges::any_of(own->second, [&](const std::string& id) { return ids.contains(id); });
      const bool arrived = there.contains(text) || witness->sent.contains(local_id) || was_there(text) || known;
      if (failed ? there.contains(text) : !arrived)
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
  for (const auto& [id, stored] : store.conversations())
    if (!stored.state.only_here()) shown.push_back(stored.state.object);
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
      if (entry.target) continue;  // shows in the row that it changed
      const auto row = rows.find(entry.seq);
      const std::string what = witness.shown + " has loaded all and ";
      if (row == rows.end()) throw Violation("I7", what + "lacks " + named(shown[i].conversation, entry.seq));
      if (row->second.entry->body != entry.body || row->second.entry->sender != entry.sender)
        throw Violation("I7", what + "holds another " + named(shown[i].conversation, entry.seq));
    }
  }
}

}  // namespace tidemark::testing
