#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <set>

#include "apps/tidemark/chat_faces.h"
#include "base/json_text.h"
#include "base/ports.h"
#include "client/terminal/chat_view.h"
#include "client/terminal/entry_text.h"

namespace tidemark {
namespace {

constexpr std::int64_t kLastWordsMs = 10'000;

/// On one line, with line breaks as \n; control characters as JSON has them.
std::string on_one_line(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  std::string out;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] == '\\' && (quoted[i + 1] == '"' || quoted[i + 1] == '\\')) {
      // Only what would break the line needs its escape.
      if (quoted[i + 1] == '"')
        ++i;
      else
        out += quoted[i++];
    }
    out += quoted[i];
  }
  return out;
}

class ChatLines {
 public:
  ChatLines(ChatSession& session, SignalQueue& signals, const ChatLinesOptions& options)
      : session_(session), signals_(signals), options_(options) {}
  int run();

 private:
  void say(const std::string& line);
  void tell(const ClientEvent& event);
  void tell_fate(const OutboxEvent& own);
  void tell_events();
  void take_input();
  void take_line(const std::string& line);
  bool all_told() const { return waiting_.empty(); }

  ChatSession& session_;
  SignalQueue& signals_;
  const ChatLinesOptions& options_;
  const SystemClock clock_;
  std::optional<ConversationId> open_;
  std::string pending_;
  bool input_open_ = true;
  std::set<std::uint64_t> waiting_;  // local ids of messages whose fate was not told yet
  int not_sent_ = 0;
  bool quit_ = false;
  std::optional<std::int64_t> give_up_ms_;
};

int ChatLines::run() {
  if (!options_.to.empty()) take_line("/to \"" + options_.to + "\"");
  while (!quit_) {
    pollfd waits[] = {{input_open_ ? STDIN_FILENO : -1, POLLIN, 0},
                      {session_.descriptor(), POLLIN, 0},
                      {signals_.descriptor(), POLLIN, 0}};
    if (!input_open_ && !options_.follow) {
      if (!give_up_ms_) give_up_ms_ = clock_.steady_ms() + kLastWordsMs;
      if (all_told() || clock_.steady_ms() > *give_up_ms_) break;
    }
    ::poll(waits, 3, give_up_ms_ ? 50 : -1);
    if (waits[1].revents != 0) tell_events();
    if (waits[0].revents != 0) take_input();
    for (int signal = signals_.take(); signal != 0; signal = signals_.take())
      if (signal != SIGWINCH) quit_ = true;
  }
  tell_events();
  if (all_told() && not_sent_ == 0) return 0;
  fmt::print(stderr, "tidemark: {} message(s) were not sent ({}).\n",
             waiting_.size() + static_cast<std::size_t>(not_sent_),
             terminal::link_text(session_.client().link(), session_.client().link_trouble()));
  return 1;
}

void ChatLines::say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void ChatLines::tell_events() {
  for (const ClientEvent& event : session_.take_events()) tell(event);
}

void ChatLines::tell(const ClientEvent& event) {
  if (const auto* message = std::get_if<MessageEvent>(&event)) {
    const Entry& entry = *message->entry;
    const std::string text = entry.countable() ? entry.sender.value + ": " + terminal::entry_text(entry)
                                               : "* " + terminal::entry_text(entry);
    say(fmt::format("{} {} {} {}", message->appeared ? "message" : "changed", message->conversation.value,
                    entry.seq.value, on_one_line(text)));
  } else if (const auto* unread = std::get_if<UnreadEvent>(&event)) {
    say(fmt::format("unread {} {}{}", unread->conversation.value, unread->unread.count,
                    unread->unread.exact ? "" : "+"));
  } else if (const auto* own = std::get_if<OutboxEvent>(&event)) {
    tell_fate(*own);
  } else if (const auto* link = std::get_if<LinkEvent>(&event)) {
    say("link " + on_one_line(terminal::link_text(link->state, session_.client().link_trouble())));
  } else if (const auto* refused = std::get_if<ChangeRefusedEvent>(&event)) {
    say(fmt::format("refused {}: {}", refused->conversation.value, refused->error.message()));
  }
}

void ChatLines::tell_fate(const OutboxEvent& own) {
  const std::string& conversation = own.conversation.value;
  switch (own.outcome) {
    case OutboxOutcome::sent:
      waiting_.erase(own.local_id);
      return say(fmt::format("sent {} {}", conversation, own.seq.value));
    case OutboxOutcome::failed:
      not_sent_ += static_cast<int>(waiting_.erase(own.local_id));
      return say(fmt::format("failed {}: {}", conversation, own.error ? own.error->message() : ""));
    case OutboxOutcome::undecided:
      not_sent_ += static_cast<int>(waiting_.erase(own.local_id));
      return say(fmt::format("undecided {}", conversation));
    case OutboxOutcome::queued:
    case OutboxOutcome::renewed:
    case OutboxOutcome::discarded:
      return;
  }
}

void ChatLines::take_input() {
  char bytes[4096];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (got > 0) pending_.append(bytes, static_cast<std::size_t>(got));
  if (got <= 0) {
    input_open_ = false;
    if (!pending_.empty()) pending_ += '\n';
  }
  for (std::size_t end = pending_.find('\n'); end != std::string::npos && !quit_; end = pending_.find('\n')) {
    const std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    take_line(line);
  }
}

void ChatLines::take_line(const std::string& line) {
  if (line.empty()) return;
  if (line.front() == '/' && !line.starts_with("//")) {
    const CommandOutcome outcome = session_.command(line, open_);
    for (const std::string& help : outcome.help) say("help " + help);
    if (!outcome.notice.empty()) say("notice " + on_one_line(outcome.notice));
    if (outcome.open) {
      if (open_) session_.client().close(*open_);
      open_ = outcome.open;
      session_.client().open(*open_);
      say("open " + open_->value);
    }
    quit_ = quit_ || outcome.quit;
    return;
  }
  if (!open_) {
    ++not_sent_;
    return say("notice say to whom first: /to USER, or start with --to");
  }
  const auto sent = session_.send(*open_, line.front() == '/' ? line.substr(1) : line);
  if (sent) {
    waiting_.insert(*sent);
  } else {
    ++not_sent_;
    say("failed " + open_->value + ": " + on_one_line(sent.error().message()));
  }
}

}  // namespace

int run_chat_lines(ChatSession& session, SignalQueue& signals, const ChatLinesOptions& options) {
  return ChatLines(session, signals, options).run();
}

}  // namespace tidemark
