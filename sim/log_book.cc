#include "sim/log_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/run_context.h"
#include "sim/texts.h"
#include "store/keys.h"
#include "store/row_codec.h"

namespace tidemark::sim {
namespace {

std::string named(const ConversationId& conversation, Seq seq) {
  return fmt::format("{}:{}", conversation.value, seq.value);
}

/// A user id as it stands in the conversation of two.
std::string escaped(std::string_view user) {
  std::string shown;
  for (const char c : user) {
    if (c == '_') {
      shown += "%5F";
    } else if (c == '%') {
      shown += "%25";
    } else {
      shown += c;
    }
  }
  return shown;
}

/// What of an entry never changes once it is appended.
bool same_origin(const Entry& a, const Entry& b) {
  return a.kind == b.kind && a.sender == b.sender && a.client_msg_id == b.client_msg_id && a.ord == b.ord &&
         a.server_time == b.server_time && a.member == b.member && a.config == b.config && a.target == b.target &&
         a.target_sender == b.target_sender && a.reaction == b.reaction;
}

}  // namespace

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

ConversationId conversation_in_key(std::string_view key) {
  if (key.front() == 2) return ConversationId("group_" + std::to_string(big_endian(key.substr(1, 8))));
  const auto first = static_cast<std::size_t>(key[1]);
  const std::string_view a = key.substr(2, first);
  const std::string_view b = key.substr(3 + first, static_cast<std::size_t>(key[2 + first]));
  return ConversationId(escaped(a) + "_" + escaped(b));
}

bool Sight::sees(Seq seq) const {
  return std::ranges::any_of(spans,
                             [&](const Span& span) { return seq >= span.from && (!span.leave || seq <= span.leave); });
}

bool Sight::in_period(Seq seq) const {
  return std::ranges::any_of(spans,
                             [&](const Span& span) { return seq >= span.join && (!span.leave || seq <= span.leave); });
}

void LogBook::read(const Snapshot& snapshot) {
  const std::uint64_t found = scan(snapshot, "", std::string(1, '\xff'));
  if (const std::uint64_t known = entries(); found != known)
    throw Violation("I1", fmt::format("of {} entries {} are left", known, found));
  for (const Acknowledged& each : acknowledged_) check_acknowledged(each);
  for (const AcknowledgedChange& each : acknowledged_changes_) check_acknowledged(each);
  asked_.ask(Judge::I1, acknowledged_.size() + acknowledged_changes_.size());
}

void LogBook::read_on(const Snapshot& snapshot, const ConversationId& conversation) {
  const Log& known = log(conversation);
  const Seq head = known.empty() ? Seq() : known.rbegin()->first;
  scan(snapshot, keys::entry(conversation, head + 1), keys::entry(conversation, Seq(~std::uint64_t{0})));
  const Log& now = log(conversation);
  for (auto it = now.upper_bound(head); it != now.end(); ++it)
    if (const Seq target = it->second.target)
      scan(snapshot, keys::entry(conversation, target), keys::entry(conversation, target + 1));
}

std::uint64_t LogBook::scan(const Snapshot& snapshot, const std::string& from, const std::string& to) {
  std::uint64_t found = 0;
  const auto done = snapshot.scan(Table::entries, from, to, [&](std::string_view key, std::string_view value) {
    const Seq seq(big_endian(key.substr(key.size() - 8)));
    auto entry = decode_entry(value, seq);
    if (!entry) throw Violation("I1", "an entry cannot be read: " + entry.error().message());
    take(conversation_in_key(key), std::move(*entry));
    ++found;
    return true;
  });
  if (!done) throw Violation("I1", "the log cannot be read");
  return found;
}

void LogBook::take(const ConversationId& conversation, Entry entry) {
  Log& log = logs_[conversation];
  const Seq seq = entry.seq;
  for (const Judge judge : {Judge::I2, Judge::I9}) asked_.ask(judge);
  if (const auto known = log.find(seq); known != log.end()) {
    return take_again(conversation, known->second, std::move(entry));
  }
  asked_.ask(Judge::I3);
  const Seq head = log.empty() ? Seq() : log.rbegin()->first;
  if (lost(conversation, seq)) throw Violation("I2", named(conversation, seq) + " was another thing before a restore");
  const std::uint32_t epoch = log.empty() ? 1 : log.rbegin()->second.epoch;
  if (seq != head + 1 + (std::uint64_t{entry.epoch - epoch} << 32))
    throw Violation("I3", fmt::format("{} appeared when the head was {}", named(conversation, seq), head.value));
  if (!log.empty() && entry.server_time < log.rbegin()->second.server_time)
    throw Violation("I9", named(conversation, seq) + " is older than the entry before it");
  if (!entry.client_msg_id.empty()) {
    asked_.ask(Judge::I4);
    const auto [place, fresh] = ids_.try_emplace({entry.sender.value, conversation.value, entry.client_msg_id}, seq);
    if (!fresh)
      throw Violation(
          "I4", fmt::format("{} and {} are one message", named(conversation, place->second), named(conversation, seq)));
  }
  if (entry.target) {
    const Entry* target = this->entry(conversation, entry.target);
    if (target == nullptr || !target->countable() || target->sender != entry.target_sender)
      throw Violation("I2", named(conversation, seq) + " changes what is no message of who it says");
    if (entry.body != Body()) throw Violation("I11", named(conversation, seq) + " keeps a body beside the row's");
    (entry.kind == EntryKind::reaction ? reactions_ : changes_)[{conversation, entry.target}] = seq;
  }
  if (entry.countable() && !entry.dead()) note_text(conversation, seq, entry.revision, entry.body.text);
  log.emplace(seq, std::move(entry));
}

/// A row that was changed.
void LogBook::take_again(const ConversationId& conversation, Entry& known, Entry entry) {
  const std::string name = named(conversation, entry.seq);
  if (!same_origin(known, entry)) throw Violation("I2", name + " was given to two things");
  if (entry.state < known.state || entry.revision < known.revision || (known.dead() && entry.state != known.state))
    throw Violation("I9", name + " goes back to an earlier state");
  if (entry.dead()) asked_.ask(Judge::I11);
  if (entry.dead() && entry.body != Body()) throw Violation("I11", name + " is dead and keeps its body");
  if (entry.revision == known.revision && !entry.dead() && entry.body != known.body)
    throw Violation("I2", name + " says something else without a new revision");
  if (entry.countable() && !entry.dead()) note_text(conversation, entry.seq, entry.revision, entry.body.text);
  known = std::move(entry);
}

void LogBook::check_acknowledged(const Acknowledged& each) const {
  const Entry* entry = this->entry(each.conversation, each.seq);
  if (entry == nullptr) throw Violation("I1", named(each.conversation, each.seq) + " was acknowledged and is gone");
  if (entry->sender.value != each.sender || (entry->state == MessageState::live && entry->body.text != each.text))
    throw Violation(
        "I1", fmt::format("{} was acknowledged as \"{}\" of {} and is \"{}\" of {}", named(each.conversation, each.seq),
                          each.text, each.sender, entry->body.text, entry->sender.value));
}

void LogBook::acknowledge(const ConversationId& conversation, Seq seq, const std::string& sender,
                          const std::string& text) {
  acknowledged_.push_back({conversation, seq, sender, text});
}

void LogBook::check_acknowledged(const AcknowledgedChange& each) const {
  const Entry* row = entry(each.conversation, each.target);
  const std::string name = named(each.conversation, each.target);
  if (row == nullptr) throw Violation("I1", name + " was changed, acknowledged and is gone");
  if (row->dead()) return;
  if (!each.change) throw Violation("I1", name + " was taken back, acknowledged and is not dead");
  if (row->revision < each.change || (row->revision == each.change && row->body.text != each.text))
    throw Violation(
        "I1", fmt::format("{} was edited to \"{}\", acknowledged and is \"{}\"", name, each.text, row->body.text));
}

void LogBook::acknowledge_edit(const ConversationId& conversation, Seq change, Seq target, const std::string& text) {
  acknowledged_changes_.push_back({conversation, change, target, text});
}

void LogBook::acknowledge_recall(const ConversationId& conversation, Seq target) {
  acknowledged_changes_.push_back({conversation, {}, target, {}});
}

void LogBook::restore(const LogBook& backup) {
  for (auto& [id, log] : logs_)
    for (auto& [seq, entry] : log)
      if (!backup.entry(id, seq)) lost_[id].emplace(seq, std::move(entry));
  logs_ = backup.logs_;
  ids_ = backup.ids_;
  changes_ = backup.changes_;
  reactions_ = backup.reactions_;
  // What the backup holds was acknowledged for good, whenever that was.
  std::erase_if(acknowledged_, [&](const auto& each) { return !entry(each.conversation, each.seq); });
  std::erase_if(acknowledged_changes_, [&](const auto& each) {
    const Entry* row = entry(each.conversation, each.target);
    return !row || (each.change ? !entry(each.conversation, each.change) : !row->dead());
  });
}

bool LogBook::says(const std::string& text) const {
  return std::ranges::any_of(logs_, [&](const auto& log) {
    return std::ranges::any_of(log.second, [&](const auto& each) {
      return each.second.countable() && !each.second.dead() && each.second.body.text == text;
    });
  });
}

const Entry* LogBook::lost(const ConversationId& conversation, Seq seq) const {
  const auto log = lost_.find(conversation);
  if (log == lost_.end()) return nullptr;
  const auto found = log->second.find(seq);
  return found == log->second.end() ? nullptr : &found->second;
}

const LogBook::Texts& LogBook::texts(const ConversationId& conversation, Seq seq) const {
  static const Texts none;
  const auto found = texts_.find({conversation, seq});
  return found == texts_.end() ? none : found->second;
}

void LogBook::note_text(const ConversationId& conversation, Seq seq, Seq revision, const std::string& text) {
  if (text.empty()) return;
  texts_[{conversation, seq}][revision] = text;
  if (const auto number = number_of(text)) speakers_[*number].emplace(conversation, seq);
}

bool LogBook::lives(std::uint64_t number) const {
  const auto found = speakers_.find(number);
  return found != speakers_.end() && std::ranges::any_of(found->second, [&](const auto& message) {
           const Entry* said = entry(message.first, message.second);
           return said != nullptr && !said->dead();
         });
}

const Entry* LogBook::last_change(const ConversationId& conversation, Seq target, EntryKind kind) const {
  const auto& changes = kind == EntryKind::reaction ? reactions_ : changes_;
  const auto found = changes.find({conversation, target});
  return found == changes.end() ? nullptr : entry(conversation, found->second);
}

const Entry* LogBook::last_change(const ConversationId& conversation, Seq target) const {
  const Entry* change = last_change(conversation, target, EntryKind::edit);
  const Entry* reaction = last_change(conversation, target, EntryKind::reaction);
  return change == nullptr || (reaction != nullptr && reaction->seq > change->seq) ? reaction : change;
}

const LogBook::Log& LogBook::log(const ConversationId& conversation) const {
  static const Log empty;
  const auto found = logs_.find(conversation);
  return found == logs_.end() ? empty : found->second;
}

const Entry* LogBook::entry(const ConversationId& conversation, Seq seq) const {
  const Log& log = this->log(conversation);
  const auto found = log.find(seq);
  return found == log.end() ? nullptr : &found->second;
}

Sight LogBook::sight(const ConversationId& conversation, const UserId& user) const {
  Sight sight;
  if (!conversation.value.starts_with("group_")) {
    const auto bar = conversation.value.find('_');
    const std::string name = escaped(user.value);
    if (conversation.value.substr(0, bar) == name || conversation.value.substr(bar + 1) == name)
      sight.spans.push_back({Seq(1), Seq(1), Seq()});
    return sight;
  }
  for (const auto& [seq, entry] : log(conversation)) {
    if (entry.config && entry.config->dissolved && sight.member()) sight.spans.back().leave = seq;
    if (!entry.member) continue;
    if (std::ranges::find(entry.member->users, user) == entry.member->users.end()) continue;
    if (entry.member->action == MemberAction::joined)
      sight.spans.push_back({seq, std::min(entry.member->visible_from, seq), Seq()});
    else if (entry.member->action != MemberAction::role && entry.member->action != MemberAction::muted &&
             sight.member())
      sight.spans.back().leave = seq;
  }
  return sight;
}

std::uint64_t LogBook::entries() const {
  std::uint64_t count = 0;
  for (const auto& [id, log] : logs_) count += log.size();
  return count;
}

}  // namespace tidemark::sim
