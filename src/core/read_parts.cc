#include "core/read_parts.h"

#include <algorithm>
#include <string>

#include "core/body.h"
#include "core/conversation_id.h"
#include "core/slim.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kRowsReserved = 64;  // an entry is large: moving a few of them costs more than their room

void mark_own(const Sight& sight, Entry& message) {
  const auto own = sight.view.reactions_of(sight.row.conversation, message.seq, sight.user);
  for (Reaction& reaction : message.reactions) reaction.mine = std::ranges::find(own, reaction.name) != own.end();
}

bool shows_reaction(const Sight& sight, Seq target) {
  if (!visible(sight, target)) return false;
  const std::optional<Entry> message = sight.view.entry(sight.row.conversation, target);
  return message && !message->dead();
}

}  // namespace

PageSize page_of(const CoreParams& params, std::uint64_t limit, std::uint64_t bytes) {
  return {limit, 4 * limit, bytes, true, params.inline_bytes};
}

std::uint64_t bytes_of_object(const UserObject& object) {
  constexpr std::uint64_t kAboutBytes = 160;
  if (const auto* draft = std::get_if<SavedDraft>(&object.what)) return kAboutBytes + body_size(draft->body);
  if (const auto* setting = std::get_if<Setting>(&object.what)) return kAboutBytes + setting->value.size();
  return kAboutBytes;
}

std::uint64_t bytes_of_row(const Entry& entry) {
  const Body& body = entry.body;
  std::uint64_t bytes = body.type.size() + body.text.size() + body.summary.size() + body.data.size();
  bytes += body.encrypted.size();
  for (const Attachment& file : body.attachments) bytes += file.url.size() + file.mime.size() + file.hash.size();
  for (const Reaction& reaction : entry.reactions) bytes += reaction.name.size();
  return bytes;
}

Entry seen_by(const Sight& sight, Entry entry) {
  if (entry.sender != sight.user) entry.client_msg_id.clear();
  if (entry.dead()) erase_content(entry);
  if (!entry.reactions.empty()) mark_own(sight, entry);
  if (entry.reaction && !shows_reaction(sight, entry.target)) entry.reaction.reset();
  return entry;
}

Rows read_rows(const Sight& sight, const Intervals& ranges, Direction direction, const PageSize& size,
               std::uint64_t round_max) {
  Rows page;
  std::uint64_t room = 0;
  for (const Interval& range : ranges) room += range.to - range.after;
  page.rows.reserve(std::min({room, size.rows, kRowsReserved}));
  std::uint64_t countable = 0;
  const auto take = [&](const Entry& entry) {
    if (direction == Direction::up && entry.round > round_max) {
      page.too_new = entry.seq;
      return false;
    }
    if (countable >= size.countable || page.rows.size() >= size.rows) {
      page.more = true;
      return false;
    }
    Entry row = slim(seen_by(sight, entry), size.inline_bytes);
    const std::uint64_t bytes = bytes_of_row(row);
    const bool free_of_charge = size.at_least_one && page.rows.empty();
    if (page.bytes + bytes > size.bytes && !free_of_charge) {
      page.more = true;
      return false;
    }
    page.bytes += bytes;
    countable += row.countable() ? 1 : 0;
    page.rows.push_back(std::move(row));
    return true;
  };
  for (std::size_t i = 0; i < ranges.size() && !page.more && !page.too_new; ++i) {
    const Interval& range = direction == Direction::up ? ranges[i] : ranges[ranges.size() - 1 - i];
    sight.view.entries(sight.row.conversation, range.after, range.to, direction, take);
  }
  if (direction == Direction::down) std::ranges::reverse(page.rows);
  return page;
}

Seq as_of(const UserConversation& row, Seq head) {
  if (row.in_period()) return head;
  return std::max(upper_bound_of(row, head), std::min(row.touch_seq, head));
}

Result<std::uint32_t> limit_of(std::uint32_t asked, std::uint32_t standard, std::uint32_t most,
                               std::string_view field) {
  if (asked > most) return fail(ErrorCode::OUT_OF_RANGE, std::string(field), "1 to " + std::to_string(most) + ".");
  return asked == 0 ? standard : asked;
}

Result<const UserConversation*> index_row(View& view, const UserId& user, const ConversationId& id) {
  TM_TRY(parse_conversation(id));
  const UserConversation* row = view.user_conversation(user, id);
  if (row == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, "conversation_id");
  return row;
}

}  // namespace tidemark
