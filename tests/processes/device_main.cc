// A device as an app would have it: the client library over its SQLite store, in a process that may be killed at any
// moment. It takes commands from stdin, one a line, and writes all that it sees to a log, one line with one write(2),
// so that what was seen survives the kill:
//
//     tidemark-test-device URL USER DEVICE TOKEN STORE LOG DIALECT RECENT PAGE
//
//     send CONVERSATION TEXT        send_to USER TEXT           (a text without spaces)
//     read CONVERSATION SEQ         unread CONVERSATION         (seq 0: to the head)
//     open CONVERSATION             close CONVERSATION          back CONVERSATION
//     recall CONVERSATION SEQ       edit CONVERSATION SEQ TEXT
//     load                          every conversation, back to its beginning
//     state                         logs whether everything is held, told and sent
//     stop
//
// The lines of the log are described where they are read: processes/device_log.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>

#include "base/ports.h"
#include "client/client.h"

namespace {
using namespace tidemark;

/// One line is one write: whole or not there.
class EventLog {
 public:
  explicit EventLog(const char* path) : fd_(::open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)) {}
  ~EventLog() { ::close(fd_); }
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  bool good() const { return fd_ >= 0; }

  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    std::string text = fmt::format("{} ", clock_.steady_ms());
    fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
    text += '\n';
    if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::_Exit(3);
  }

 private:
  const int fd_;
  SystemClock clock_;
};

const char* word_of(OutboxOutcome outcome) {
  switch (outcome) {
    case OutboxOutcome::queued:
      return "queued";
    case OutboxOutcome::sent:
      return "sent";
    case OutboxOutcome::renewed:
      return "renewed";
    case OutboxOutcome::undecided:
      return "undecided";
    case OutboxOutcome::failed:
      return "failed";
    case OutboxOutcome::discarded:
      return "discarded";
  }
  return "?";
}

const char* word_of(LinkState state) {
  switch (state) {
    case LinkState::offline:
      return "offline";
    case LinkState::greeting:
      return "greeting";
    case LinkState::catching_up:
      return "catching_up";
    case LinkState::in_step:
      return "in_step";
    case LinkState::refused:
      return "refused";
  }
  return "?";
}

std::string_view word_of(const std::optional<Error>& error) {
  return error ? error_info(error->code).name : "-";
}

/// "-" for what is empty, so that every line has all its words.
std::string_view word_of(const std::string& text) {
  return text.empty() ? std::string_view("-") : std::string_view(text);
}

class App {
 public:
  explicit App(EventLog& log) : log_(log) {}

  Result<void> start(ClientOptions options) {
    options.on_event = [this](const ClientEvent& event) { std::visit(*this, event); };
    TM_ASSIGN(client_, Client::start(std::move(options)));
    // From here on callbacks may ask the client something.
    started_ = true;
    return {};
  }

  void operator()(const MessageEvent& event) {
    const Entry& row = *event.entry;
    log_.line("message {} {} {} {} {} {}", event.conversation.value, row.seq.value,
              event.appeared ? "appeared" : "changed", event.notify ? "notify" : "quiet", row.sender.value,
              word_of(row.body.text));
  }
  void operator()(const ConversationEvent& event) {
    log_.line("conversation {} {}", event.conversation.value, event.removed ? "gone" : "listed");
  }
  void operator()(const UnreadEvent& event) {
    log_.line("unread {} {} {} {}", event.conversation.value, event.unread.count, event.read.value,
              event.unread_flag ? "flagged" : "plain");
  }
  void operator()(const OutboxEvent& event) {
    log_.line("outbox {} {} {} {} {} {}", word_of(event.outcome), event.local_id, event.conversation.value,
              event.seq.value, event.client_msg_id, word_of(event.error));
  }
  void operator()(const ChangeRefusedEvent& event) {
    log_.line("change_refused {} {} {}", event.conversation.value, event.seq.value, error_info(event.error.code).name);
  }
  void operator()(const ChangeEvent& event) {
    log_.line("change {} {} {} {}", event.conversation.value, event.seq.value,
              event.kind == MutationKind::recall ? "recall" : "edit",
              event.outcome == ChangeOutcome::done ? "done" : "queued");
  }
  void operator()(const replica::LostEvent& event) {
    log_.line("lost_rows {} {} {} {}", event.conversation.value, event.rows.after.value, event.rows.to.value,
              event.now.value);
  }
  void operator()(const replica::RowsGoneEvent& event) { log_.line("rows_gone {}", event.conversation.value); }
  void operator()(const replica::ObjectEvent& event) { log_.line("object {}", name_of(event.object).front()); }
  void operator()(const PresenceEvent&) {}
  void operator()(const PassingEvent&) {}
  void operator()(const GroupEvent&) {}  // a backend changes the groups
  void operator()(const ReactionsEvent&) {}
  void operator()(const BodyEvent&) {}
  void operator()(const MembersEvent&) {}
  void operator()(const DevicesEvent&) {}
  void operator()(const ReceiptsEvent&) {}
  void operator()(const HistoryEvent& event) {
    log_.line("history {} {} {}", event.conversation.value, event.end ? "end" : "more", word_of(event.error));
    if (!started_ || !loading(event.conversation)) return;
    // Refused: a restored server does not know it.
    if (event.end || event.error)
      loaded(event.conversation);
    else
      client_->scroll_back(event.conversation);
  }
  void operator()(const LinkEvent& event) {
    log_.line("link {} {} {}", word_of(event.state), word_of(event.error), word_of(event.kick));
  }
  void operator()(const EventsLost&) { log_.line("lost"); }

  /// False: stop.
  bool command(std::istringstream words) {
    std::string what;
    std::string where;
    std::string text;
    std::string more;
    words >> what >> where >> text >> more;
    const ConversationId conversation(where);
    if (what == "stop") return false;
    if (what == "send") note_taken(client_->send_text(conversation, text), text);
    if (what == "send_to") note_taken(client_->send_text(where, text), text);
    if (what == "read") read(conversation, seq_in(text));
    if (what == "recall") (void)client_->recall(conversation, seq_in(text));
    if (what == "edit") (void)client_->edit_text(conversation, seq_in(text), more);
    if (what == "unread") (void)client_->mark_unread(conversation);
    if (what == "open") client_->open(conversation);
    if (what == "close") client_->close(conversation);
    if (what == "back") client_->scroll_back(conversation);
    if (what == "load") load();
    if (what == "state") tell_state();
    return true;
  }

 private:
  static Seq seq_in(const std::string& word) { return Seq(std::strtoull(word.c_str(), nullptr, 10)); }

  void note_taken(const Result<std::uint64_t>& local_id, const std::string& text) {
    if (local_id)
      log_.line("took {} {}", *local_id, text);
    else
      log_.line("refused {} {}", text, error_info(local_id.error().code).name);
  }

  void read(const ConversationId& conversation, Seq seq) {
    const auto held = client_->conversation(conversation);
    if (held) (void)client_->mark_read(conversation, seq ? seq : held->head_seq);
  }

  void load() {
    const auto all = client_->conversations();
    {
      const std::lock_guard lock(mutex_);
      for (const Change& each : all) loading_.insert(each.conversation);
    }
    for (const Change& each : all) client_->scroll_back(each.conversation);
  }
  bool loading(const ConversationId& conversation) {
    const std::lock_guard lock(mutex_);
    return loading_.contains(conversation);
  }
  void loaded(const ConversationId& conversation) {
    const std::lock_guard lock(mutex_);
    loading_.erase(conversation);
  }

  void tell_state() {
    std::uint64_t mark = 0;
    for (const Change& each : client_->conversations()) mark = std::max(mark, each.mark.value);
    const bool settled = client_->wait_settled(0);
    std::size_t left = 0;
    {
      const std::lock_guard lock(mutex_);
      left = loading_.size();
    }
    log_.line("state {} {} {} {} {}", settled ? "settled" : "busy", word_of(client_->link()), mark,
              client_->outbox().size(), left);
  }

  EventLog& log_;
  std::unique_ptr<Client> client_;
  std::atomic<bool> started_ = false;
  std::mutex mutex_;
  std::set<ConversationId> loading_;  // conversations to be fetched back to their beginning
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 10) {
    std::cerr << "usage: tidemark-test-device URL USER DEVICE TOKEN STORE LOG DIALECT RECENT PAGE\n";
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  EventLog log(argv[6]);
  if (!log.good()) return 3;
  log.line("start {}", getpid());
  auto store = open_sqlite_store(argv[5]);
  if (!store) {
    log.line("no_store {}", store.error().detail);
    return 1;
  }
  ClientOptions options;
  options.url = argv[1];
  options.user = argv[2];
  options.device = argv[3];
  options.token = [token = std::string(argv[4])] { return token; };
  options.store = std::move(*store);
  options.dialect = std::string_view(argv[7]) == "json" ? Dialect::json : Dialect::binary;
  options.recent = static_cast<std::uint32_t>(std::atoi(argv[8]));
  options.page_limit = static_cast<std::uint32_t>(std::atoi(argv[9]));
  options.retry_min_ms = 50;
  options.retry_max_ms = 1'000;
  App app(log);
  if (const auto started = app.start(std::move(options)); !started) {
    log.line("not_started {}", started.error().message());
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);)
    if (!app.command(std::istringstream(line))) break;
  log.line("stop");
  return 0;
}
