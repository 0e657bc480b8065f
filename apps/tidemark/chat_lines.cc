#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <set>
#include <utility>

#include "apps/tidemark/chat_faces.h"
#include "base/json_text.h"
#include "base/ports.h"
#include "client/terminal/chat_view.h"
#include "client/terminal/entry_text.h"

namespace tidemark {
namespace {

constexpr std::int64_t kLastWordsMs = 10'000;
constexpr std::int64_t kFirstWordMs = 1'000;  // a link says well before that it was refused
constexpr std::size_t kHoldsMost = 50;        // conversations told at first
constexpr std::size_t kHeldMost = 20;         // messages told of a conversation that is opened

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
  void tell_what_is_held();
  void open(const ConversationId& id);
  void tell_entry(std::string_view what, const ConversationId& id, const Entry& entry);
  void tell_older(const ConversationId& id, const Entry& entry, std::uint64_t shown_below);
  void tell_gap_before(const ConversationId& id, Seq seq);
  void tell_unsure_gaps();
  void tell(const ClientEvent& event);
  void tell_link(const LinkEvent& link);
  void tell_fate(const OutboxEvent& own);
  void answered(const ConversationId& id, Seq seq);
  void tell_events();
  void take_input();
  void take_line(const std::string& line);
  bool all_told() const { return waiting_.empty() && changing_.empty(); }
  std::string text_of(std::uint64_t local_id) const;
  bool done() const;
  bool alone() const;
  void tell_what_is_waited_for();
  int end();

  ChatSession& session_;
  SignalQueue& signals_;
  const ChatLinesOptions& options_;
  const SystemClock clock_;
  std::optional<ConversationId> open_;
  std::string pending_;
  bool input_open_ = true;
  std::set<std::uint64_t> waiting_;                         // local ids of messages whose fate was not told yet
  std::multiset<std::pair<ConversationId, Seq>> changing_;  // messages whose recall or edit was not answered yet
  std::set<std::pair<ConversationId, Seq>> unsure_gaps_;    // below own messages, whose number of older ones is to come
  int not_sent_ = 0;
  bool quit_ = false;
  std::string refusal_;  // for good
  bool was_in_step_ = false;
  bool tried_ = false;  // there was no server the last time
  bool waiting_told_ = false;
  std::optional<std::int64_t> give_up_ms_;
};

int ChatLines::run() {
  tell_what_is_held();
  if (!options_.to.empty()) take_line("/to \"" + options_.to + "\"");
  while (!quit_) {
    pollfd waits[] = {{input_open_ ? STDIN_FILENO : -1, POLLIN, 0},
                      {session_.descriptor(), POLLIN, 0},
                      {signals_.descriptor(), POLLIN, 0}};
    if (!input_open_ && !options_.follow) {
      if (done()) break;
      if (!give_up_ms_) give_up_ms_ = clock_.steady_ms() + kLastWordsMs;
      tell_what_is_waited_for();
      if (clock_.steady_ms() > *give_up_ms_) break;
    }
    ::poll(waits, 3, give_up_ms_ ? 50 : -1);
    if (waits[1].revents != 0) tell_events();
    if (waits[0].revents != 0) take_input();
    for (int signal = signals_.take(); signal != 0; signal = signals_.take())
      if (signal != SIGWINCH) quit_ = true;
  }
  tell_events();
  tell_unsure_gaps();
  return end();
}

/// Nothing more is to come, but from others.
bool ChatLines::done() const {
  if (!all_told()) return false;
  return was_in_step_ || alone();
}

/// There is no server: the link says so, or has nothing to say where none had answered before.
bool ChatLines::alone() const {
  if (tried_) return session_.client().link() == LinkState::offline;
  const bool silent = give_up_ms_ && clock_.steady_ms() > *give_up_ms_ - kLastWordsMs + kFirstWordMs;
  return options_.no_server && silent && !was_in_step_;
}

void ChatLines::tell_what_is_waited_for() {
  if (all_told() || !alone() || std::exchange(waiting_told_, true)) return;
  say(fmt::format("notice {} message(s) are not sent yet; waits {} s at most for the server",
                  waiting_.size() + changing_.size(), kLastWordsMs / 1'000));
}

int ChatLines::end() {
  const std::string trouble = session_.client().link_trouble();
  const std::string why = trouble.empty() ? terminal::link_text(session_.client().link(), "") : trouble;
  if (!refusal_.empty()) fmt::print(stderr, "tidemark: {}\n", refusal_);
  if (not_sent_ > 0) fmt::print(stderr, "tidemark: {} message(s) were not sent.\n", not_sent_);
  if (!all_told()) {
    const std::string& path = session_.store_path();
    const std::string fate = path.empty() ? "were not sent" : "are not sent yet; the next chat does it from " + path;
    fmt::print(stderr, "tidemark: {} message(s) {} ({}).\n", waiting_.size() + changing_.size(), fate, why);
  }
  // Whoever left by himself knows what he saw.
  const bool unserved = !quit_ && !was_in_step_;
  if (unserved && all_told()) fmt::print(stderr, "tidemark: This chat was never in step with the server ({}).\n", why);
  return !refusal_.empty() || unserved || not_sent_ > 0 || !all_told() ? 1 : 0;
}

/// What there is before any server has said anything.
void ChatLines::tell_what_is_held() {
  std::size_t told = 0;
  for (const Change& change : session_.client().conversations()) {
    if (!session_.held_at_start(change.conversation) || ++told > kHoldsMost) continue;
    say(fmt::format("holds {} {} {}", change.conversation.value, change.unread.count,
                    on_one_line(change.preview.text)));
  }
  if (told > kHoldsMost)
    say(fmt::format("notice {} older conversations are held too; tidemark sync lists all", told - kHoldsMost));
  for (const OutboxItem& item : session_.client().outbox()) {
    const std::string& id = item.conversation.value;
    switch (item.state) {
      case replica::OutboxState::waiting:
      case replica::OutboxState::searching:
        waiting_.insert(item.local_id);
        say(fmt::format("pending {} {}", id, on_one_line(item.body.text)));
        break;
      case replica::OutboxState::undecided:
        say(fmt::format("undecided {} {}", id, on_one_line(item.body.text)));
        break;
      case replica::OutboxState::failed:
        say(fmt::format("failed {}: {} It was: {}", id, item.error ? item.error->message() : "",
                        on_one_line(item.body.text)));
    }
  }
}

void ChatLines::open(const ConversationId& id) {
  if (open_) session_.client().close(*open_);
  open_ = id;
  session_.client().open(id);
  say("open " + id.value);
  // Newer rows are told as messages.
  const Seq held = session_.held_at_start(id);
  if (!held) return;
  const std::vector<TimelineRow> rows = session_.client().timeline(id, held + 1, kHeldMost).rows;
  if (!rows.empty() && (rows.front().gap_before || rows.size() == kHeldMost)) tell_older(id, *rows.front().entry, 0);
  for (const TimelineRow& row : rows) tell_entry("held", id, *row.entry);
}

/// An own message that the server has answered, and not shown yet, does not say how many stand before it.
bool is_counted(const Entry& entry) {
  return !entry.countable() || entry.ord != 0;
}

/// That messages below an entry are not shown, but for those that the log had counted by `shown_below`.
void ChatLines::tell_older(const ConversationId& id, const Entry& entry, std::uint64_t shown_below) {
  const std::uint64_t below = is_counted(entry) ? entry.ord - (entry.countable() ? 1 : 0) : entry.seq.value - 1;
  if (below <= shown_below) return;
  say(fmt::format("older {0} up to {1} message(s) before {2} are not shown; see: tidemark history '{0}' --before {2}",
                  id.value, below - shown_below, entry.seq.value));
}

/// A catch-up after a long absence brings the newest rows of a conversation alone.
void ChatLines::tell_gap_before(const ConversationId& id, Seq seq) {
  const std::vector<TimelineRow> rows = session_.client().timeline(id, seq + 1, 2).rows;
  if (rows.empty() || rows.back().entry->seq != seq || !rows.back().gap_before) return;
  tell_older(id, *rows.back().entry, rows.size() == 2 ? rows.front().entry->ord : 0);
}

/// Of a device that sends before it holds the conversation: what stands before its messages may have come since.
void ChatLines::tell_unsure_gaps() {
  for (const auto& [id, seq] : std::exchange(unsure_gaps_, {})) tell_gap_before(id, seq);
}

void ChatLines::say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void ChatLines::tell_events() {
  for (const ClientEvent& event : session_.take_events()) tell(event);
  if (!unsure_gaps_.empty() && session_.client().wait_settled(0)) tell_unsure_gaps();
}

void ChatLines::tell(const ClientEvent& event) {
  if (const auto* message = std::get_if<MessageEvent>(&event)) {
    if (message->appeared && is_counted(*message->entry)) tell_gap_before(message->conversation, message->entry->seq);
    if (message->appeared && !is_counted(*message->entry))
      unsure_gaps_.emplace(message->conversation, message->entry->seq);
    tell_entry(message->appeared ? "message" : "changed", message->conversation, *message->entry);
    if (message->entry->body.cut) (void)session_.client().fetch_body(message->conversation, message->entry->seq);
  } else if (const auto* unread = std::get_if<UnreadEvent>(&event)) {
    say(fmt::format("unread {} {}{}", unread->conversation.value, unread->unread.count,
                    unread->unread.exact ? "" : "+"));
  } else if (const auto* own = std::get_if<OutboxEvent>(&event)) {
    tell_fate(*own);
  } else if (const auto* link = std::get_if<LinkEvent>(&event)) {
    tell_link(*link);
  } else if (const auto* lost = std::get_if<LostEvent>(&event)) {
    say(fmt::format("{} {} ({}, {}]", lost->now ? "found-again" : "not-on-server", lost->conversation.value,
                    lost->rows.after.value, lost->rows.to.value));
  } else if (const auto* gone = std::get_if<RowsGoneEvent>(&event)) {
    say(fmt::format("hidden {} ({}, {}]", gone->conversation.value, gone->rows.after.value, gone->rows.to.value));
  } else if (const auto* change = std::get_if<ChangeEvent>(&event)) {
    if (change->outcome == ChangeOutcome::done) answered(change->conversation, change->seq);
    say(fmt::format("{} {} {} {}", name_of(change->kind), change->outcome == ChangeOutcome::done ? "done" : "queued",
                    change->conversation.value, change->seq.value));
  } else if (const auto* refused = std::get_if<ChangeRefusedEvent>(&event)) {
    answered(refused->conversation, refused->seq);
    say(fmt::format("refused {}: {}", refused->conversation.value, refused->error.message()));
  }
}

void ChatLines::answered(const ConversationId& id, Seq seq) {
  if (const auto found = changing_.find({id, seq}); found != changing_.end()) changing_.erase(found);
}

void ChatLines::tell_entry(std::string_view what, const ConversationId& id, const Entry& entry) {
  const std::string text =
      entry.countable() ? entry.sender.value + ": " + terminal::entry_text(entry) : "* " + terminal::entry_text(entry);
  say(fmt::format("{} {} {} {}", what, id.value, entry.seq.value, on_one_line(text)));
}

void ChatLines::tell_link(const LinkEvent& link) {
  say("link " + on_one_line(terminal::link_text(link.state, session_.client().link_trouble())));
  tried_ = link.state == LinkState::offline;
  was_in_step_ = was_in_step_ || link.state == LinkState::in_step;
  // Lines have nobody who would log in again.
  if (link.state != LinkState::refused || !refusal_.empty()) return;
  if (link.error) refusal_ = link.error->message();
  if (!link.kick.empty()) refusal_ = "The server ended the session: " + link.kick + ".";
  quit_ = quit_ || !refusal_.empty();
}

void ChatLines::tell_fate(const OutboxEvent& own) {
  const std::string& conversation = own.conversation.value;
  switch (own.outcome) {
    case OutboxOutcome::sent:
      waiting_.erase(own.local_id);
      return say(fmt::format("sent {} {}", conversation, own.seq.value));
    case OutboxOutcome::failed:
      not_sent_ += static_cast<int>(waiting_.erase(own.local_id));
      return say(fmt::format("failed {}: {} It was: {}", conversation, own.error ? own.error->message() : "",
                             text_of(own.local_id)));
    case OutboxOutcome::undecided:
      not_sent_ += static_cast<int>(waiting_.erase(own.local_id));
      return say(fmt::format("undecided {} {}", conversation, text_of(own.local_id)));
    case OutboxOutcome::queued:
    case OutboxOutcome::renewed:
    case OutboxOutcome::discarded:
      return;
  }
}

/// Of a message that was not sent: its user has to see which.
std::string ChatLines::text_of(std::uint64_t local_id) const {
  for (const OutboxItem& item : session_.client().outbox())
    if (item.local_id == local_id) return on_one_line(item.body.text);
  return "";
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
    if (outcome.open) open(*outcome.open);
    if (outcome.changing) changing_.emplace(*open_, *outcome.changing);
    quit_ = quit_ || outcome.quit;
    return;
  }
  if (!open_) {
    ++not_sent_;
    return say("notice say to whom first: /to USER, or start with --to");
  }
  const std::string text = line.front() == '/' ? line.substr(1) : line;
  const auto sent = session_.send(*open_, text);
  if (sent) {
    waiting_.insert(*sent);
    const LinkState link = session_.client().link();
    if (link == LinkState::offline || link == LinkState::refused)
      say(fmt::format("pending {} {}", open_->value, on_one_line(text)));
  } else {
    ++not_sent_;
    say(fmt::format("failed {}: {} It was: {}", open_->value, on_one_line(sent.error().message()), on_one_line(text)));
  }
}

}  // namespace

int run_chat_lines(ChatSession& session, SignalQueue& signals, const ChatLinesOptions& options) {
  return ChatLines(session, signals, options).run();
}

}  // namespace tidemark
