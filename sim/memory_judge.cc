#include "sim/memory_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "gateway/settings.h"

namespace tidemark::sim {
namespace {

template <typename Limit>
void at_most(Limit limit, std::size_t is, const char* what, const std::string& whose) {
  if (is > static_cast<std::size_t>(limit))
    throw Violation("I18", fmt::format("{} holds {} {}, at most {}", whose, is, what, limit));
}

std::size_t bytes_of(const Entry* entry) {
  return entry == nullptr ? 0 : entry->body.text.size() + entry->body.summary.size() + entry->body.data.size();
}

template <typename Pushes>
std::size_t bytes_of(const Pushes& pushes) {
  std::size_t bytes = 0;
  for (const PushRef& push : pushes) bytes += bytes_of(push.item->entry.get());
  return bytes;
}

constexpr std::int64_t kEveryMs =
    1'000;  // the server is looked at as often at least, or it cannot be told who was there

/// About the most that an entry, or an object, takes on the wire beside its body.
constexpr std::size_t kRowBytes = 1'500;

/// What a link may have written that its device has not taken: what fills the window, the answer that was being read,
/// the rounds of pushes that are given without asking the socket, and the answers of changes that were under way.
std::size_t output_max(const Plan& plan) {
  const Limits& limits = plan.config.limits;
  const auto rounds = limits.push_bytes + limits.push_entries * static_cast<std::int64_t>(kRowBytes);
  const auto page = limits.sync_bytes_max + (limits.page_max + limits.sync_max) * static_cast<std::int64_t>(kRowBytes);
  return plan.window_bytes +
         static_cast<std::size_t>((1 + limits.push_again_times) * rounds + page + limits.unanswered_max * 200);
}

}  // namespace

// ------------------------------------------------------------------------------------------------------ the server

void MemoryJudge::check(const WsLink& link, const Connection& connection) const {
  run_.ask(Judge::I18);
  const Limits& limits = run_.plan.config.limits;
  const std::string whose = fmt::format("the link of {}", link.user().value);
  const WsLink::Held held = link.held();
  at_most(limits.unanswered_max + 1, held.requests, "requests", whose);  // and the read that runs
  at_most(limits.unanswered_bytes_max, held.bytes - held.last_bytes, "bytes of requests before the last", whose);
  at_most(output_max(run_.plan), connection.waiting_bytes(), "bytes to be written", whose);
}

void MemoryJudge::check(const SimServer& server) {
  run_.ask(Judge::I18);
  const Limits& limits = run_.plan.config.limits;
  at_most(limits.commit_queue_max, server.queued_commands(), "commands", "the engine's queue");
  std::map<UserId, std::size_t> links;
  server.each_link([&](const WsLink& link, const Connection& connection) {
    check(link, connection);
    if (!link.user().empty()) ++links[link.user()];
  });
  for (const auto& [user, count] : links) at_most(limits.connections_per_user_max, count, "links", user.value);
  check_delivery(server.delivery());
}

void MemoryJudge::on_telling(const Outcome& outcome) {
  const auto logs_in = [](const Answered& each) {
    return each.reply && std::holds_alternative<LoginReply>(*each.reply);
  };
  if (std::ranges::none_of(outcome.answers, logs_in)) return;
  const auto was_here = [&](const UserId& user) {
    if (const auto found = present_ms_.find(user); found != present_ms_.end()) found->second = run_.timeline.now_ms();
  };
  for (const Answered& each : outcome.answers) {
    for (const EndedSession& ended : each.ended) was_here(ended.user);
    const auto* user = each.reply ? std::get_if<UserReply>(&*each.reply) : nullptr;
    if (user != nullptr && user->head.retired()) was_here(user->user);
  }
}

void MemoryJudge::check_delivery(const Delivery& delivery) {
  const Limits& limits = run_.plan.config.limits;
  const std::int64_t now = run_.timeline.now_ms();
  // Nobody has looked for a while: who had a link meanwhile is not known.
  if (now - std::exchange(looked_ms_, now) > kEveryMs) present_ms_.clear();
  std::set<UserId> kept;
  delivery.each_user([&](const UserId& user, const auto& recent, std::size_t links) {
    const std::string whose = "delivery for " + user.value;
    at_most(limits.push_entries, recent.size(), "recent changes", whose);
    at_most(limits.push_bytes, bytes_of(recent), "bytes of recent changes", whose);
    kept.insert(user);
    std::int64_t& present = present_ms_.try_emplace(user, now).first->second;
    if (links > 0) present = now;
    // Looked at and dropped about once a second.
    if (now - present > DeliveryOptions().linger_ms + 2'100)
      throw Violation("I18", user.value + " has no link, and is not forgotten");
  });
  // Who was forgotten and comes again is new.
  std::erase_if(present_ms_, [&](const auto& each) { return !kept.contains(each.first); });
  delivery.each_queue([&](SessionId link, const auto& pending) {
    const std::string whose = fmt::format("the queue of link {}", link);
    at_most(limits.push_entries, pending.size(), "pushes", whose);
    at_most(limits.push_bytes, bytes_of(pending), "bytes of pushes", whose);
  });
}

// ------------------------------------------------------------------------------------------------------- a device

void MemoryJudge::check(const SimDevice& device) const {
  run_.ask(Judge::I18);
  const replica::Options& options = device.options();
  const std::string& whose = device.name().shown;
  at_most(options.held_items_max, device.engine().held_pushes(), "pushes that wait for earlier ones", whose);
  std::size_t bytes = 0;
  device.engine().each_held_push([&](const PushItem& item) { bytes += bytes_of(item.entry.get()); });
  at_most(options.held_bytes_max, bytes, "bytes of such pushes", whose);
  at_most(options.outbox_max, device.store().outbox().size(), "messages in its outbox", whose);
  at_most(options.mutations_max, device.store().mutations().size(), "changes", whose);
  for (const auto& [id, held] : device.engine().conversations()) {
    const std::string of = whose + " of " + id.value;
    // What its user has deleted, or may not see, parts no ranges.
    const std::size_t parts =
        held.hidden.ranges().size() + held.state.deleted.ranges().size() + held.state.lost.ranges().size();
    at_most(options.ranges_max + parts, held.state.coverage.ranges().size(), "ranges of rows", of);
    at_most(options.held_items_max, held.since.changes.size(), "changes kept for a page", of);
    bytes = 0;
    for (const auto& [seq, change] : held.since.changes) bytes += bytes_of(change.get());
    at_most(options.held_bytes_max, bytes, "bytes of such changes", of);
    at_most(options.ranges_max, held.since.given_up.ranges().size(), "ranges given up since it asked", of);
  }
  check_asked(device);
}

/// By what left it and came back to it.
void MemoryJudge::check_asked(const SimDevice& device) const {
  const replica::Options& options = device.options();
  std::array<std::size_t, std::variant_size_v<replica::Operation>> asked{};
  std::set<std::string> waiting;
  for (const auto& [id, item] : device.store().outbox()) waiting.insert(item.client_msg_id);
  for (const auto& [id, question] : device.asked()) {
    // An echo may be faster than the answer: then the message is out, and its answer means nothing any more.
    if (question.client_msg_id.empty() || waiting.contains(question.client_msg_id)) ++asked.at(question.kind);
  }
  const auto of = [&]<typename Kind>(const Kind&) { return asked.at(replica::Operation(Kind{}).index()); };
  const std::string& whose = device.name().shown;
  at_most(1, of(replica::Hello{}), "open hellos", whose);
  at_most(1, of(replica::Sync{}), "open syncs", whose);
  at_most(options.sends_in_flight_max, of(replica::Send{}), "sends under way", whose);
  at_most(options.mutations_max, of(replica::Mutate{}), "changes under way", whose);
  at_most(options.pulls_in_flight_max, of(replica::ConversationSync{}) + of(replica::History{}), "pulls under way",
          whose);
}

}  // namespace tidemark::sim
