// What is told in passing: presence and ephemerals. The store is asked who may be watched or addressed; the rest is in
// memory, on the network thread.
#include <algorithm>

#include "core/contacts.h"
#include "core/conversation_id.h"
#include "gateway/limits.h"
#include "gateway/service.h"
#include "tidemark.pb.h"
#include "wire/convert.h"

namespace tidemark {
namespace {

using Frame = std::unique_ptr<pb::ServerFrame>;

/// As the store has them, in the order asked; `known` says who may be watched.
struct Asked {
  std::vector<PresenceState> states;
  std::vector<bool> known;
};

Result<std::vector<UserId>> users_of(const pb::PresenceRequest& request, std::size_t most) {
  if (static_cast<std::size_t>(request.users_size()) > most)
    return fail(ErrorCode::LIMIT_REACHED, "users", "At most " + std::to_string(most) + ".");
  std::vector<UserId> users;
  for (const std::string& user : request.users()) {
    TM_TRY(check_user_id(UserId(user), "users"));
    users.emplace_back(user);
  }
  std::ranges::sort(users);
  users.erase(std::ranges::unique(users).begin(), users.end());
  return users;
}

Result<Ephemeral> ephemeral_from(const Caller& caller, const pb::EphemeralRequest& request, std::int64_t now_ms) {
  if (request.to().empty() == request.conversation_id().empty())
    return fail(ErrorCode::MALFORMED, "to", "Give either to or conversation_id.");
  TM_TRY(check_name(request.type(), Limits::ephemeral_type_bytes_max, "type"));
  if (request.payload().size() > static_cast<std::size_t>(Limits::ephemeral_bytes_max))
    return fail(ErrorCode::TOO_LARGE, "payload", "At most 2048 bytes.");
  if (request.lifetime_ms() > Limits::ephemeral_ms_max)
    return fail(ErrorCode::OUT_OF_RANGE, "lifetime_ms", "At most 10000.");
  Ephemeral made;
  made.conversation = ConversationId(request.conversation_id());
  if (!request.to().empty()) {
    TM_TRY(check_addressee(UserId(request.to()), "to"));
    made.conversation = single_conversation(caller.user, UserId(request.to()));
  }
  made.sender = caller.user;
  made.sender_device = caller.device;
  made.type = request.type();
  made.payload = request.payload();
  made.expires_at_ms = now_ms + (request.lifetime_ms() == 0 ? Limits::ephemeral_ms_max : request.lifetime_ms());
  return made;
}

}  // namespace

void Service::tell_state(const PresenceState& state, pb::PresenceList& out) const {
  pb::PresenceState& told = *out.add_states();
  told.set_user(state.user.value);
  told.set_online(state.online);
  if (limits_.shows_last_seen) told.set_last_seen(state.last_seen_ms);
}

void Service::presence(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  if (!limits_.shows_online) return answer(fail(ErrorCode::FORBIDDEN, "", "Presence is switched off here."));
  auto users = users_of(request.presence(), limits_.watched_max);
  if (!users) return answer(std::unexpected(std::move(users).error()));
  const auto asked = std::make_shared<Asked>();
  read(
      caller,
      [asked, me = caller.user, users = std::move(*users)](StoreView& view) -> Result<Frame> {
        *asked = {};
        for (const UserId& user : users) {
          asked->known.push_back(may_be_watched(view, user, me));
          asked->states.push_back({user, false, asked->known.back() ? last_seen_of(view, user) : 0});
        }
        return std::make_unique<pb::ServerFrame>();
      },
      [this, caller, request, asked, blocks = presence_.blocks(),
       answer = std::move(answer)](Result<Frame> frame) mutable {
        if (!frame) return answer(std::move(frame));
        // Whoever has blocked this one meanwhile is not to be watched.
        if (blocks != presence_.blocks()) return presence(caller, request, std::move(answer));
        std::vector<PresenceState> watched;
        pb::PresenceList& list = *(*frame)->mutable_presence();
        for (std::size_t i = 0; i < asked->states.size(); ++i) {
          PresenceState& state = asked->states[i];
          if (asked->known[i]) watched.push_back(state = presence_.state(state.user, state.last_seen_ms));
          tell_state(state, list);
        }
        if (caller.link != 0) presence_.watch(caller.link, watched, clock_.steady_ms());
        answer(std::move(frame));
      });
}

void Service::ephemeral(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  auto made = ephemeral_from(caller, request.ephemeral(), clock_.steady_ms());
  if (!made) return answer(std::unexpected(std::move(made).error()));
  const auto ephemeral = std::make_shared<const Ephemeral>(std::move(*made));
  const auto members = std::make_shared<std::vector<UserId>>();
  const std::string field = request.ephemeral().to().empty() ? "conversation_id" : "to";
  read(
      caller,
      [members, ephemeral, field](StoreView& view) -> Result<Frame> {
        TM_ASSIGN(*members, members_seen_by(view, ephemeral->sender, ephemeral->conversation, field));
        return std::make_unique<pb::ServerFrame>();
      },
      [this, members, ephemeral, link = caller.link, answer = std::move(answer)](Result<Frame> frame) mutable {
        if (!frame) return answer(std::move(frame));
        if (to_links_) to_links_(*members, ephemeral, link);
        (*frame)->mutable_done();
        answer(std::move(frame));
      });
}

}  // namespace tidemark
