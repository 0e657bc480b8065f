#include "gateway/links.h"

#include <algorithm>

#include "core/session.h"
#include "gateway/settings.h"
#include "gateway/ws_link.h"
#include "tidemark.pb.h"

namespace tidemark {
namespace {
constexpr std::int64_t kSeenEveryMs = 5'000;
constexpr std::size_t kEphemeralsHeld = 32;  // for one user
}  // namespace

Links::Links(const Config& config, const Clock& clock, Service& service, Metrics& metrics, Authenticate authenticate)
    : config_(config),
      clock_(clock),
      service_(service),
      metrics_(metrics),
      authenticate_(std::move(authenticate)),
      welcome_(std::make_unique<pb::ServerFrame>(welcome_template(config))),
      delivery_(*this, delivery_options(config)),
      ephemerals_(kEphemeralsHeld),
      login_rate_(login_rate(config), static_cast<std::size_t>(config.limits.rate_users_max)),
      device_login_rate_(login_rate(config), static_cast<std::size_t>(config.limits.rate_users_max)),
      kick_brake_(static_cast<std::size_t>(config.limits.rate_users_max)),
      seen_noted_ms_(clock.steady_ms()) {
  service_.send_ephemerals_to([this](const std::vector<UserId>& users, const Ephemerals::Shared& ephemeral,
                                     SessionId sender) { take_ephemeral(users, ephemeral, sender); });
}

Links::~Links() = default;

std::unique_ptr<WsLink> Links::make(LinkSocket& socket, Dialect dialect, std::string bearer) {
  const auto frame_max = static_cast<std::uint32_t>(limits().frame_bytes_max);
  const WebSocketLimits frames{frame_max, frame_max, static_cast<std::uint32_t>(limits().frame_fragments_max)};
  auto made = std::make_unique<WsLink>(socket, *this, dialect, frames, std::move(bearer));
  links_[made->id()] = made.get();
  return made;
}

void Links::publish(Outcome outcome) {
  // From here on no answer shows what was taken back.
  for (const Notice& notice : outcome.notices)
    if (notice.dead) service_.recalled(notice.conversation);
  delivery_.forget(outcome.notices);
  // Answers first: a login among them has to stand before what comes behind it is delivered.
  std::vector<UserId> retired;
  for (auto& [done, result, ended] : outcome.answers) {
    // And whoever makes room is gone before the newcomer is welcomed.
    for (const EndedSession& session : ended) end_session(session);
    const auto* user = result ? std::get_if<UserReply>(&*result) : nullptr;
    if (user != nullptr && user->head.retired()) retired.push_back(user->user);
    done(std::move(result));
  }
  delivery_.publish(outcome.notices, now_ms());
  note_reads(outcome.notices);
  note_blocks(outcome.notices);
  for (const UserId& user : retired) end_all_of(user);
}

bool Links::online(const UserId& user) const {
  const auto found = links_of_.find(user);
  return found != links_of_.end() && std::ranges::any_of(found->second, &WsLink::welcomed);
}

Mark Links::acknowledged(const UserId& user) const {
  Mark most;
  if (const auto found = links_of_.find(user); found != links_of_.end())
    for (const WsLink* link : found->second) most = std::max(most, delivery_.acknowledged(link->id()));
  return most;
}

void Links::end_all_of(const UserId& user) {
  const auto found = links_of_.find(user);
  if (found == links_of_.end()) return;
  const auto links = found->second;  // those that end leave the list
  for (WsLink* link : links)
    link->kick("USER_ID_RETIRED", error_info(ErrorCode::USER_ID_RETIRED).english, WsLink::Reconnect::no);
}

void Links::tick() {
  const std::int64_t now = now_ms();
  delivery_.tick(now);
  for_each([&](WsLink& link) { end_if_due(link, now); });
  note_seen(now);
  ephemerals_.tick(now);
  tell_presence(now);
  tell_receipts(now);
  kick_brake_.tick(now);
}

bool Links::idle(const WsLink& link) const {
  return !link.blocked() && !delivery_.waiting(link.id());
}

void Links::tell_presence(std::int64_t now) {
  for (const SessionId session : service_.presence().due(now)) {
    WsLink* link = find(session);
    // Who takes nothing now is told later how things stand then.
    if (link == nullptr || !idle(*link)) continue;
    if (const auto states = service_.presence().take(session, now); !states.empty()) link->tell_presence(states);
  }
}

void Links::note_reads(const std::vector<Notice>& notices) {
  ReceiptWatch& watch = service_.receipt_watch();
  if (watch.empty()) return;
  for (const Notice& notice : notices) {
    // Whoever begins to tell how far he has read.
    for (const Receiver& receiver : notice.receivers)
      if (receiver.objects && std::ranges::any_of(*receiver.objects, [](const UserObject& object) {
            const auto* setting = std::get_if<Setting>(&object.what);
            return setting != nullptr && setting->name == kReceiptsSetting;
          }))
        watch.acknowledged(receiver.user);
    // What changes a user's state alone may have moved his read pointer.
    if (!notice.entry)
      for (const Receiver& receiver : notice.receivers) watch.read(notice.conversation, receiver.user);
    // Whoever comes later is looked at too.
    if (notice.entry && notice.entry->member && notice.entry->member->action == MemberAction::joined) {
      watch.know(notice.conversation, notice.entry->member->users);
      for (const UserId& user : notice.entry->member->users) watch.read(notice.conversation, user);
    }
  }
}

void Links::note_blocks(const std::vector<Notice>& notices) {
  for (const Notice& notice : notices)
    for (const Receiver& receiver : notice.receivers) {
      if (!receiver.objects) continue;
      for (const UserObject& object : *receiver.objects)
        if (const auto* other = std::get_if<BlockedUser>(&object.what))
          service_.presence().hide(receiver.user, other->user, other->blocked);
    }
}

void Links::tell_receipts(std::int64_t now) {
  ReceiptWatch& watch = service_.receipt_watch();
  for (const ReceiptWatch::Due& due : watch.take_due(now)) {
    const WsLink* link = find(due.link);
    if (link == nullptr) continue;
    // Who takes nothing now is told later how things stand then.
    if (!idle(*link)) {
      watch.put_back(due);
      continue;
    }
    service_.changed_receipts(link->caller(), due, [this, due](Result<std::unique_ptr<pb::ServerFrame>> frame) {
      WsLink* told = find(due.link);
      if (told == nullptr || !told->welcomed()) return;
      if (!frame && error_info(frame.error().code).retryable) return service_.receipt_watch().put_back(due);
      if (!frame || (*frame)->receipts().off()) service_.receipt_watch().unwatch(due.link, due.conversation);
      if (frame && ((*frame)->receipts().off() || !(*frame)->receipts().receipts().empty())) told->tell(**frame);
    });
  }
}

void Links::take_ephemeral(const std::vector<UserId>& users, const Ephemerals::Shared& ephemeral, SessionId sender) {
  for (const UserId& user : users) {
    const auto found = links_of_.find(user);
    if (found == links_of_.end()) continue;  // nobody is there: it is gone
    ephemerals_.hold(user, ephemeral);
    for (WsLink* link : found->second)
      if (link->welcomed() && link->foreground() && link->id() != sender && idle(*link))
        link->tell_ephemeral(*ephemeral);
  }
}

void Links::tell_ephemerals(WsLink& link) {
  for (const Ephemerals::Shared& each : ephemerals_.alive(link.user(), now_ms())) {
    const bool own = each->sender == link.user() && each->sender_device == link.device();
    if (!own && idle(link)) link.tell_ephemeral(*each);
  }
}

void Links::shut_down() {
  for_each([](WsLink& link) {
    link.kick("SHUTDOWN", "The server stops; connect again in a moment.", WsLink::Reconnect::yes);
  });
}

void Links::end_if_due(WsLink& link, std::int64_t now) {
  if (!link.welcomed()) {
    if (now - link.since_ms() > limits().handshake_timeout_ms) link.close();
    return;
  }
  if (now - link.last_input_ms() >= limits().heartbeat_ms * limits().heartbeats_missed) return link.close();
  if (link.token_expires_ms() + config_.auth.leeway_s * kSecondMs <= wall_ms())
    link.kick("TOKEN_EXPIRED", "The token has expired; connect again with a new one.", WsLink::Reconnect::yes);
}

void Links::note_seen(std::int64_t now) {
  if (now - seen_noted_ms_ < kSeenEveryMs) return;
  seen_noted_ms_ = now;
  for (const auto& [id, link] : links_)
    if (auto seen = link->take_seen()) note(id, std::move(*seen));
}

void Links::note_last_seen(WsLink& link) {
  if (auto seen = link.take_last_seen()) note(link.id(), std::move(*seen));
}

void Links::note(SessionId from, DeviceSeenCommand seen) {
  const UserId user = seen.user;
  service_.engine().submit(std::move(seen), [this, from, user](const Result<Reply>& reply) {
    if (reply) return service_.receipt_watch().acknowledged(user);
    WsLink* still = find(from);
    if (still == nullptr) return;
    // It was welcomed while nothing could be stored: nothing that it tells would ever be noted.
    if (reply.error().code == ErrorCode::SESSION_FENCED) return still->kick_fenced();
    still->note_again();
  });
}

void Links::count_frame(std::size_t bytes) {
  ++metrics_.frames_in;
  metrics_.bytes_in += bytes;
}

Result<void> Links::admit_login(const UserId& user, const DeviceId& device) {
  // A device that asks without end is stopped before it can use up what is its user's.
  const std::string own = user.value + '\0' + device.value;
  if (const std::uint32_t wait_ms = device_login_rate_.take(own, now_ms()); wait_ms > 0)
    return fail(ErrorCode::RATE_LIMITED, "hello", "Too many logins of this device.", wait_ms);
  if (const std::uint32_t wait_ms = kick_brake_.come_back(user, device, now_ms()); wait_ms > 0)
    return fail(ErrorCode::RATE_LIMITED, "hello", "This device and others push each other out.", wait_ms);
  if (const std::uint32_t wait_ms = login_rate_.take(user.value, now_ms()); wait_ms > 0)
    return fail(ErrorCode::RATE_LIMITED, "hello", "Too many logins of this user.", wait_ms);
  const auto found = links_of_.find(user);
  if (found != links_of_.end() && found->second.size() >= static_cast<std::size_t>(limits().connections_per_user_max))
    return fail(ErrorCode::TOO_MANY_CONNECTIONS, "hello", "This user has too many links.", 5'000);
  return {};
}

void Links::joined(WsLink& link) {
  links_of_[link.user()].push_back(&link);
}

void Links::left(const WsLink& link) {
  links_.erase(link.id());
  service_.receipt_watch().down(link.id());
  // A link that was not admitted has no user.
  const auto found = links_of_.find(link.user());
  if (found == links_of_.end()) return;
  std::erase(found->second, &link);
  if (found->second.empty()) links_of_.erase(found);
}

namespace {

struct KickText {
  std::string_view code;
  std::string_view message;
};

KickText kick_text(SessionEnd end) {
  if (end == SessionEnd::replaced) return {kReplaced, "This device has a newer link."};
  const ErrorInfo& info = error_info(code_of(end));
  return {info.name, info.english};
}

}  // namespace

void Links::end_session(const EndedSession& ended) {
  if (ended.end == SessionEnd::other_device) kick_brake_.displaced(ended.user, ended.device, now_ms());
  const auto found = links_of_.find(ended.user);
  if (found == links_of_.end()) return;
  const auto links = found->second;  // those that end leave the list
  for (WsLink* link : links) {
    if (!link->welcomed() || link->device() != ended.device || link->generation() != ended.generation) continue;
    ++metrics_.kicks;
    const KickText text = kick_text(ended.end);
    link->kick(text.code, text.message, WsLink::Reconnect::no);
  }
}

void Links::push(SessionId session, std::span<const PushRef> items) {
  metrics_.pushed_entries += items.size();
  if (WsLink* link = find(session)) link->push(items);
}

void Links::hint(SessionId session, Mark head) {
  ++metrics_.hints;
  if (WsLink* link = find(session)) link->hint(head);
}

void Links::heads(SessionId session, std::span<const KnownHead> heads, std::int64_t spread_ms) {
  ++metrics_.head_notices;
  if (WsLink* link = find(session)) link->heads(heads, spread_ms);
}

void Links::end(SessionId session, LinkEnd reason) {
  WsLink* link = find(session);
  if (link == nullptr) return;
  ++metrics_.kicks;
  if (reason == LinkEnd::replaced) {
    const KickText text = kick_text(SessionEnd::replaced);
    return link->kick(text.code, text.message, WsLink::Reconnect::no);
  }
  ++metrics_.closed_unacknowledged;
  link->kick("UNACKNOWLEDGED", "Pushes were not acknowledged; connect again.", WsLink::Reconnect::yes);
}

bool Links::blocked(SessionId session) const {
  const WsLink* link = find(session);
  return link != nullptr && link->blocked();
}

WsLink* Links::find(SessionId session) const {
  const auto found = links_.find(session);
  return found == links_.end() ? nullptr : found->second;
}

template <typename Act>
void Links::for_each(Act act) {
  std::vector<SessionId> ids;
  ids.reserve(links_.size());
  for (const auto& [id, link] : links_) ids.push_back(id);
  for (const SessionId id : ids)
    if (WsLink* link = find(id)) act(*link);
}

}  // namespace tidemark
