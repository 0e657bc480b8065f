#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "apps/tidemark/chat_faces.h"
#include "base/ports.h"
#include "client/terminal/chat_view.h"
#include "client/terminal/keys.h"
#include "core/conversation_id.h"

namespace tidemark {
namespace {

using namespace terminal;

constexpr int kEscapeMs = 50;      // an ESC that nothing follows for so long is the key
constexpr int kMinuteMs = 60'000;  // times of day grow old
constexpr std::size_t kRowsStep = 100;
constexpr int kTypingMs = 5'000;       // holds so long
constexpr int kTypingAgainMs = 3'000;  // and is said again while somebody types

/// Keys and events in, frames out. What is shown is read anew from the client after every change: it is all in memory.
class ChatFace {
 public:
  ChatFace(ChatSession& session, SignalQueue& signals, TerminalMode& terminal)
      : session_(session), signals_(signals), terminal_(terminal) {}
  int run(const ChatScreenOptions& options);

 private:
  void wait();
  void take_keys(const std::vector<Key>& keys);
  void take_key(const Key& key);
  void enter();
  void take_events();
  void tell(const ClientEvent& event);
  void apply(CommandOutcome outcome);
  void open(const ConversationId& id);
  void step(int by);
  void scroll(int by);
  void refresh();
  void refresh_messages(std::int64_t now_ms, std::int64_t offset_s);
  void mark_read();
  void draw();
  void tell_typing();
  void watch();
  std::string presence_text() const;
  int patience_ms() const;

  ChatSession& session_;
  SignalQueue& signals_;
  TerminalMode& terminal_;
  const SystemClock clock_;
  KeyDecoder keys_;
  ChatState state_;
  std::optional<ConversationId> open_;
  std::map<ConversationId, std::string> drafts_;
  std::size_t rows_wanted_ = kRowsStep;
  bool first_row_known_ = false;  // no older row is held beyond those shown
  Seq first_row_;                 // of those in state_
  std::map<ConversationId, Seq> told_read_;
  std::set<std::tuple<ConversationId, Seq, Seq>> bodies_asked_;
  ChatScreen shown_;
  Seq shown_first_row_;
  std::optional<ConversationId> shown_open_;
  // In passing: the other user of the open single chat, and who types there.
  UserId peer_;
  bool watched_ = false;
  bool peer_online_ = false;
  std::int64_t typing_until_ms_ = 0;
  std::int64_t told_typing_ms_ = 0;  // 0: not yet
  bool quit_ = false;
};

int ChatFace::run(const ChatScreenOptions& options) {
  state_.user = session_.user().value;
  state_.device = session_.device();
  state_.notice = options.notice;
  if (!options.to.empty()) open(session_.conversation_of(options.to));
  while (!quit_) {
    refresh();
    draw();
    wait();
  }
  return 0;
}

void ChatFace::wait() {
  pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {session_.descriptor(), POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}};
  const int ready = ::poll(waits, 3, keys_.waiting() ? kEscapeMs : patience_ms());
  if (ready == 0) take_keys(keys_.pause());
  if (waits[0].revents != 0) {
    char bytes[4096];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got > 0)
      take_keys(keys_.feed({bytes, static_cast<std::size_t>(got)}));
    else if ((waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
      quit_ = true;  // the terminal is gone
  }
  if (waits[1].revents != 0) take_events();
  for (int signal = signals_.take(); signal != 0; signal = signals_.take())
    if (signal != SIGWINCH) quit_ = true;
}

void ChatFace::take_keys(const std::vector<Key>& keys) {
  for (const Key& key : keys) take_key(key);
}

void ChatFace::take_key(const Key& key) {
  if (state_.input.take(key)) {
    state_.notice.clear();
    return tell_typing();
  }
  switch (key.kind) {
    case KeyKind::enter:
      return enter();
    case KeyKind::tab:
    case KeyKind::down:
      return step(1);
    case KeyKind::back_tab:
    case KeyKind::up:
      return step(-1);
    case KeyKind::page_up:
      return scroll(std::max(1, shown_.page_rows - 1));
    case KeyKind::page_down:
      return scroll(-std::max(1, shown_.page_rows - 1));
    case KeyKind::escape:
      state_.help.clear();
      state_.notice.clear();
      return;
    case KeyKind::interrupt:
      if (state_.input.text().empty()) state_.notice = "/quit or Ctrl-D leaves the chat";
      return state_.input.clear();
    case KeyKind::end_of_input:
      quit_ = quit_ || state_.input.text().empty();
      return;
    case KeyKind::redraw:
      shown_.frame = Frame{};
      return;
    default:
      return;
  }
}

/// Says that the user types, now and then while he does; a command is nobody else's business.
void ChatFace::tell_typing() {
  const std::string text(state_.input.text());
  const std::int64_t now_ms = clock_.steady_ms();
  if (!open_ || text.empty() || text.front() == '/') return;
  if (told_typing_ms_ != 0 && now_ms - told_typing_ms_ < kTypingAgainMs) return;
  told_typing_ms_ = now_ms;
  (void)session_.client().say(*open_, "typing", {}, kTypingMs);
}

std::string ChatFace::presence_text() const {
  if (typing_until_ms_ > clock_.steady_ms()) return "  typing …";
  return peer_online_ ? "  online" : "";
}

/// Until what is shown grows old.
int ChatFace::patience_ms() const {
  const std::int64_t typing = typing_until_ms_ - clock_.steady_ms();
  return typing > 0 ? static_cast<int>(std::min<std::int64_t>(typing + 1, kMinuteMs)) : kMinuteMs;
}

void ChatFace::enter() {
  state_.help.clear();
  state_.notice.clear();
  std::string line = state_.input.release();
  if (line.find_first_not_of(" \n") == std::string::npos) return;
  if (line.front() == '/' && !line.starts_with("//")) return apply(session_.command(line, open_));
  if (!open_) {
    state_.input.insert(line);
    state_.notice = "say to whom first: /to USER";
    return;
  }
  if (line.front() == '/') line.erase(0, 1);
  if (const auto sent = session_.send(*open_, line); !sent) {
    state_.input.insert(line);
    state_.notice = sent.error().message();
  }
  state_.scroll = 0;
}

void ChatFace::take_events() {
  for (const ClientEvent& event : session_.take_events()) tell(event);
}

void ChatFace::tell(const ClientEvent& event) {
  if (const auto* history = std::get_if<HistoryEvent>(&event)) {
    if (!open_ || history->conversation != *open_) return;
    state_.above = history->end ? Above::beginning : Above::unknown;
    if (history->error) state_.notice = history->error->message();
  } else if (const auto* change = std::get_if<ChangeEvent>(&event)) {
    const std::string what(name_of(change->kind));
    state_.notice = change->outcome == ChangeOutcome::done ? "" : "the " + what + " is on its way";
  } else if (const auto* refused = std::get_if<ChangeRefusedEvent>(&event)) {
    state_.notice = refused->error.message();
  } else if (const auto* lost = std::get_if<LostEvent>(&event); lost && !lost->now) {
    state_.notice = "The server was restored to an earlier state: some messages are on this device alone now.";
  } else if (const auto* own = std::get_if<OutboxEvent>(&event)) {
    if (own->outcome == OutboxOutcome::failed && own->error) state_.notice = own->error->message();
  } else if (const auto* presence = std::get_if<PresenceEvent>(&event)) {
    if (presence->user == peer_) peer_online_ = presence->online;
  } else if (const auto* passing = std::get_if<PassingEvent>(&event)) {
    const bool typing =
        passing->type == "typing" && passing->conversation == open_ && passing->sender != session_.user();
    if (typing) typing_until_ms_ = clock_.steady_ms() + passing->lifetime_ms;
  } else if (const auto* message = std::get_if<MessageEvent>(&event)) {
    if (message->conversation == open_ && message->appeared) typing_until_ms_ = 0;
  } else if (const auto* changed = std::get_if<ConversationEvent>(&event)) {
    // Only now there is a chat whose other side may be watched.
    if (changed->conversation == open_ && !watched_) watch();
  } else if (const auto* link = std::get_if<LinkEvent>(&event)) {
    if (link->state == LinkState::offline) peer_online_ = false;
    if (link->state == LinkState::in_step) state_.notice.clear();
    if (link->state == LinkState::offline && state_.above == Above::fetching) state_.above = Above::unknown;
  }
}

/// Who is there is shown of the single chat that is looked at, and of all how far the others have read.
void ChatFace::watch() {
  const auto parsed = parse_conversation(*open_);
  peer_ = parsed && parsed->kind == ConversationKind::single && !parsed->self() ? parsed->peer_of(session_.user())
                                                                                : UserId();
  watched_ = session_.client().conversation(*open_).has_value();
  std::vector<std::string> watched;
  if (!peer_.empty() && watched_) watched.push_back(peer_.value);
  (void)session_.client().watch_receipts(watched_ ? std::vector{*open_} : std::vector<ConversationId>{});
  (void)session_.client().watch_presence(watched);
}

void ChatFace::apply(CommandOutcome outcome) {
  state_.notice = std::move(outcome.notice);
  state_.help = std::move(outcome.help);
  quit_ = quit_ || outcome.quit;
  if (outcome.open) open(*outcome.open);
}

void ChatFace::open(const ConversationId& id) {
  state_.help.clear();
  if (open_ == id) return;
  if (open_) {
    session_.client().close(*open_);
    drafts_[*open_] = state_.input.release();
    state_.input.insert(drafts_[id]);
  }
  open_ = id;
  told_read_.erase(id);
  session_.client().open(id);
  peer_online_ = false;
  typing_until_ms_ = told_typing_ms_ = 0;
  watch();
  state_.scroll = 0;
  state_.above = Above::unknown;
  rows_wanted_ = kRowsStep;
}

/// The next conversation of the list, or the one before; from nowhere the first.
void ChatFace::step(int by) {
  const auto& lines = state_.conversations;
  if (lines.empty()) return;
  const auto at = std::ranges::find_if(lines, [](const ConversationLine& line) { return line.open; });
  const auto size = static_cast<std::ptrdiff_t>(lines.size());
  const std::ptrdiff_t next = at == lines.end() ? 0 : ((at - lines.begin()) + by + size) % size;
  open(lines[static_cast<std::size_t>(next)].id);
}

void ChatFace::scroll(int by) {
  state_.scroll = std::clamp(state_.scroll + by, 0, shown_.scroll_max);
  if (by < 0 || !open_ || state_.scroll + shown_.page_rows < shown_.scroll_max) return;
  // Near the top: show more of what is held, or ask for what is not.
  if (!first_row_known_) {
    rows_wanted_ += kRowsStep;
  } else if (state_.above == Above::unknown) {
    state_.above = Above::fetching;
    rows_wanted_ += kRowsStep;
    session_.client().scroll_back(*open_);
  }
}

void ChatFace::refresh() {
  const std::int64_t now_ms = clock_.wall_ms();
  const std::int64_t offset_s = utc_offset_s(now_ms);
  state_.link = session_.client().link();
  state_.trouble = session_.client().link_trouble();
  state_.conversations.clear();
  bool listed = false;
  for (const Change& change : session_.client().conversations()) {
    ConversationLine line = conversation_line(change, now_ms, offset_s);
    if (line.time.empty() && line.preview.empty() && open_ != change.conversation) continue;
    line.open = open_ == change.conversation;
    listed = listed || line.open;
    state_.conversations.push_back(std::move(line));
  }
  // While it catches up the newest conversation is not known; without a server it is the newest that is held.
  const bool known =
      state_.link == LinkState::in_step || state_.link == LinkState::offline || state_.link == LinkState::refused;
  if (!open_ && !state_.conversations.empty() && known) {
    open(state_.conversations.front().id);
    state_.conversations.front().open = listed = true;
  }
  if (open_ && !listed) {
    // A chat that nobody has written in yet.
    Change blank;
    blank.conversation = *open_;
    if (const auto parsed = parse_conversation(*open_); parsed) blank.peer = parsed->peer_of(session_.user());
    ConversationLine line = conversation_line(blank, now_ms, offset_s);
    line.open = true;
    state_.conversations.insert(state_.conversations.begin(), std::move(line));
  }
  refresh_messages(now_ms, offset_s);
  mark_read();
}

void ChatFace::refresh_messages(std::int64_t now_ms, std::int64_t offset_s) {
  state_.messages.clear();
  state_.title.clear();
  first_row_ = {};
  if (!open_) return;
  for (const ConversationLine& line : state_.conversations)
    if (line.open) state_.title = line.name == open_->value ? line.name : line.name + "  (" + open_->value + ")";
  state_.title += presence_text();
  const Timeline timeline = session_.client().timeline(*open_, {}, rows_wanted_);
  const std::vector<Receipt> receipts = session_.client().receipts(*open_);
  // Beyond a gap nothing is shown: scrolling back fills it first.
  std::size_t first = timeline.rows.size();
  while (first > 0) {
    --first;
    if (timeline.rows[first].gap_before) break;
  }
  const bool gap = !timeline.rows.empty() && timeline.rows[first].gap_before;
  first_row_known_ = gap || timeline.rows.size() < rows_wanted_;
  if (!gap && first_row_known_ && !timeline.rows.empty()) state_.above = Above::beginning;
  if (!timeline.rows.empty()) first_row_ = timeline.rows[first].entry->seq;
  for (std::size_t i = first; i < timeline.rows.size(); ++i) {
    MessageLine line = message_line(*timeline.rows[i].entry, session_.user(), now_ms, offset_s);
    if (!timeline.rows[i].on_server) line.text += " (not on the server)";
    line.faded = line.faded || !timeline.rows[i].on_server;
    const Entry& row = *timeline.rows[i].entry;
    // What is on the screen is shown whole; once for each state of it.
    if (row.body.cut && bodies_asked_.emplace(*open_, row.seq, row.revision).second)
      (void)session_.client().fetch_body(*open_, row.seq);
    if (line.delivery == Delivery::sent) line.delivery = delivery_of(timeline.rows[i].entry->seq, receipts);
    state_.messages.push_back(std::move(line));
  }
  for (const OutboxItem& item : timeline.outbox)
    state_.messages.push_back(outbox_line(item, session_.user(), now_ms, offset_s));
}

/// What stands at the bottom of the screen has been seen. Told once for every head.
void ChatFace::mark_read() {
  if (!open_ || state_.scroll > 0 || !state_.help.empty()) return;
  const auto held = session_.client().conversation(*open_);
  if (!held || (held->unread.count == 0 && !held->unread_flag) || state_.messages.empty()) return;
  Seq& told = told_read_[*open_];
  if (told >= held->head_seq) return;
  told = held->head_seq;
  (void)session_.client().mark_read(*open_, held->head_seq);
}

void ChatFace::draw() {
  const TerminalSize size = terminal_.size();
  ChatScreen next = draw_chat(state_, size.columns, size.rows);
  // Who reads older messages stays where he is while newer ones come in below.
  const bool same_top = first_row_ == shown_first_row_ && open_ == shown_open_;
  if (state_.scroll > 0 && same_top && next.scroll_max > shown_.scroll_max) {
    state_.scroll += next.scroll_max - shown_.scroll_max;
    next = draw_chat(state_, size.columns, size.rows);
  }
  state_.scroll = next.scroll;
  shown_first_row_ = first_row_;
  shown_open_ = open_;
  const std::string bytes = redraw(shown_.frame, next.frame);
  shown_ = std::move(next);
  if (!terminal_.write(bytes)) quit_ = true;
}

}  // namespace

int run_chat_screen(ChatSession& session, SignalQueue& signals, const ChatScreenOptions& options) {
  auto terminal = TerminalMode::enter();
  if (!terminal) return 1;
  return ChatFace(session, signals, **terminal).run(options);
}

}  // namespace tidemark
