// The chat's screen as a function of its state: the conversations on the left, the open one on the right, the line
// being written at the bottom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/terminal/frame.h"
#include "client/terminal/line_editor.h"
#include "core/replica/events.h"
#include "core/replica/state.h"
#include "core/results.h"

namespace tidemark::terminal {

struct ConversationLine {
  ConversationId id = {};
  std::string name = {};
  std::string unread = {};  // as unread_text says it, with @ before it when the user is meant, "" when nothing is
  std::string time = {};
  std::string preview = {};
  bool open = false;
};

/// What became of a message that is the user's own; `delivered` and `read`: by all others who tell.
enum class Delivery : std::uint8_t { none, pending, sent, undecided, failed, delivered, read };

struct MessageLine {
  std::string time = {};
  std::string sender = {};  // "" for a change, such as somebody joining
  std::string text = {};    // may hold line breaks
  bool mine = false;
  bool faded = false;  // a change, or a message that is dead
  Delivery delivery = Delivery::none;
  std::string reason = {};  // why it failed
};

/// How far back the messages of the open conversation go.
enum class Above : std::uint8_t { unknown, fetching, beginning };

struct ChatState {
  std::string user;
  std::string device;
  replica::LinkState link = replica::LinkState::offline;
  std::string trouble;                          // why there is no connection
  std::vector<ConversationLine> conversations;  // newest first
  std::string title;                            // of the open conversation, "" when none is
  std::vector<MessageLine> messages;            // ascending
  Above above = Above::unknown;
  int scroll = 0;  // rows of messages below the bottom of the screen
  LineEditor input;
  std::vector<std::string> help;  // shown instead of the messages while there is any
  std::string notice;             // above the input, three rows at most
};

struct ChatScreen {
  Frame frame;
  int scroll = 0;      // as far as it could be scrolled, at most what the state asked for
  int scroll_max = 0;  // with it the first message is at the top
  int page_rows = 1;   // rows that show messages
};

/// Draws. Total: any size of at least 1 × 1 gives a frame of that size; what has no room is left out.
ChatScreen draw_chat(const ChatState& state, int width, int height);

// From what the client holds to lines.

ConversationLine conversation_line(const Change& conversation, std::int64_t now_ms, std::int64_t utc_offset_s);
MessageLine message_line(const Entry& entry, const UserId& me, std::int64_t now_ms, std::int64_t utc_offset_s);
/// How far a message that is sent has come, by what the others tell.
Delivery delivery_of(Seq seq, const std::vector<Receipt>& receipts);
MessageLine outbox_line(const replica::OutboxItem& item, const UserId& me, std::int64_t now_ms,
                        std::int64_t utc_offset_s);
/// "online", "offline: ..." and so on.
std::string link_text(replica::LinkState link, const std::string& trouble);

}  // namespace tidemark::terminal
