#include "core/replica/large_groups.h"

#include <algorithm>
#include <utility>

#include "core/conversation_id.h"
#include "core/large_group.h"
#include "core/replica/objects.h"

namespace tidemark::replica {
namespace {

bool counts(const ConversationState& state) {
  return state.object.large && !state.object.removed && !state.stale;
}

}  // namespace

std::uint64_t LargeGroups::digest() const {
  std::uint64_t digest = 0;
  for (const auto& [id, held] : ws_.conversations)
    if (counts(held.state)) digest += digest_of_head(id, head_of(held.state.object));
  return digest;
}

std::map<std::uint64_t, KnownHead> LargeGroups::vector() const {
  std::map<std::uint64_t, KnownHead> heads;
  for (const auto& [id, held] : ws_.conversations) {
    const auto parsed = counts(held.state) ? parse_conversation(id) : fail(ErrorCode::MALFORMED, "");
    if (parsed) heads[parsed->group] = {id, head_of(held.state.object)};
  }
  return heads;
}

// -------------------------------------------------------------------------------------------------- what comes

void LargeGroups::on_welcome(const Welcome& welcome) {
  comparing_ = welcome.heads_wanted;
}

void LargeGroups::on_link_down() {
  comparing_ = asking_ = false;
  compared_to_ = {};
  wanted_.clear();
  guesses_.clear();
  focused_.clear();
  retry_ = {};
}

void LargeGroups::on_heartbeat(const HeartbeatAnswer& answer) {
  comparing_ = comparing_ || answer.heads_wanted;
}

void LargeGroups::on_notice(const HeadNotice& notice) {
  const std::int64_t spread = std::max<std::int64_t>(notice.spread_ms, 0);
  const auto wait = static_cast<std::int64_t>(ws_.dice.next() % static_cast<std::uint64_t>(spread + 1));
  for (const KnownHead& head : notice.heads) {
    const Held* held = ws_.find(head.conversation);
    const bool known = held != nullptr && counts(held->state) && head_of(held->state.object) >= head.seq;
    if (!known) wanted_.try_emplace(head.conversation, ws_.now.steady_ms + wait);
  }
}

void LargeGroups::on_heads(const Pending& asked, const HeadsPage& page) {
  const bool focus = asked.kind == Pending::Kind::focus;
  if (!focus) asking_ = false;
  retry_ = {};
  for (const Change& change : page.changes) conversations_.take_summary(change);
  if (focus) return;
  if (asked.key == 0) return end_guesses(page.changes);  // about single ones
  compared_to_ = page.next_after.empty() ? asked.conversation : page.next_after;
  comparing_ = !compared_to_.empty();
}

/// Of what is not told there is nothing to know. What was told as of an older mark is asked once more.
void LargeGroups::end_guesses(const std::vector<Change>& told) {
  for (const ConversationId& id : std::exchange(guesses_, {}))
    if (std::ranges::find(told, id, &Change::conversation) == told.end()) conversations_.end_guess(id);
}

void LargeGroups::on_refused(const Pending& asked, const Error& error) {
  if (asked.kind == Pending::Kind::focus) return;  // its groups are told of like all others
  asking_ = false;
  if (!error_info(error.code).retryable) {
    end_guesses({});
    comparing_ = false;  // until the next heartbeat
    compared_to_ = {};
    return;
  }
  ws_.fail(retry_, error.retry_after_ms);
}

// ---------------------------------------------------------------------------------------------------- asking

void LargeGroups::work() {
  for (const ConversationId& id : conversations_.take_unsure()) wanted_.try_emplace(id, ws_.now.steady_ms);
  tell_focus();
  if (asking_ || !ws_.ready(retry_)) return;
  if (comparing_) return compare();
  ask_single();
}

/// The next part of the vector: at most heads_max groups; the last part goes to the end.
void LargeGroups::compare() {
  const auto done = compared_to_.empty() ? Result<ParsedConversation>() : parse_conversation(compared_to_);
  Heads question;
  question.after = compared_to_;
  for (const auto& [number, head] : vector()) {
    if (!compared_to_.empty() && done && number <= done->group) continue;
    if (question.known.size() == ws_.options.heads_max) {
      question.through = question.known.back().conversation;
      break;
    }
    question.known.push_back(head);
  }
  Pending pending;
  pending.kind = Pending::Kind::heads;
  pending.key = 1;
  pending.conversation = question.through;
  asking_ = true;
  ws_.ask(std::move(question), std::move(pending));
}

void LargeGroups::ask_single() {
  Heads question;
  question.only = true;
  for (auto it = wanted_.begin(); it != wanted_.end();) {
    const bool due = it->second <= ws_.now.steady_ms && question.known.size() < ws_.options.heads_max;
    if (!due) {
      ++it;
      continue;
    }
    question.known.push_back({it->first, Seq()});
    it = wanted_.erase(it);
  }
  for (const ConversationId& id : conversations_.guessed()) {
    if (question.known.size() == ws_.options.heads_max) break;
    if (std::ranges::find(question.known, id, &KnownHead::conversation) == question.known.end())
      question.known.push_back({id, Seq()});
    guesses_.insert(id);
  }
  if (question.known.empty()) return;
  Pending pending;
  pending.kind = Pending::Kind::heads;
  asking_ = true;
  ws_.ask(std::move(question), std::move(pending));
}

void LargeGroups::tell_focus() {
  std::set<ConversationId> wanted;
  for (const ConversationId& id : conversations_.opened())
    if (const Held* held = ws_.find(id); held != nullptr && held->state.object.large) wanted.insert(id);
  if (wanted == focused_) return;
  focused_ = wanted;
  Pending pending;
  pending.kind = Pending::Kind::focus;
  ws_.ask(Focus{{wanted.begin(), wanted.end()}}, std::move(pending));
}

std::optional<std::int64_t> LargeGroups::next_work_ms() const {
  std::optional<std::int64_t> next;
  if (asking_) return next;
  if (comparing_ || !conversations_.guessed().empty()) ws_.sooner(next, retry_.not_before_ms);
  for (const auto& [id, not_before_ms] : wanted_) ws_.sooner(next, std::max(not_before_ms, retry_.not_before_ms));
  return next;
}

}  // namespace tidemark::replica
