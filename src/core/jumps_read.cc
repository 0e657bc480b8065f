// What a restore took from the logs, for devices that hold rows from before it (design, section 2, "Epoch").
#include <algorithm>

#include "core/conversation_id.h"
#include "core/decide.h"
#include "core/read_parts.h"
#include "core/reads.h"
#include "core/visibility.h"

namespace tidemark {
namespace {

constexpr std::size_t kLinesMax = CoreParams{}.jump_lines_max;

Result<LineJumps> jumps_of(View& view, const UserId& user, const HeldLine& held) {
  LineJumps line{held.conversation, false, {}};
  const auto row = index_row(view, user, held.conversation);
  if (!row && row.error().code != ErrorCode::CONVERSATION_NOT_FOUND) return std::unexpected(row.error());
  const Conversation* conversation = view.conversation(held.conversation);
  if (!row || conversation == nullptr) return line;
  line.known = true;
  const std::uint32_t now = view.epoch().number;
  const LineHead head = view.line(held.conversation);
  std::vector<Jump> jumps = conversation->jumps;
  if (head.epoch < now) jumps.push_back({now, head.seq, Seq(next_number(head.seq.value, head.epoch, now))});
  for (Jump jump : jumps) {
    if (jump.epoch <= held.epoch) continue;
    // A former member is not told how the log went on after he left.
    jump.cut = std::min(jump.cut, upper_bound_of(**row, jump.cut));
    line.jumps.push_back(jump);
  }
  return line;
}

Result<JumpsAnswer> jumps_answer(View& view, const UserId& user, const std::vector<HeldLine>& lines) {
  if (lines.size() > kLinesMax)
    return fail(ErrorCode::LIMIT_REACHED, "lines", "At most " + std::to_string(kLinesMax) + ".");
  JumpsAnswer answer{view.epoch().number, {}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    TM_TRY(parse_conversation(lines[i].conversation, "lines[" + std::to_string(i) + "].conversation_id"));
    TM_ASSIGN(LineJumps line, jumps_of(view, user, lines[i]));
    answer.lines.push_back(std::move(line));
  }
  return answer;
}

}  // namespace

Result<JumpsAnswer> read_jumps(View& view, const UserId& user, const std::vector<HeldLine>& lines) {
  return unless_failed(view, jumps_answer(view, user, lines));
}

}  // namespace tidemark
