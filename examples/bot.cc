// A bot that answers every message exactly once, whenever it or its server dies in between:
//
//     bot ws://127.0.0.1:7700/v1/ws USER TOKEN bot.db
//
// It does not answer events but what is unread: an event is told once, what is unread is still there after a restart.
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "client/client.h"

using namespace tidemark;

class Bot {
 public:
  Bot(Client& client, UserId me) : client_(client), me_(std::move(me)) {}

  void history_came(const ConversationId& conversation) { waiting_.erase(conversation); }

  void answer_all() {
    // In this order: what left the outbox before we looked is among the rows.
    const std::vector<OutboxItem> outbox = client_.outbox();
    for (const Change& chat : client_.conversations())
      if (chat.unread.count > 0) answer(chat, outbox);
  }

 private:
  void answer(const Change& chat, const std::vector<OutboxItem>& outbox) {
    // All that is not read yet, and nothing that came since.
    const auto rows = client_.timeline(chat.conversation, chat.head_seq + 1, chat.head_seq - chat.read).rows;
    for (const TimelineRow& row : rows) {
      const Entry& message = *row.entry;
      if (message.seq <= chat.read) continue;
      if (row.gap_before && message.seq > chat.read + 1 && !filled(chat.conversation, message.seq)) return;
      if (message.sender == me_ || !message.countable() || message.dead()) continue;
      if (!answered(chat.conversation, message.seq, rows, outbox) && !reply(chat.conversation, message)) return;
    }
    if (!rows.empty()) (void)client_.mark_read(chat.conversation, rows.back().entry->seq);
  }

  /// Messages are missing in front of this one: asks for them, and is true when no more of them can be had.
  bool filled(const ConversationId& conversation, Seq message) {
    if (waiting_.contains(conversation)) return false;
    if (std::exchange(asked_[conversation], message) == message) return true;
    waiting_.insert(conversation);
    client_.scroll_back(conversation, message);  // a HistoryEvent will follow
    return false;
  }

  /// Who died after the answer was stored, and before the message was marked as read, finds the answer again.
  bool answered(const ConversationId& conversation, Seq message, const std::vector<TimelineRow>& rows,
                const std::vector<OutboxItem>& outbox) const {
    for (const OutboxItem& item : outbox)
      if (item.conversation == conversation && item.reply_to == message) return true;
    for (const TimelineRow& row : rows)
      if (row.entry->sender == me_ && row.entry->reply_to == message) return true;
    return false;
  }

  bool reply(const ConversationId& conversation, const Entry& message) {
    Draft draft;
    draft.conversation = conversation;
    draft.reply_to = message.seq;
    draft.body.text = message.body.text + "? Tell me more.";
    const auto sent = client_.send(draft);
    if (!sent) std::fprintf(stderr, "bot: %s\n", sent.error().message().c_str());
    return sent.has_value();
  }

  Client& client_;
  UserId me_;
  std::map<ConversationId, Seq> asked_;
  std::set<ConversationId> waiting_;
};

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bot URL USER TOKEN STORE\n");
    return 2;
  }
  auto store = open_sqlite_store(argv[4]);
  if (!store) {
    std::fprintf(stderr, "bot: %s\n", store.error().detail.c_str());
    return 1;
  }
  ClientOptions options;
  options.url = argv[1];
  options.user = argv[2];
  options.token = [token = std::string(argv[3])] { return token; };
  options.device = "bot";
  options.store = std::move(*store);
  auto client = Client::start(options);
  if (!client) {
    std::fprintf(stderr, "bot: %s\n", client.error().message().c_str());
    return 1;
  }
  Bot bot(**client, UserId(options.user));
  for (;;) {
    const auto event = (*client)->next_event(60'000);
    const auto* link = event ? std::get_if<LinkEvent>(&*event) : nullptr;
    if (link != nullptr && link->state == LinkState::refused) {
      std::fprintf(stderr, "bot: refused: %s\n", (*client)->link_trouble().c_str());
      return 1;
    }
    if (const auto* history = event ? std::get_if<HistoryEvent>(&*event) : nullptr)
      bot.history_came(history->conversation);
    // While it catches up, its own answers may be on their way to it.
    if ((*client)->link() == LinkState::in_step) bot.answer_all();
  }
}
