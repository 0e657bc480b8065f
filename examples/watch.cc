// A device that prints what happens, until it is in step and nothing has come for a while:
//
//     watch ws://127.0.0.1:7700/v1/ws USER TOKEN watch.db [QUIET_MS]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "client/client.h"

using namespace tidemark;

namespace {

/// One line for each kind of event.
struct Print {
  const Client& client;

  void operator()(const MessageEvent& event) const {
    const Entry& row = *event.entry;
    line(event.conversation, std::string(event.appeared ? "message " : "changed ") + std::to_string(row.seq.value) +
                                 " " + row.sender.value + ": " + row.body.text);
  }
  void operator()(const ConversationEvent& event) const { line(event.conversation, event.removed ? "gone" : "listed"); }
  void operator()(const UnreadEvent& event) const {
    line(event.conversation, std::to_string(event.unread.count) + (event.unread.exact ? " unread" : "+ unread"));
  }
  void operator()(const OutboxEvent& event) const {
    if (event.outcome == OutboxOutcome::sent) line(event.conversation, "sent as " + std::to_string(event.seq.value));
    if (event.error) line(event.conversation, "not sent: " + event.error->message());
  }
  void operator()(const ChangeEvent& event) const {
    if (event.outcome == ChangeOutcome::done) line(event.conversation, "changed as asked");
  }
  void operator()(const ChangeRefusedEvent& event) const { line(event.conversation, event.error.message()); }
  void operator()(const LostEvent& event) const {
    line(event.conversation, "the server was restored and lost messages");
  }
  void operator()(const RowsGoneEvent& event) const { line(event.conversation, "messages are hidden by now"); }
  void operator()(const ObjectEvent&) const { std::printf("a draft, a setting or a block has changed\n"); }
  void operator()(const GroupEvent&) const {}
  void operator()(const ReactionsEvent&) const {}
  void operator()(const BodyEvent&) const {}
  void operator()(const MembersEvent&) const {}
  void operator()(const DevicesEvent&) const {}
  void operator()(const ReceiptsEvent& event) const { line(event.conversation, event.off ? "" : "others have read"); }
  void operator()(const HistoryEvent& event) const { line(event.conversation, event.end ? "the beginning" : "older"); }
  void operator()(const PresenceEvent& event) const {
    std::printf("%s is %s\n", event.user.value.c_str(), event.online ? "online" : "offline");
  }
  void operator()(const PassingEvent& event) const { line(event.conversation, event.sender.value + ": " + event.type); }
  void operator()(const LinkEvent& event) const {
    if (event.state == LinkState::in_step) std::printf("in step\n");
    if (event.state == LinkState::offline) std::printf("offline: %s\n", client.link_trouble().c_str());
    if (event.state == LinkState::refused) std::printf("refused: %s\n", client.link_trouble().c_str());
  }
  void operator()(const EventsLost&) const { std::printf("too many events at once: look at everything anew\n"); }

  static void line(const ConversationId& conversation, const std::string& text) {
    std::printf("%s: %s\n", conversation.value.c_str(), text.c_str());
  }
};

/// What is held, without asking anybody.
void print_list(const Client& client) {
  for (const Change& chat : client.conversations()) {
    const std::string& name = chat.title.empty() ? chat.peer.value : chat.title;
    std::printf("%s: with %s, %u unread, %s\n", chat.conversation.value.c_str(), name.c_str(), chat.unread.count,
                chat.preview.text.c_str());
    for (const TimelineRow& row : client.timeline(chat.conversation, {}, 3).rows)
      std::printf("  %s%s: %s\n", row.gap_before ? "... " : "", row.entry->sender.value.c_str(),
                  row.entry->body.text.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: watch URL USER TOKEN STORE [QUIET_MS]\n");
    return 2;
  }
  auto store = open_sqlite_store(argv[4]);
  if (!store) {
    std::fprintf(stderr, "watch: %s\n", store.error().detail.c_str());
    return 1;
  }
  ClientOptions options;
  options.url = argv[1];
  options.user = argv[2];
  options.token = [token = std::string(argv[3])] { return token; };
  options.device = "watch";
  options.store = std::move(*store);
  auto client = Client::start(options);
  if (!client) {
    std::fprintf(stderr, "watch: %s\n", client.error().message().c_str());
    return 1;
  }
  print_list(**client);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::int64_t quiet_ms = argc > 5 ? std::atoll(argv[5]) : 3'000;
  while (auto event = (*client)->next_event(quiet_ms)) {
    std::visit(Print{**client}, *event);
  }
  return (*client)->link() == LinkState::in_step ? 0 : 1;
}
