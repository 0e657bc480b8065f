#include "sim/own_book.h"

#include "sim/run_context.h"
#include "store/keys.h"
#include "store/row_codec.h"
#include "store/store_view.h"

namespace tidemark::sim {
namespace {

const std::string kEnd(1, '\xff');

template <typename T>
T whole(Result<T> value) {
  if (!value) throw Violation("I1", "a row of an index cannot be read: " + value.error().message());
  return std::move(*value);
}

}  // namespace

OwnBook::Page OwnBook::read(const UserId& user) const {
  Page page;
  const std::string name = keys::user(user);
  // Rows outside the block first: those in it are the newer ones.
  const auto done =
      snapshot_->scan(Table::objects, name, name + kEnd, [&](std::string_view key, std::string_view value) {
        const char kind = key[name.size()];
        if (kind == 'r') take(page, whole(decode_row(value)));
        if (kind != 'o') return true;
        UserObject object = whole(decode_object(value));
        if (const auto* block = std::get_if<DeletedBlock>(&object.what)) {
          for (const Interval& range : block->deleted.intervals(block->block))
            for (Seq seq = range.after + 1; seq <= range.to; seq = seq + 1)
              page.states[block->conversation].deleted.insert(seq);
        } else if (!object.empty()) {
          std::string called = name_of(object);
          page.objects.emplace(std::move(called), std::move(object));
        }
        return true;
      });
  if (!done) throw Violation("I1", "the indexes cannot be read");
  if (const auto head = whole(snapshot_->get(Table::users, name)))
    for (const BlockRow& block : whole(decode_user(*head)).block) take(page, block.row);
  return page;
}

void OwnBook::take(Page& page, const UserConversation& row) const {
  OwnState& state = page.states[row.conversation];
  state.read = row.read;
  state.cleared = row.cleared;
  // To a large group it comes back by its log.
  const bool back = row.large && StoreView(snapshot_).line(row.conversation).top > row.cleared;
  state.removed = row.removed && !back;
}

const OwnBook::Page& OwnBook::page_of(const UserId& user) const {
  static const Page none;
  if (!snapshot_) return none;
  const auto known = pages_.find(user);
  return known != pages_.end() ? known->second : pages_.emplace(user, read(user)).first->second;
}

const OwnState& OwnBook::of(const UserId& user, const ConversationId& conversation) const {
  static const OwnState none;
  const Page& page = page_of(user);
  const auto found = page.states.find(conversation);
  return found == page.states.end() ? none : found->second;
}

const std::map<std::string, UserObject>& OwnBook::objects(const UserId& user) const {
  return page_of(user).objects;
}

}  // namespace tidemark::sim
