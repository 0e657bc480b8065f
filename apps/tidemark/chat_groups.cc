// The chat's commands about groups.
#include <fmt/core.h>

#include <charconv>
#include <map>
#include <optional>

#include "apps/tidemark/chat_session.h"
#include "base/ports.h"
#include "core/conversation_id.h"
#include "core/uuid7.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

constexpr std::int64_t kMuteMinutes = 60;

/// How many words a command takes behind its own, and how it is used.
struct Usage {
  std::size_t least = 0;
  std::size_t most = 0;
  const char* example = "";
};

const std::map<std::string, Usage, std::less<>> kOfGroup = {
    {"/add", {1, 200, "/add dave"}},
    {"/kick", {1, 1, "/kick dave"}},
    {"/leave", {0, 0, "/leave"}},
    {"/members", {0, 0, "/members"}},
    {"/role", {2, 2, "/role dave admin"}},
    {"/silence", {1, 2, "/silence dave 30"}},
    {"/unsilence", {1, 1, "/unsilence dave"}},
    {"/title", {1, 1, "/title \"Tuesday lunch\""}},
    {"/policy", {2, 2, "/policy send admins"}},
    {"/dissolve", {0, 0, "/dissolve"}},
};

std::string json_of(std::string_view text) {
  std::string out;
  write_json_string(text, out);
  return out;
}

std::string json_list(const std::vector<std::string>& words, std::size_t from) {
  std::string out = "[";
  for (std::size_t i = from; i < words.size(); ++i) {
    if (i > from) out += ',';
    write_json_string(words[i], out);
  }
  return out + "]";
}

std::optional<std::int64_t> number_of(const std::string& word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1) return std::nullopt;
  return number;
}

/// The change that "/policy WHAT WHO" asks for; nothing when it cannot be understood.
std::optional<std::string> policy_body(const std::string& what, const std::string& who) {
  if (what == "add" || what == "send") return fmt::format("{{\"who_may_{}\":{}}}", what, json_of(who));
  if (what == "join") return fmt::format("{{\"join\":{}}}", json_of(who));
  if (what != "history") return std::nullopt;
  const auto last = number_of(who);
  if (!last) return fmt::format("{{\"history_for_newcomers\":{}}}", json_of(who));
  return fmt::format("{{\"history_for_newcomers\":\"last\",\"history_last\":{}}}", *last);
}

std::string member_text(const v1::GroupMember& member) {
  std::string line = member.user();
  if (member.role() != v1::ROLE_MEMBER) line += member.role() == v1::ROLE_OWNER ? " (owner)" : " (admin)";
  if (member.muted_until() > SystemClock().wall_ms()) line += " (muted)";
  return line;
}

}  // namespace

bool ChatSession::is_of_group(std::string_view verb) {
  return kOfGroup.contains(verb);
}

CommandOutcome ChatSession::create_group(const std::vector<std::string>& words) {
  if (words.size() < 3) return {.notice = "/group takes a title and users: /group \"Tuesday lunch\" bob carol"};
  SystemRandom random;
  const SystemClock clock;
  Uuid7Random dice;
  random.fill(dice);
  std::string body = "{\"title\":";
  write_json_string(words[1], body);
  body += ",\"members\":" + json_list(words, 2) + "}";
  std::string answer;
  CommandOutcome outcome;
  outcome.notice = call(
      {.method = "POST", .target = "/v1/groups", .body = body, .idempotency_key = make_uuid_v7(clock.wall_ms(), dice)},
      "made the group " + words[1], &answer);
  v1::Group group;
  if (!answer.empty() && read_answer(answer, group)) outcome.open = ConversationId(group.conversation_id());
  return outcome;
}

CommandOutcome ChatSession::join_group(const std::vector<std::string>& words) {
  if (words.size() != 2) return {.notice = "/join takes a group: /join group_7"};
  std::string answer;
  CommandOutcome outcome;
  outcome.notice = call({.method = "POST", .target = "/v1/groups/" + percent_encode(words[1]) + "/join"},
                        "joined " + words[1], &answer);
  if (!answer.empty()) outcome.open = ConversationId(words[1]);
  return outcome;
}

CommandOutcome ChatSession::of_group(const std::vector<std::string>& words, const ConversationId& open) {
  const std::string& verb = words.front();
  const Usage& usage = kOfGroup.find(verb)->second;
  const auto parsed = parse_conversation(open);
  if (!parsed || parsed->kind != ConversationKind::group) return {.notice = fmt::format("{} is for groups", verb)};
  if (words.size() - 1 < usage.least || words.size() - 1 > usage.most)
    return {.notice = fmt::format("{} goes so: {}", verb, usage.example)};
  const std::string group = "/v1/groups/" + percent_encode(open.value);
  if (verb == "/members") return {.notice = members_of(group)};
  // Who comes must not see, and who leaves must not lose, what was typed before.
  if (!wait_until_sent(open))
    return {.notice = fmt::format("messages are still on their way; {} again when they are sent", verb)};
  return {.notice = change_of_group(words, group)};
}

std::string ChatSession::members_of(const std::string& group) const {
  std::string answer;
  std::string trouble = call({.target = group}, "", &answer);
  v1::Group found;
  if (answer.empty() || !read_answer(answer, found)) return trouble;
  std::string all;
  for (const v1::GroupMember& member : found.members()) all += (all.empty() ? "" : ", ") + member_text(member);
  const std::uint64_t others =
      found.member_count() - std::min<std::uint64_t>(found.member_count(), found.members_size());
  if (found.large() && others > 0) all += fmt::format(" and {} more", others);
  return found.dissolved() ? "this group has ended; in it were " + all : all;
}

std::string ChatSession::change_of_group(const std::vector<std::string>& words, const std::string& group) const {
  const std::string& verb = words.front();
  const std::string members = group + "/members";
  if (verb == "/dissolve") return call({.method = "DELETE", .target = group}, "the group has ended");
  if (verb == "/leave")
    return call({.method = "DELETE", .target = members + "/" + percent_encode(user_.value)}, "you left");
  if (verb == "/add")
    return call({.method = "POST", .target = members, .body = "{\"users\":" + json_list(words, 1) + "}"},
                fmt::format("added {}", words.size() == 2 ? words[1] : fmt::format("{} people", words.size() - 1)));
  if (verb == "/title")
    return call({.method = "PATCH", .target = group, .body = "{\"title\":" + json_of(words[1]) + "}"},
                "its name is " + words[1]);
  if (verb == "/policy") {
    const auto body = policy_body(words[1], words[2]);
    if (!body) return "/policy is about add, send, join or history";
    return call({.method = "PATCH", .target = group, .body = *body}, fmt::format("{}: {}", words[1], words[2]));
  }
  const std::string member = members + "/" + percent_encode(words[1]);
  if (verb == "/kick") return call({.method = "DELETE", .target = member}, "removed " + words[1]);
  if (verb == "/role")
    return call({.method = "PUT", .target = member + "/role", .body = "{\"role\":" + json_of(words[2]) + "}"},
                fmt::format("{} is {} now", words[1], words[2]));
  const auto minutes = words.size() == 3 ? number_of(words[2]) : kMuteMinutes;
  if (!minutes) return "/silence takes minutes: /silence dave 30";
  const std::int64_t until = verb == "/silence" ? SystemClock().wall_ms() + *minutes * 60'000 : 0;
  return call({.method = "PUT", .target = member + "/mute", .body = fmt::format("{{\"until\":{}}}", until)},
              (verb == "/silence" ? "silenced " : "unsilenced ") + words[1]);
}

}  // namespace tidemark
