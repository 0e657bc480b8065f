#include "apps/tidemark/chat_session.h"

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ranges>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/ports.h"
#include "core/conversation_id.h"

namespace tidemark {
namespace {

constexpr int kCallTimeoutS = 5;  // the screen stands still so long at most
constexpr std::int64_t kSentWithinMs = 5'000;

const std::vector<std::string> kHelp = {
    "/to USER                 chat with somebody",
    "/group TITLE USER ...    make a group; a title of several words goes in \"quotes\"",
    "/join GROUP              join a group that is open: /join group_7",
    "/add USER ...            add people to this group",
    "/kick USER               take somebody out of it",
    "/leave                   leave it",
    "/members                 who is in it",
    "/role USER ROLE          make somebody member, admin or owner",
    "/silence USER [MINUTES]  keep somebody from writing, for an hour; /unsilence USER",
    "/title TITLE             call it otherwise",
    "/policy WHAT WHO         add or send: members or admins; join: open or closed; history: none, all or a number",
    "/dissolve                end it for everybody",
    "/recall [NUMBER]         take a message of yours back: the last one, or the one of that number",
    "/edit TEXT               say it otherwise, in your last message",
    "/react EMOJI [NUMBER]    react to the last message of somebody else, or to the one of that number",
    "/unreact EMOJI [NUMBER]  take that off again",
    "/delete NUMBER           hide a message from yourself alone",
    "/clear, /remove          hide all of this conversation from yourself; /remove takes it out of the list too",
    "/mute [off], /pin [off]  mute or pin this conversation",
    "/block [off]             take no messages from this user",
    "/unread                  keep this conversation as unread",
    "/resend, /discard        what to do with a message that was not sent",
    "/reconnect               try the server again at once",
    "/quit                    leave the chat (or Ctrl-D)",
    "",
    "Tab, Up, Down            the next conversation, the one before",
    "PageUp, PageDown         older and newer messages",
    "Ctrl-A, Ctrl-E           beginning and end of the line",
    "Ctrl-U, Ctrl-K, Ctrl-W   delete to its beginning, to its end, a word",
    "// at the beginning      sends a line that begins with /",
    "Esc                      closes this",
};

/// Words as a shell has them, with "quotes" around what holds spaces.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) words.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

std::string websocket_url(const ServerUrl& url) {
  return (url.scheme == ServerUrl::Scheme::https ? "wss://" : "ws://") + url.authority() + "/v1/ws";
}

}  // namespace

Result<std::unique_ptr<ChatSession>> ChatSession::start(const Access& access, ChatStore store) {
  TM_ASSIGN(HttpCalls calls, HttpCalls::open(access.url, access.token, access.ca_file, kCallTimeoutS));
  std::unique_ptr<ChatSession> session(new ChatSession(std::move(calls), access.user, std::move(store)));
  ClientOptions options;
  options.url = websocket_url(access.url);
  options.user = access.user.value;
  options.token = [token = access.token] { return token; };
  options.device = session->store_.device;
  options.store = session->store_.store;
  options.platform = "terminal";
  options.ca_file = access.ca_file;
  options.on_event = [self = session.get()](const ClientEvent& event) { self->wake(event); };
  TM_ASSIGN(session->client_, Client::start(std::move(options)));
  return session;
}

ChatSession::ChatSession(HttpCalls calls, UserId user, ChatStore store)
    : calls_(std::move(calls)), user_(std::move(user)), store_(std::move(store)) {
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  TM_CHECK(wake_ >= 0, "a process may have another descriptor");
}

ChatSession::~ChatSession() {
  client_.reset();
  ::close(wake_);
}

Seq ChatSession::held_at_start(const ConversationId& conversation) const {
  const auto found = store_.held.find(conversation);
  return found == store_.held.end() ? Seq{} : found->second;
}

void ChatSession::wake(const ClientEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

std::vector<ClientEvent> ChatSession::take_events() {
  std::uint64_t count = 0;
  (void)!::read(wake_, &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

std::string ChatSession::server_trouble() const {
  const auto answer = calls_.call({.target = "/healthz"});
  return answer ? "" : answer.error().sentence;
}

ConversationId ChatSession::conversation_of(std::string_view name) const {
  ConversationId named(name);
  const auto parsed = parse_conversation(named);
  if (client_->conversation(named) || (parsed && (parsed->kind == ConversationKind::group || parsed->has(user_))))
    return named;
  return single_conversation(user_, UserId(name));
}

Result<std::uint64_t> ChatSession::send(const ConversationId& conversation, const std::string& text) {
  Draft draft;
  draft.body.text = text;
  draft.conversation = conversation;
  return client_->send(draft);
}

CommandOutcome ChatSession::command(std::string_view line, const std::optional<ConversationId>& open) {
  const std::vector<std::string> words = words_of(line);
  const std::string verb = words.empty() ? "" : words.front();
  if (verb == "/quit") return {.notice = "", .quit = true};
  if (verb == "/help") return {.notice = "Esc closes this", .help = kHelp};
  if (verb == "/reconnect") {
    client_->reconnect();
    return {.notice = "trying again"};
  }
  if (verb == "/to") {
    if (words.size() != 2) return {.notice = "/to takes one user: /to bob"};
    const ConversationId id = conversation_of(words[1]);
    if (const auto parsed = parse_conversation(id); !parsed) return {.notice = parsed.error().message()};
    return {.notice = "", .open = id};
  }
  if (verb == "/group") return create_group(words);
  if (verb == "/join") return join_group(words);
  static const std::set<std::string_view> of_conversation{"/recall", "/edit",    "/react",  "/unreact", "/unread",
                                                          "/resend", "/discard", "/delete", "/clear",   "/remove",
                                                          "/mute",   "/pin",     "/block"};
  if (!of_conversation.contains(verb) && !is_of_group(verb))
    return {.notice = fmt::format("there is no {}; /help shows what there is", verb)};
  if (!open) return {.notice = fmt::format("{} is about a conversation; open one first", verb)};
  if (is_of_group(verb)) return of_group(words, *open);
  if (verb == "/unread") {
    const auto marked = client_->mark_unread(*open);
    return {.notice = marked ? "marked as unread" : marked.error().message()};
  }
  if (verb == "/recall") return recall(words, *open);
  if (verb == "/edit") return edit(line, *open);
  if (verb == "/react" || verb == "/unreact") return react(words, *open);
  if (verb == "/delete") return delete_for_me(words, *open);
  if (verb == "/clear" || verb == "/remove") return hide(verb, *open);
  if (verb == "/mute" || verb == "/pin" || verb == "/block") return set_own(verb, words, *open);
  return settle_outbox(verb, *open);
}

/// The newest message of the user's own, or of others, that lives; 0 when none is held.
Seq ChatSession::last_message(const ConversationId& conversation, bool own) const {
  constexpr std::size_t kLookedAt = 200;
  const Timeline timeline = client_->timeline(conversation, {}, kLookedAt);
  for (const TimelineRow& row : std::views::reverse(timeline.rows))
    if (row.entry->countable() && (row.entry->sender == user_) == own && !row.entry->dead()) return row.entry->seq;
  return {};
}

Seq ChatSession::last_own(const ConversationId& conversation) const {
  return last_message(conversation, true);
}

namespace {

/// The number that is the last of `words` words behind a command.
std::optional<Seq> seq_in(const std::vector<std::string>& words, std::size_t behind = 1) {
  if (words.size() != behind + 1) return std::nullopt;
  const std::string& word = words.back();
  Seq seq;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seq.value);
  if (error != std::errc() || end != word.data() + word.size() || !seq) return std::nullopt;
  return seq;
}

}  // namespace

CommandOutcome ChatSession::recall(const std::vector<std::string>& words, const ConversationId& open) {
  Seq seq;
  if (words.size() == 1) {
    // The last one is what was typed last, though it is still on its way.
    if (!wait_until_sent(open)) return {.notice = "a message is still on its way; /recall again when it is sent"};
    seq = last_own(open);
    if (!seq) return {.notice = "there is no message of yours here"};
  } else {
    const auto named = seq_in(words);
    if (!named) return {.notice = "/recall takes the number of a message: /recall 57"};
    seq = *named;
  }
  const auto taken = client_->recall(open, seq);
  if (!taken) return {.notice = taken.error().message()};
  return {.notice = "", .changing = seq};
}

CommandOutcome ChatSession::react(const std::vector<std::string>& words, const ConversationId& open) {
  const bool on = words.front() == "/react";
  const auto named = seq_in(words, 2);
  if (words.size() != 2 && !named)
    return {.notice = fmt::format("{0} takes an emoji and the number of a message: {0} 👍 57", words.front())};
  const Seq seq = named.value_or(last_message(open, false));
  if (!seq) return {.notice = "there is no message of somebody else here"};
  const auto taken = client_->react(open, seq, words[1], on);
  if (!taken) return {.notice = taken.error().message()};
  return {.notice = "", .changing = seq};
}

CommandOutcome ChatSession::delete_for_me(const std::vector<std::string>& words, const ConversationId& open) {
  const auto seq = seq_in(words);
  if (!seq) return {.notice = "/delete takes the number of a message: /delete 57"};
  const auto gone = client_->delete_for_me(open, {{*seq - 1, *seq}});
  return {.notice = gone ? "hidden from you, on all your devices" : gone.error().message()};
}

CommandOutcome ChatSession::hide(std::string_view verb, const ConversationId& open) {
  const auto hidden = verb == "/clear" ? client_->clear(open) : client_->remove(open);
  if (!hidden) return {.notice = hidden.error().message()};
  return {.notice = verb == "/clear" ? "cleared for you, on all your devices" : "removed, until a message comes"};
}

CommandOutcome ChatSession::set_own(std::string_view verb, const std::vector<std::string>& words,
                                    const ConversationId& open) {
  const bool off = words.size() == 2 && words[1] == "off";
  if (words.size() > 1 && !off) return {.notice = fmt::format("{0} or {0} off", verb)};
  Result<void> done;
  if (verb == "/mute") {
    done = client_->mute(open, off ? 0 : kForEver);
  } else if (verb == "/pin") {
    done = client_->pin(open, !off);
  } else {
    const auto parsed = parse_conversation(open);
    if (!parsed || parsed->kind == ConversationKind::group || parsed->self())
      return {.notice = "/block is for a chat with one other user"};
    done = client_->block(parsed->peer_of(user_).value, !off);
  }
  if (!done) return {.notice = done.error().message()};
  const std::string what = verb == "/mute" ? "muted" : verb == "/pin" ? "pinned" : "blocked";
  return {.notice = off ? "no longer " + what : what};
}

CommandOutcome ChatSession::edit(std::string_view line, const ConversationId& open) {
  const std::size_t at = std::min(line.find_first_not_of(' ', std::string_view("/edit").size()), line.size());
  const std::string text(line.substr(at));
  if (text.empty()) return {.notice = "/edit takes the new text: /edit See you at eight"};
  if (!wait_until_sent(open)) return {.notice = "a message is still on its way; /edit again when it is sent"};
  const Seq seq = last_own(open);
  if (!seq) return {.notice = "there is no message of yours here"};
  const auto taken = client_->edit_text(open, seq, text);
  if (!taken) return {.notice = taken.error().message()};
  return {.notice = "", .changing = seq};
}

bool ChatSession::wait_until_sent(const ConversationId& conversation) const {
  const SystemClock clock;
  const std::int64_t end_ms = clock.steady_ms() + kSentWithinMs;
  const auto on_its_way = [](const OutboxItem& item) {
    return item.state == replica::OutboxState::waiting || item.state == replica::OutboxState::searching;
  };
  while (std::ranges::any_of(client_->timeline(conversation, {}, 0).outbox, on_its_way)) {
    if (clock.steady_ms() > end_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

CommandOutcome ChatSession::settle_outbox(std::string_view verb, const ConversationId& open) {
  int settled = 0;
  for (const OutboxItem& item : client_->timeline(open).outbox) {
    if (item.state != replica::OutboxState::failed && item.state != replica::OutboxState::undecided) continue;
    const auto done = verb == "/resend" ? client_->resend(item.local_id) : client_->discard(item.local_id);
    if (done) ++settled;
  }
  if (settled == 0) return {.notice = "there is no message here that was not sent"};
  return {.notice = fmt::format("{} {} message(s)", verb == "/resend" ? "sends again" : "forgot", settled)};
}

/// What to tell: `done`, or why it was refused.
std::string ChatSession::call(const CallOptions& options, std::string done, std::string* answer) const {
  auto called = calls_.call(options);
  if (!called) return called.error().sentence;
  if (answer != nullptr) *answer = std::move(*called);
  return done;
}

}  // namespace tidemark
