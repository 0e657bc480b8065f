// What sync, conversation sync, history and lists have in common. Internal to the reads of core.
#pragma once

#include <limits>

#include "core/intervals.h"
#include "core/params.h"
#include "core/results.h"
#include "core/view.h"
#include "core/visibility.h"

namespace tidemark {

/// What bounds a page of rows. Pages are counted in messages; entries of other kinds come along, up to `rows`.
struct PageSize {
  std::uint64_t countable = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  bool at_least_one = true;        // the first row is given even when it alone is above `bytes`
  std::uint64_t inline_bytes = 0;  // longer bodies are cut
};

/// The user's row of a conversation he is, or was, in. What is no canonical id is refused as such;
/// CONVERSATION_NOT_FOUND for everything unknown or foreign alike.
Result<const UserConversation*> index_row(View& view, const UserId& user, const ConversationId& id);

/// A page of `limit` messages as clients ask for it: at most four rows a message.
PageSize page_of(const CoreParams& params, std::uint64_t limit, std::uint64_t bytes);

struct Rows {
  std::vector<Entry> rows;  // ascending
  bool more = false;        // the page was full before the ranges were
  Seq too_new;              // the first entry above the greatest round, where one was met
  std::uint64_t bytes = 0;
};

/// The entries in `ranges` from one end on, as the user sees them, until the page is full; going up, until an entry of
/// a round above `round_max`.
Rows read_rows(const Sight& sight, const Intervals& ranges, Direction direction, const PageSize& size,
               std::uint64_t round_max = std::numeric_limits<std::uint64_t>::max());

/// A row as the user sees it: a dead one is a marker with sender and time; a client_msg_id is shown to its sender only;
/// of reactions he is told which are his own, and nothing of one to a message that is dead or not for him to see.
Entry seen_by(const Sight& sight, Entry entry);

/// What a row weighs against a byte budget: its texts.
std::uint64_t bytes_of_row(const Entry& entry);

/// The same of an object of the user's index, with what any costs.
std::uint64_t bytes_of_object(const UserObject& object);

/// The state of a conversation that an answer to this user is as of: the head or, for a former member, the last thing
/// that concerned him. Never tells a former member how the log went on.
Seq as_of(const UserConversation& row, Seq head);

/// `asked` or, when 0, `standard`; OUT_OF_RANGE above `most`.
Result<std::uint32_t> limit_of(std::uint32_t asked, std::uint32_t standard, std::uint32_t most,
                               std::string_view field = "limit");

/// An answer that was made while a read failed is void.
template <typename T>
Result<T> unless_failed(const View& view, Result<T> result) {
  if (view.failure()) return std::unexpected(*view.failure());
  return result;
}

}  // namespace tidemark
