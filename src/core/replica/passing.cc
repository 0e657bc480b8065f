#include "core/replica/passing.h"

#include "core/conversation_id.h"

namespace tidemark::replica {
namespace {
constexpr std::size_t kWatchedUsersMax = 200;
constexpr std::size_t kTypeBytesMax = 32;
constexpr std::size_t kPayloadBytesMax = 2'048;
constexpr std::uint32_t kLifetimeMsMax = 10'000;
}  // namespace

Result<void> PassingThings::watch(std::vector<UserId> users) {
  if (users.size() > kWatchedUsersMax) return fail(ErrorCode::LIMIT_REACHED, "users", "At most 200.");
  for (const UserId& user : users) TM_TRY(check_user_id(user, "users"));
  users_ = std::move(users);
  asked_ = false;
  retry_ = {};
  return {};
}

Result<void> PassingThings::say(Passing passing) {
  if (passing.to.empty() == passing.conversation.empty())
    return fail(ErrorCode::MALFORMED, "to", "Give either a user or a conversation.");
  if (passing.type.empty() || passing.type.size() > kTypeBytesMax)
    return fail(ErrorCode::MALFORMED, "type", "1 to 32 bytes.");
  if (passing.payload.size() > kPayloadBytesMax) return fail(ErrorCode::TOO_LARGE, "payload", "At most 2048 bytes.");
  if (passing.lifetime_ms > kLifetimeMsMax) return fail(ErrorCode::OUT_OF_RANGE, "lifetime_ms", "At most 10000.");
  if (!ws_.welcomed) return fail(ErrorCode::RETRY_LATER, "", "There is no connection.");
  ws_.tell(std::move(passing));
  return {};
}

void PassingThings::set_foreground(bool on) {
  if (background_ != on) return;
  background_ = !on;
  if (ws_.welcomed) ws_.tell(Foreground{on});
}

void PassingThings::on_link_down() {
  asked_ = true;  // until the next welcome
  retry_ = {};
}

void PassingThings::on_states(PresenceStates& states) {
  for (PresenceEvent& state : states.states) ws_.raise(std::move(state));
}

void PassingThings::on_watch_refused(const Error& error) {
  if (!error_info(error.code).retryable) return;
  asked_ = false;
  ws_.fail(retry_, error.retry_after_ms);
}

void PassingThings::work() {
  if (asked_ || !ws_.welcomed || !ws_.ready(retry_)) return;
  asked_ = true;
  Pending pending;
  pending.kind = Pending::Kind::presence;
  ws_.ask(Watch{users_}, std::move(pending));
}

std::optional<std::int64_t> PassingThings::next_work_ms() const {
  std::optional<std::int64_t> next;
  if (!asked_) ws_.sooner(next, retry_.not_before_ms);
  return next;
}

}  // namespace tidemark::replica
