#include "sim/own_book.h"

#include "sim/run_context.h"
#include "store/row_codec.h"

namespace tidemark::sim {
namespace {

const std::string kEnd(1, '\xff');

template <typename T>
T whole(Result<T> value) {
  if (!value) throw Violation("I1", "a row of an index cannot be read: " + value.error().message());
  return std::move(*value);
}

}  // namespace

OwnBook::OwnBook(const Snapshot& snapshot) {
  // Rows outside the block first: those in it are the newer ones.
  auto done = snapshot.scan(Table::objects, "", kEnd, [&](std::string_view key, std::string_view value) {
    const auto length = static_cast<std::size_t>(key.front());
    if (length == 0) return true;  // a tombstone
    const UserId user(key.substr(1, length));
    const char kind = key[1 + length];
    if (kind == 'r') take(user, whole(decode_row(value)));
    if (kind != 'o') return true;
    UserObject object = whole(decode_object(value));
    if (const auto* block = std::get_if<DeletedBlock>(&object.what)) {
      for (const Interval& range : block->deleted.intervals(block->block))
        for (Seq seq = range.after + 1; seq <= range.to; seq = seq + 1)
          states_[{user, block->conversation}].deleted.insert(seq);
    } else if (!object.empty()) {
      std::string name = name_of(object);
      objects_[user].emplace(std::move(name), std::move(object));
    }
    return true;
  });
  if (done)
    done = snapshot.scan(Table::users, "", kEnd, [&](std::string_view key, std::string_view value) {
      const UserId user(key.substr(1));
      for (const BlockRow& block : whole(decode_user(value)).block) take(user, block.row);
      return true;
    });
  if (!done) throw Violation("I1", "the indexes cannot be read");
}

void OwnBook::take(const UserId& user, const UserConversation& row) {
  OwnState& state = states_[{user, row.conversation}];
  state.cleared = row.cleared;
  state.removed = row.removed;
}

const OwnState& OwnBook::of(const UserId& user, const ConversationId& conversation) const {
  static const OwnState none;
  const auto found = states_.find({user, conversation});
  return found == states_.end() ? none : found->second;
}

const std::map<std::string, UserObject>& OwnBook::objects(const UserId& user) const {
  static const std::map<std::string, UserObject> none;
  const auto found = objects_.find(user);
  return found == objects_.end() ? none : found->second;
}

}  // namespace tidemark::sim
