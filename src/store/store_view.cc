#include "store/store_view.h"

#include <algorithm>
#include <ranges>

#include "base/check.h"
#include "base/codec.h"
#include "base/log.h"
#include "core/large_group.h"
#include "store/keys.h"

namespace tidemark {
namespace {
// "To the end" is asked for by the largest number there is; the end of a range of keys lies one behind it.
constexpr std::uint64_t kLastPlace = ~std::uint64_t{0} - 1;
constexpr Seq kLastSeq(kLastPlace);
constexpr Mark kLastMark(kLastPlace);

constexpr std::uint64_t kFirstPiece = 16;
constexpr std::uint64_t kLargestPiece = 128;

// So many numbers at the end of a large group's log are read through the pages that all readers share; who reads
// further back reads alone.
constexpr std::uint64_t kSharedNumbers = 1'024;

Seq seq_in(std::string_view key) {
  return Seq(ByteReader(key.substr(key.size() - 8)).be64());
}
}  // namespace

void StoreView::fail_with(Error error) {
  if (!failure_) failure_ = std::move(error);
}

std::optional<std::string> StoreView::get(Table table, std::string_view key) {
  auto value = snapshot_->get(table, key);
  if (value) return std::move(*value);
  fail_with(std::move(value).error());
  return std::nullopt;
}

void StoreView::clear_failure() {
  if (!failure_) return;
  failure_.reset();
  users_.clear();
  conversations_.clear();
  tails_.clear();
  stands_at_.clear();
  rows_.clear();
  completed_.clear();
}

template <typename T>
std::optional<T> StoreView::take(Result<T> value) {
  if (value) return std::move(*value);
  fail_with(std::move(value).error());
  return std::nullopt;
}

Epoch StoreView::epoch() {
  if (!epoch_) {
    const auto bytes = get(Table::meta, keys::kEpoch);
    epoch_ = bytes ? take(decode_epoch(*bytes)).value_or(Epoch{}) : Epoch{};
  }
  return *epoch_;
}

std::vector<Epoch> StoreView::lineage() {
  const auto bytes = get(Table::meta, keys::kLineage);
  return bytes ? take(decode_lineage(*bytes)).value_or(std::vector<Epoch>{}) : std::vector<Epoch>{};
}

namespace {
std::uint64_t number_in(const std::optional<std::string>& bytes) {
  return bytes ? ByteReader(*bytes).varint() : 0;
}
}  // namespace

std::uint64_t StoreView::round() {
  return number_in(get(Table::meta, keys::kRound));
}
std::uint64_t StoreView::last_group() {
  return number_in(get(Table::meta, keys::kGroup));
}

const Conversation* StoreView::conversation(const ConversationId& id) {
  auto [place, fresh] = conversations_.try_emplace(id);
  if (fresh)
    if (const auto bytes = get(Table::conversations, keys::conversation(id)))
      place->second = take(decode_conversation(*bytes, id));
  return place->second ? &*place->second : nullptr;
}

const std::vector<Entry>& StoreView::tail(const ConversationId& id) {
  auto [place, fresh] = tails_.try_emplace(id);
  if (!fresh) return place->second;
  std::vector<Entry>& last = place->second;
  const std::size_t most = shared(id) ? 1 : tail_entries_;
  if (const auto known = stands_at_.find(id); known != stands_at_.end()) {
    const Seq below(known->second.value - std::min<std::uint64_t>(known->second.value, most));
    last.reserve(2 * most + 1);
    bool far = false;
    const bool read = scan_up(id, below, kLastSeq, [&](Entry&& entry) {
      last.push_back(std::move(entry));
      far = last.size() > 2 * most;
      return !far;
    });
    std::ranges::reverse(last);
    if (read && !last.empty()) return last;
    last.clear();  // the row was of long ago, or knows more than the log does
  }
  scan_down(id, Seq(), kLastSeq, [&](const Entry& entry) {
    last.push_back(entry);
    return last.size() < most;
  });
  return last;
}

bool StoreView::shared(const ConversationId& id) {
  if (pages_ == nullptr) return false;
  const Conversation* group = conversation(id);
  return group != nullptr && group->large;
}

PageCache::Page StoreView::shared_page(const ConversationId& id, std::uint64_t number) {
  const LineHead head = line(id);
  const Seq first(number * PageCache::kNumbers);
  const Seq last = std::min(head.seq, first + (PageCache::kNumbers - 1));
  const PageCache::Key key{id, number};
  const PageCache::State state{last, head.touch};
  if (PageCache::Page page = pages_->find(key, state)) return page;
  auto entries = std::make_shared<std::vector<Entry>>();
  const bool read = scan_up(id, first ? first - 1 : Seq(), last, [&](Entry&& entry) {
    entries->push_back(std::move(entry));
    return true;
  });
  if (read) pages_->keep(key, state, entries);
  return read ? entries : nullptr;
}

bool StoreView::shared_entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                               const std::function<bool(const Entry&)>& visit) {
  const std::uint64_t head = line(id).seq.value;
  const std::uint64_t alone = (head - std::min(head, kSharedNumbers)) / PageCache::kNumbers * PageCache::kNumbers;
  to = std::min(to, Seq(head));
  if (to <= after) return true;
  const bool upwards = direction == Direction::up;
  const auto read_alone = [&] {
    return after.value + 1 >= alone || scan_entries(id, after, std::min(to, Seq(alone - 1)), direction, visit);
  };
  const auto visit_page = [&](std::uint64_t number) {
    const PageCache::Page page = shared_page(id, number);
    if (!page) return false;
    const auto takes = [&](const Entry& entry) { return entry.seq <= after || entry.seq > to || visit(entry); };
    return upwards ? std::ranges::all_of(*page, takes) : std::ranges::all_of(*page | std::views::reverse, takes);
  };
  if (upwards && !read_alone()) return false;
  const std::uint64_t first = std::max(after.value + 1, alone) / PageCache::kNumbers;
  const std::uint64_t last = to.value / PageCache::kNumbers;
  for (std::uint64_t i = first; i <= last; ++i)
    if (!visit_page(upwards ? i : first + last - i)) return false;
  return upwards || read_alone();
}

LineHead StoreView::line(const ConversationId& id) {
  const std::vector<Entry>& last = tail(id);
  if (last.empty()) return {};
  return head_after(last.front());
}

std::optional<Entry> StoreView::entry(const ConversationId& id, Seq seq) {
  if (const auto known = tails_.find(id); known != tails_.end())
    for (const Entry& entry : known->second)
      if (entry.seq == seq) return entry;
  const auto bytes = get(Table::entries, keys::entry(id, seq));
  if (!bytes) return std::nullopt;
  return take(decode_entry(*bytes, seq));
}

void StoreView::entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                        const std::function<bool(const Entry&)>& visit) {
  if (shared(id) && after < to) {
    shared_entries(id, after, to, direction, visit);
    return;
  }
  const auto known = tails_.find(id);
  if (known == tails_.end() || known->second.empty()) {
    scan_entries(id, after, to, direction, visit);
    return;
  }
  // The tail is known already: what lies in it is not read again.
  const std::vector<Entry>& last = known->second;
  const Seq below_tail = last.back().seq - 1;
  if (direction == Direction::up) {
    if (after < below_tail && !scan_entries(id, after, std::min(to, below_tail), direction, visit)) return;
    for (auto entry = last.rbegin(); entry != last.rend(); ++entry)
      if (entry->seq > after && entry->seq <= to && !visit(*entry)) return;
    return;
  }
  for (const Entry& entry : last)
    if (entry.seq > after && entry.seq <= to && !visit(entry)) return;
  if (after < below_tail) scan_entries(id, after, std::min(to, below_tail), direction, visit);
}

bool StoreView::scan_entries(const ConversationId& id, Seq after, Seq to, Direction direction,
                             const std::function<bool(const Entry&)>& visit) {
  if (direction == Direction::down) return scan_down(id, after, to, visit);
  return scan_up(id, after, to, [&](const Entry& entry) { return visit(entry); });
}

bool StoreView::scan_up(const ConversationId& id, Seq after, Seq to, const std::function<bool(Entry&&)>& visit) {
  if (to <= after) return true;
  bool going = true;
  const auto done =
      snapshot_->scan(Table::entries, keys::entry(id, after + 1), keys::entry(id, std::min(to, kLastSeq) + 1),
                      [&](std::string_view key, std::string_view value) {
                        auto entry = decode_entry(value, seq_in(key));
                        if (!entry) {
                          fail_with(std::move(entry).error());
                          return going = false;
                        }
                        return going = visit(std::move(*entry));
                      });
  if (!done) fail_with(done.error());
  return going && done;
}

std::optional<Entry> StoreView::last_entry(const ConversationId& id, Seq after, Seq to) {
  std::optional<Entry> last;
  const auto done = snapshot_->scan_back(Table::entries, keys::entry(id, after + 1), keys::entry(id, to + 1),
                                         [&](std::string_view key, std::string_view value) {
                                           last = take(decode_entry(value, seq_in(key)));
                                           return false;
                                         });
  if (!done) fail_with(done.error());
  return last;
}

bool StoreView::scan_down(const ConversationId& id, Seq after, Seq to, const std::function<bool(const Entry&)>& visit) {
  // A step back is a search from the top; numbers are dense but for the jumps of restores. So only the highest entry,
  // and what lies below a hole, is searched for; the others are read upwards, a piece at a time.
  to = std::min(to, kLastSeq);
  bool dense = false;
  for (std::uint64_t piece = kFirstPiece; to > after; piece = std::min(piece * 2, kLargestPiece)) {
    if (!dense) {
      const auto last = last_entry(id, after, to);
      if (!last) return !failure_;
      if (!visit(*last)) return false;
      to = last->seq - 1;
    }
    const Seq low = to - after > piece ? to - piece : after;
    std::vector<Entry> entries;
    if (!scan_up(id, low, to, [&](Entry&& entry) {
          entries.push_back(std::move(entry));
          return true;
        }))
      return false;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
      if (!visit(*entry)) return false;
    dense = entries.size() == to - low;
    to = low;
  }
  return true;
}

void StoreView::touches(const ConversationId& id, Seq after, Seq to, Direction direction,
                        const std::function<bool(Seq, Seq)>& visit) {
  if (to <= after) return;
  const std::string from = keys::touch(id, after + 1);
  const std::string end = keys::touch(id, std::min(to, kLastSeq) + 1);
  const auto visit_stored = [&](std::string_view key, std::string_view value) {
    ByteReader in(value);
    const Seq target(in.varint());
    if (!in.done()) {
      fail_with({ErrorCode::INTERNAL, "", "A stored touch cannot be read."});
      return false;
    }
    return visit(seq_in(key), target);
  };
  const auto done = direction == Direction::up ? snapshot_->scan(Table::touches, from, end, visit_stored)
                                               : snapshot_->scan_back(Table::touches, from, end, visit_stored);
  if (!done) fail_with(done.error());
}

std::vector<std::string> StoreView::reactions_of(const ConversationId& id, Seq seq, const UserId& user) {
  const auto bytes = get(Table::touches, keys::reaction(id, seq, user));
  return bytes ? take(decode_names(*bytes)).value_or(std::vector<std::string>{}) : std::vector<std::string>{};
}

void StoreView::reactions(const ConversationId& id, Seq seq, const UserId& after,
                          const std::function<bool(const UserId&, const std::vector<std::string>&)>& visit) {
  const std::string from = after.empty() ? keys::reactions(id, seq) : keys::reaction(id, seq, after) + '\0';
  const auto done = snapshot_->scan(Table::touches, from, keys::after_prefix(keys::reactions(id, seq)),
                                    [&](std::string_view key, std::string_view value) {
                                      const auto names = take(decode_names(value));
                                      return names && visit(keys::user_of_reaction(id, seq, key), *names);
                                    });
  if (!done) fail_with(done.error());
}

void StoreView::left(const ConversationId& id, Seq from, const std::function<void(const UserId&)>& visit) {
  const auto done = snapshot_->scan(Table::conversations, keys::leave(id, from), keys::leaves_end(id),
                                    [&](std::string_view, std::string_view value) {
                                      visit(UserId(value));
                                      return true;
                                    });
  if (!done) fail_with(done.error());
}

void StoreView::members(const ConversationId& id, const Member& after,
                        const std::function<bool(const Member&)>& visit) {
  const std::string from = after.user.empty() ? keys::members(id) : keys::member(id, after) + '\0';
  const auto done = snapshot_->scan(Table::conversations, from, keys::after_prefix(keys::conversation(id)),
                                    [&](std::string_view key, std::string_view value) {
                                      Member member = keys::member_in(id, key);
                                      member.role = static_cast<Role>(ByteReader(value).u8());
                                      return visit(member);
                                    });
  if (!done) fail_with(done.error());
}

void StoreView::large_groups(const UserId& user, const ConversationId& after,
                             const std::function<bool(const ConversationId&)>& visit) {
  const std::string from = after.empty() ? keys::large_groups(user) : keys::large_group(user, after) + '\0';
  const auto done =
      snapshot_->scan(Table::objects, from, keys::after_prefix(keys::large_groups(user)),
                      [&](std::string_view key, std::string_view) { return visit(keys::large_group_in(user, key)); });
  if (!done) fail_with(done.error());
}

UserRecord StoreView::user_record(const UserId& user) {
  const auto bytes = get(Table::users, keys::user(user));
  return bytes ? take(decode_user(*bytes)).value_or(UserRecord{}) : UserRecord{};
}

const UserRecord& StoreView::record(const UserId& user) {
  const auto found = users_.find(user);
  if (found != users_.end()) return found->second;
  const UserRecord& record = users_.emplace(user, user_record(user)).first->second;
  for (const BlockRow& block : record.block) stands_at_[block.row.conversation] = block.row.head_seq;
  return record;
}

UserHead StoreView::user(const UserId& user) {
  return record(user).head;
}

std::optional<UserConversation> StoreView::stored_row(const UserId& user, const ConversationId& id) {
  const auto bytes = get(Table::objects, keys::row(user, id));
  if (!bytes) return std::nullopt;
  return take(decode_row(*bytes));
}

const UserConversation* StoreView::user_conversation(const UserId& user, const ConversationId& id) {
  for (const BlockRow& block : record(user).block)
    if (block.row.conversation == id) return completed(block.row);
  const UserConversation* row = known_row(user, id);
  return row != nullptr ? completed(*row) : nullptr;
}

const UserConversation* StoreView::completed(const UserConversation& row) {
  if (!row.large) return &row;
  const auto [place, fresh] = completed_.try_emplace(&row, row);
  if (fresh) complete(*this, place->second);
  return &place->second;
}

const UserConversation* StoreView::known_row(const UserId& user, const ConversationId& id) {
  auto [place, fresh] = rows_.try_emplace(keys::row(user, id));
  if (fresh) {
    place->second = stored_row(user, id);
    if (place->second) stands_at_.try_emplace(id, place->second->head_seq);
  }
  return place->second ? &*place->second : nullptr;
}

void StoreView::by_head_mark(const UserId& user, Mark after, Mark to, Direction direction,
                             const std::function<bool(const UserConversation&)>& visit) {
  by_mark(user, true, after, to, direction, visit);
}

void StoreView::by_state_mark(const UserId& user, Mark after, Mark to, Direction direction,
                              const std::function<bool(const UserConversation&)>& visit) {
  by_mark(user, false, after, to, direction, visit);
}

void StoreView::by_mark(const UserId& user, bool by_head, Mark after, Mark to, Direction direction,
                        const std::function<bool(const UserConversation&)>& visit) {
  if (to <= after) return;
  to = std::min(to, kLastMark);
  const auto mark_of = [by_head](const UserConversation& row) { return by_head ? row.head_mark : row.state_mark; };
  // The block's rows hide their older selves in `objects`; both sides are merged by mark.
  std::vector<const UserConversation*> block;
  std::vector<const UserConversation*> inside;
  for (const BlockRow& row : record(user).block) {
    block.push_back(&row.row);
    if (mark_of(row.row) > after && mark_of(row.row) <= to) inside.push_back(&row.row);
  }
  const bool up = direction == Direction::up;
  std::ranges::sort(
      inside, [&](const auto* a, const auto* b) { return up ? mark_of(*a) < mark_of(*b) : mark_of(*a) > mark_of(*b); });
  std::size_t next = 0;
  bool going = true;
  const auto visit_block_before = [&](Mark mark) {
    while (going && next < inside.size() && (up ? mark_of(*inside[next]) < mark : mark_of(*inside[next]) > mark))
      going = visit(*completed(*inside[next++]));
  };
  const auto visit_stored = [&](std::string_view key, std::string_view value) {
    const Mark mark = keys::mark_in(key);
    visit_block_before(mark);
    const ConversationId id{value};
    const bool hidden = std::ranges::any_of(block, [&](const auto* row) { return row->conversation == id; });
    if (!going || hidden) return going;
    const UserConversation* row = known_row(user, id);
    if (row == nullptr) {
      fail_with({ErrorCode::INTERNAL, "", "An index order names a row that is not there."});
      return going = false;
    }
    return going = visit(*completed(*row));
  };
  const keys::Order order = by_head ? keys::Order::head : keys::Order::state;
  const std::string from = keys::by_mark(user, order, to);
  const std::string end = keys::by_mark(user, order, after);
  const auto done = up ? snapshot_->scan_back(Table::objects, from, end, visit_stored)
                       : snapshot_->scan(Table::objects, from, end, visit_stored);
  if (!done) fail_with(done.error());
  visit_block_before(up ? to + 1 : after);
}

void StoreView::changed_since(const UserId& user, Mark after, const std::function<void(const ConversationId&)>& visit) {
  for (const BlockRow& block : record(user).block)
    if (block.row.mark() > after) visit(block.row.conversation);
  for (const keys::Order order : {keys::Order::head, keys::Order::state}) {
    // A key that a row in the block has outdated names a conversation that has changed later still.
    const auto done = snapshot_->scan(Table::objects, keys::by_mark(user, order, kLastMark),
                                      keys::by_mark(user, order, after), [&](std::string_view, std::string_view value) {
                                        visit(ConversationId{value});
                                        return true;
                                      });
    if (!done) fail_with(done.error());
  }
}

std::optional<UserObject> StoreView::object(const UserId& user, const std::string& name) {
  const auto bytes = get(Table::objects, keys::object(user, name));
  if (!bytes) return std::nullopt;
  return take(decode_object(*bytes));
}

void StoreView::objects(const UserId& user, const std::string& from, const std::string& to,
                        const std::function<bool(const UserObject&)>& visit) {
  const auto done = snapshot_->scan(Table::objects, keys::object(user, from), keys::object(user, to),
                                    [&](std::string_view, std::string_view value) {
                                      const auto object = take(decode_object(value));
                                      return object && visit(*object);
                                    });
  if (!done) fail_with(done.error());
}

void StoreView::objects_by_mark(const UserId& user, Mark after, Mark to,
                                const std::function<bool(const UserObject&)>& visit) {
  if (to <= after) return;
  const auto done = snapshot_->scan(Table::objects, keys::object_by_mark(user, to, ""),
                                    keys::object_by_mark(user, after, ""), [&](std::string_view key, std::string_view) {
                                      const auto found = object(user, keys::object_name_in(user, key));
                                      if (!found && !failure_)
                                        fail_with({ErrorCode::INTERNAL, "", "An index order names no object."});
                                      return found && visit(*found);
                                    });
  if (!done) fail_with(done.error());
}

void StoreView::tombstones(std::uint32_t hour, const std::function<bool(const Tombstone&)>& visit) {
  const auto done = snapshot_->scan(Table::objects, keys::tombstone_hour(0), keys::tombstone_hour(hour),
                                    [&](std::string_view key, std::string_view value) {
                                      Tombstone tombstone = keys::tombstone_in(key);
                                      tombstone.mark = Mark(ByteReader(value).varint());
                                      return visit(tombstone);
                                    });
  if (!done) fail_with(done.error());
}

void StoreView::file_expiries(const std::function<bool(const FileExpiry&)>& visit) {
  const auto done = snapshot_->scan(Table::events, keys::file_expiries(), keys::after_prefix(keys::file_expiries()),
                                    [&](std::string_view key, std::string_view value) {
                                      return visit(keys::file_expiry_in(key, ConversationId(std::string(value))));
                                    });
  if (!done) fail_with(done.error());
}

std::optional<DedupRecord> StoreView::remembered(std::span<const DedupKey> keys) {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const DedupKey& key : keys) names.push_back(keys::dedup(key));
  const auto values = snapshot_->get_many(Table::dedup, names);
  if (!values) {
    fail_with(values.error());
    return std::nullopt;
  }
  for (const auto& value : *values)
    if (value) return take(decode_dedup(*value));
  return std::nullopt;
}

std::optional<Device> StoreView::device(const UserId& user, const DeviceId& device) {
  const auto bytes = get(Table::devices, keys::device(user, device));
  if (!bytes) return std::nullopt;
  return take(decode_device(*bytes));
}

std::vector<Device> StoreView::devices(const UserId& user) {
  std::vector<Device> devices;
  const std::string from = keys::devices(user);
  const auto done =
      snapshot_->scan(Table::devices, from, keys::after_prefix(from), [&](std::string_view, std::string_view value) {
        auto device = take(decode_device(value));
        if (device) devices.push_back(std::move(*device));
        return device.has_value();
      });
  if (!done) fail_with(done.error());
  return devices;
}

std::optional<PushTokenOwner> StoreView::push_token_owner(const std::string& token) {
  const auto bytes = get(Table::devices, keys::push_token(token));
  if (!bytes) return std::nullopt;
  return take(decode_push_token_owner(*bytes));
}

Mutations StoreView::mutations(const UserId& user, const DeviceId& device, const InstallId& install) {
  const auto bytes = get(Table::devices, keys::mutations(user, device, install));
  if (!bytes) return {};
  return take(decode_mutations(*bytes)).value_or(Mutations{});
}

std::vector<std::string> StoreView::install_keys(const UserId& user, const DeviceId& device) {
  std::vector<std::string> found;
  const std::string from = keys::installs(user, device);
  const auto done =
      snapshot_->scan(Table::devices, from, keys::after_prefix(from), [&](std::string_view key, std::string_view) {
        found.emplace_back(key);
        return true;
      });
  if (!done) fail_with(done.error());
  return found;
}

Error told_of(const Error& failure) {
  log_error("the store cannot be read", {{"problem", failure.message()}});
  return {failure.code, "", "", failure.retry_after_ms};
}

}  // namespace tidemark
