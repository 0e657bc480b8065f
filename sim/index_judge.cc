// The indexes of users against the logs.
#include "sim/index_judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/run_context.h"
#include "sim/stored_rows.h"
#include "store/keys.h"

namespace tidemark::sim {
namespace {

/// What a user's index has to say of one conversation, by its log alone.
struct Expected {
  Seq head;  // the last entry; of a former member, his leaving
  Seq top;   // the last message up to there
  // The last change of a row that he saw when it was changed. What he has hidden for himself since may have been so
  // then: `surely` leaves it out.
  Seq touch;
  Seq surely;
  std::uint64_t own = 0;
};

/// He was in when it was appended.
bool was_in(const Sight& sight, Seq seq) {
  return std::ranges::any_of(
      sight.spans, [&](const Sight::Span& span) { return span.join <= seq && (!span.leave || span.leave > seq); });
}

/// He had been in by then, and might see the message as one who has left.
bool saw(const Sight& sight, const Entry& change) {
  Sight then;
  for (const Sight::Span& span : sight.spans)
    if (span.join <= change.seq) then.spans.push_back(span);
  return then.sees(change.target);
}

Expected expected_of(const LogBook::Log& log, const Sight& sight, const OwnState& own, const UserId& user) {
  Expected expected;
  expected.head = sight.member() ? log.rbegin()->first : sight.spans.back().leave;
  Seq changed;  // the last change of any row
  for (const auto& [seq, entry] : log) {
    if (entry.countable() && entry.sender == user) ++expected.own;
    if (entry.countable() && seq <= expected.head) expected.top = seq;
    // Who comes back asks for all that has changed meanwhile.
    if (seq != sight.spans.front().join && std::ranges::find(sight.spans, seq, &Sight::Span::join) != sight.spans.end())
      expected.touch = expected.surely = std::max(expected.surely, changed);
    if (!entry.target) continue;
    changed = seq;
    const bool in = was_in(sight, seq);
    // Who has left is told of no reaction; the row of a large group that has ended follows the log as it is.
    const bool told = in || entry.kind != EntryKind::reaction;
    if (in || saw(sight, entry)) expected.touch = seq;
    if (in || (told && saw(sight, entry) && !own.hides(entry.target))) expected.surely = seq;
  }
  return expected;
}

std::string said(const char* what, std::uint64_t is, std::uint64_t expected) {
  return fmt::format("its {} is {} instead of {}, it {}", what, is, expected, is > expected ? "leads" : "lags");
}

/// What differs; "" when nothing does.
std::string difference(const UserConversation& row, const Expected& expected) {
  if (row.head_seq != expected.head) return said("head", row.head_seq.value, expected.head.value);
  if (row.top != expected.top) return said("last message", row.top.value, expected.top.value);
  if (row.touch_seq < expected.surely) return said("last change", row.touch_seq.value, expected.surely.value);
  if (row.touch_seq > expected.touch) return said("last change", row.touch_seq.value, expected.touch.value);
  if (row.own != expected.own) return said("number of own messages", row.own, expected.own);
  return {};
}

/// A single chat has its period from before its first entry on.
bool same_periods(const std::vector<Period>& periods, const Sight& sight) {
  return std::ranges::equal(periods, sight.spans, [](const Period& period, const Sight::Span& span) {
    const bool same_join = period.join == span.join || (!period.join && span.join == Seq(1));
    return same_join && period.leave == span.leave && period.visible_from == span.from;
  });
}

/// The group is large, and he is in it or was when it ended.
bool is_large(const LogBook::Log& log, const Sight& sight) {
  bool large = false;
  Seq end;
  for (const auto& [seq, entry] : log) {
    if (!entry.config) continue;
    large = entry.config->large.value_or(large);
    if (entry.config->dissolved) end = seq;
  }
  return large && (sight.member() || (end && sight.spans.back().leave == end));
}

/// The row of a large group follows its log when it is read.
UserConversation completed(UserConversation row, const Expected& expected, const Sight& sight) {
  row.head_seq = expected.head;
  row.top = expected.top;
  row.touch_seq = std::max(row.touch_seq, expected.touch);
  if (!row.periods.empty() && !row.periods.back().leave) row.periods.back().leave = sight.spans.back().leave;
  return row;
}

/// What the log counts up to `floor`: all messages, and those of the user.
std::pair<std::uint64_t, std::uint64_t> counted_to(const LogBook::Log& log, Seq floor, const UserId& user) {
  std::pair<std::uint64_t, std::uint64_t> counted;
  for (auto it = log.begin(); it != log.end() && it->first <= floor; ++it) {
    if (!it->second.countable()) continue;
    ++counted.first;
    counted.second += it->second.sender == user ? 1 : 0;
  }
  return counted;
}

/// A user id as it stands in the conversation of two.
std::string unescaped(std::string shown) {
  for (const auto& [written, meant] : {std::pair("%5F", "_"), std::pair("%25", "%")})
    for (auto at = shown.find(written); at != std::string::npos; at = shown.find(written, at + 1))
      shown.replace(at, 3, meant);
  return shown;
}

[[noreturn]] void fault(const UserId& user, const std::string& what) {
  throw Violation("I13", fmt::format("the index of {}: {}", user.value, what));
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- the tables

void IndexJudge::read(const Snapshot& snapshot) {
  heads_.clear();
  const std::map<UserId, Index> indexes = indexes_in(snapshot);
  for (const auto& [user, index] : indexes) {
    heads_[user] = index.record.head;
    check_stored(user, index);
    check_places(user, index);
    for (const auto& [id, row] : index.rows) check_row(user, row);
  }
  for (const auto& [id, log] : book_.logs())
    for (const UserId& user : concerned(id)) {
      const auto index = indexes.find(user);
      if (index == indexes.end() || !index->second.rows.contains(id)) fault(user, "it lacks " + id.value);
    }
  check_touches(snapshot);
  check_conversations(snapshot);
  check_memory_of_sends(snapshot);
}

std::map<UserId, IndexJudge::Index> IndexJudge::indexes_in(const Snapshot& snapshot) const {
  std::map<UserId, Index> indexes;
  scan_all(snapshot, Table::users, [&](std::string_view key, std::string_view value) {
    indexes[UserId(key.substr(1))].record = readable(decode_user(value));
  });
  scan_all(snapshot, Table::objects, [&](std::string_view key, std::string_view value) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(key.front()));
    if (length == 0) return;  // a tombstone, which is as old as what it stands for
    const UserId user(key.substr(1, length));
    const auto index = indexes.find(user);
    if (index == indexes.end()) fault(user, "it has objects and no head");
    index->second.take(key[1 + length], key.substr(2 + length), value);
  });
  for (auto& [user, index] : indexes) {
    index.rows = index.stored;
    for (const BlockRow& block : index.record.block) index.rows.insert_or_assign(block.row.conversation, block.row);
  }
  return indexes;
}

void IndexJudge::Index::take(char kind, std::string_view rest, std::string_view value) {
  constexpr std::size_t kMarkBytes = 8;
  if (kind == 'r') stored.emplace(conversation_in_key(rest), readable(decode_row(value)));
  if (kind == 'h') by_head.emplace(Mark(~big_endian(rest)), ConversationId(value));
  if (kind == 's') by_state.emplace(Mark(~big_endian(rest)), ConversationId(value));
  if (kind == 'o') objects.emplace(rest, readable(decode_object(value)).mark);
  if (kind == 'n') objects_by_mark.emplace(rest.substr(kMarkBytes), Mark(~big_endian(rest.substr(0, kMarkBytes))));
}

/// What is outside the block is found by its marks, and nothing is found that is not there.
void IndexJudge::check_stored(const UserId& user, const Index& index) const {
  Order by_head;
  Order by_state;
  for (const auto& [id, row] : index.stored) {
    if (row.conversation != id) fault(user, row.conversation.value + " has another's place");
    if (row.head_mark) by_head.emplace(row.head_mark, id);
    if (row.state_mark) by_state.emplace(row.state_mark, id);
  }
  if (by_head != index.by_head) fault(user, "the order of heads names other objects than there are");
  if (by_state != index.by_state) fault(user, "the order of states names other objects than there are");
  if (index.objects != index.objects_by_mark) fault(user, "the order of its own objects names others than there are");
  for (const BlockRow& block : index.record.block) {
    const auto stored = index.stored.find(block.row.conversation);
    const bool outside = stored != index.stored.end();
    if (block.stored_head_mark != (outside ? stored->second.head_mark : Mark()) ||
        block.stored_state_mark != (outside ? stored->second.state_mark : Mark()))
      fault(user, block.row.conversation.value + " is not known to stand where it does");
  }
}

/// A mark is one conversation's; in small ones the order by mark is the order of the list, and both end where the
/// index says it stands.
void IndexJudge::check_places(const UserId& user, const Index& index) const {
  const UserHead& head = index.record.head;
  std::map<Mark, ConversationId> marks;
  std::map<Mark, std::int64_t> places;
  for (const auto& [id, row] : index.rows) {
    for (const Mark mark : {row.head_mark, row.state_mark})
      if (mark && marks.try_emplace(mark, id).first->second != id)
        fault(user, fmt::format("mark {} is of {} and of {}", mark.value, id.value, marks[mark].value));
    if (!row.large) places.emplace(row.head_mark, row.sort_time);
  }
  Mark object;
  for (const auto& [name, mark] : index.objects) object = std::max(object, mark);
  if (object != head.object_mark) fault(user, said("mark of objects", head.object_mark.value, object.value));
  const Mark last = std::max(object, marks.empty() ? Mark() : marks.rbegin()->first);
  if (last != head.mark) fault(user, said("mark", head.mark.value, last.value));
  std::int64_t before = 0;
  for (const auto& [mark, sort_time] : places) {
    if (sort_time <= before) fault(user, fmt::format("what mark {} changed has an earlier place", mark.value));
    before = sort_time;
  }
  if (before > head.sort_time) fault(user, "it stands at another place than its newest object");
}

void IndexJudge::check_row(const UserId& user, const UserConversation& row) const {
  const ConversationId& id = row.conversation;
  check_named(user, row);
  const LogBook::Log& log = book_.log(id);
  const Sight sight = book_.sight(id, user);
  if (sight.spans.empty()) fault(user, "it has " + id.value + ", in which he never was");
  if (row.large != is_large(log, sight)) fault(user, id.value + " is kept in step in another way than its log says");
  const Expected expected = expected_of(log, sight, own_.of(user, id), user);
  if (row.head_seq > expected.head)
    fault(user, id.value + ": " + said("head", row.head_seq.value, expected.head.value));
  const UserConversation seen = row.large ? completed(row, expected, sight) : row;
  if (!same_periods(seen.periods, sight)) fault(user, "its periods in " + id.value + " are not those of the log");
  const std::string differs = difference(seen, expected);
  if (!differs.empty()) fault(user, id.value + ": " + differs);
  const auto [ord, own] = counted_to(log, row.floor, user);
  if (row.floor_ord != ord || row.floor_own != own) fault(user, id.value + ": its floor counts what the log does not");
}

/// What can be seen of a row at once: it names entries that there are.
void IndexJudge::check_named(const UserId& user, const UserConversation& row) const {
  const ConversationId& id = row.conversation;
  const auto named = [&](const char* what, Seq seq) {
    const Entry* entry = book_.entry(id, seq);
    if (seq && entry == nullptr) fault(user, fmt::format("{}:{} is its {} and in no log", id.value, seq.value, what));
    return entry;
  };
  const Entry* head = named("head", row.head_seq);
  const Entry* top = named("last message", row.top);
  const Entry* touch = named("last change", row.touch_seq);
  if (head == nullptr) fault(user, id.value + " has no head");
  if (top != nullptr && !top->countable()) fault(user, id.value + ": its last message is none");
  if (touch != nullptr && !touch->target) fault(user, id.value + ": its last change changes nothing");
  for (const Seq below : {row.read, row.cleared, row.floor})
    if (below > row.head_seq) fault(user, fmt::format("{}: {} lies above its head", id.value, below.value));
  // Its place is that of the last message or of his own join.
  if (top != nullptr && book_.sight(id, user).in_period(top->seq) && row.sort_time < top->server_time)
    fault(user, id.value + " has a place from before its last message");
}

/// The users whom its log concerns.
std::set<UserId> IndexJudge::concerned(const ConversationId& id) const {
  const auto bar = id.value.find('_');
  if (!id.value.starts_with("group_"))
    return {UserId(unescaped(id.value.substr(0, bar))), UserId(unescaped(id.value.substr(bar + 1)))};
  std::set<UserId> users;
  for (const auto& [seq, entry] : book_.log(id))
    if (entry.member) users.insert(entry.member->users.begin(), entry.member->users.end());
  return users;
}

// ----------------------------------------------------------------------------------------------------- what is told

void IndexJudge::read_on(const Snapshot& snapshot, const Notice& notice) {
  for (const Receiver& receiver : notice.receivers) {
    const auto bytes = readable(snapshot.get(Table::users, keys::user(receiver.user)));
    if (!bytes) fault(receiver.user, "it is told of and is not there");
    const UserRecord record = readable(decode_user(*bytes));
    heads_[receiver.user] = record.head;
    for (const BlockRow& block : record.block)
      if (block.row.conversation == notice.conversation) check_named(receiver.user, block.row);
    const bool placed_by_mark = !receiver.summary || !receiver.summary->large;
    if (receiver.after >= receiver.to || receiver.to > record.head.mark ||
        (placed_by_mark && receiver.sort_time > record.head.sort_time))
      fault(receiver.user, fmt::format("({}, {}] is pushed, it stands at {}", receiver.after.value, receiver.to.value,
                                       record.head.mark.value));
    if (!receiver.summary) continue;
    const std::string wrong = leads(receiver.user, *receiver.summary);
    if (!wrong.empty()) fault(receiver.user, "it is told as if " + wrong);
  }
}

std::string IndexJudge::leads(const UserId& user, const Change& object) const {
  const ConversationId& id = object.conversation;
  const auto told = [&](const std::string& what, Seq seq) {
    return fmt::format("{}:{} were {}", id.value, seq.value, what);
  };
  if (object.mark > mark(user)) return fmt::format("{} had mark {}", id.value, object.mark.value);
  if (object.head_seq && !book_.entry(id, object.head_seq)) return told("its head", object.head_seq);
  const Entry* top = book_.entry(id, object.top);
  if (object.top && (top == nullptr || !top->countable())) return told("its last message", object.top);
  const Entry* touch = book_.entry(id, object.touch_seq);
  if (object.touch_seq && (touch == nullptr || !touch->target)) return told("its last change", object.touch_seq);
  const LogBook::Log& log = book_.log(id);
  if (object.read && (log.empty() || object.read > log.rbegin()->first)) return told("read", object.read);
  if (!object.preview.seq) return {};
  const Entry* previewed = book_.entry(id, object.preview.seq);
  if (previewed == nullptr || !previewed->countable()) return told("its preview", object.preview.seq);
  const auto says = [&](const auto& text) { return text.second.starts_with(object.preview.text); };
  // What edits of one round said in between nobody hears of in a large group.
  const LogBook::Texts& texts = book_.texts(id, object.preview.seq);
  const bool known = std::ranges::none_of(log, [&](const auto& each) {
    const auto& [seq, entry] = each;
    return entry.kind == EntryKind::edit && entry.target == object.preview.seq && !texts.contains(seq);
  });
  if (known && !object.preview.text.empty() && std::ranges::none_of(texts, says))
    return told("previewed as \"" + object.preview.text + "\"", object.preview.seq);
  return {};
}

Mark IndexJudge::mark(const UserId& user) const {
  const auto found = heads_.find(user);
  return found == heads_.end() ? Mark() : found->second.mark;
}

}  // namespace tidemark::sim
