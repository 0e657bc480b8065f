#include "client/terminal/chat_view.h"

#include <algorithm>

#include "client/terminal/entry_text.h"
#include "client/terminal/text_width.h"
#include "client/terminal/when.h"

namespace tidemark::terminal {
namespace {

constexpr int kListLeast = 18;
constexpr int kListMost = 34;
constexpr int kWidthForList = 56;  // narrower terminals show the open conversation alone
constexpr int kSenderMost = 14;
constexpr int kHeightForNotices = 10;  // lower terminals give a notice one row
constexpr std::size_t kNoticeRowsMost = 3;
constexpr Style kGrey{.colour = Colour::grey};

struct Layout {
  int width;
  int height;
  int list_width;  // 0 without a list
  int right;       // first column of the messages
  int body_rows;   // between header and notice
};

/// The notice above the input; one row is kept for it even when it says nothing.
std::vector<std::string> notice_rows(const std::string& notice, int width, int height) {
  std::vector<std::string> rows = wrap(notice, width);
  rows.resize(std::min<std::size_t>(rows.size(), height < kHeightForNotices ? 1 : kNoticeRowsMost));
  return rows;
}

Layout layout_of(int width, int height, int notice_height) {
  Layout layout{width, height, 0, 0, std::max(0, height - 2 - notice_height)};
  if (width >= kWidthForList) {
    layout.list_width = std::clamp(width / 4, kListLeast, kListMost);
    layout.right = layout.list_width + 3;
  }
  return layout;
}

Style link_style(replica::LinkState link) {
  switch (link) {
    case replica::LinkState::in_step:
      return {.colour = Colour::green, .bold = true, .inverse = true};
    case replica::LinkState::greeting:
    case replica::LinkState::catching_up:
      return {.colour = Colour::yellow, .inverse = true};
    case replica::LinkState::offline:
    case replica::LinkState::refused:
      return {.colour = Colour::red, .bold = true, .inverse = true};
  }
  return {.inverse = true};
}

void draw_header(const ChatState& state, const Layout& layout, Frame& frame) {
  const std::string who = " " + printable(state.user) + " on " + printable(state.device);
  const std::string link = clip("● " + printable(link_text(state.link, state.trouble)) + " ", layout.width);
  const int link_column = layout.width - columns_of(link);
  frame.put(0, 0, fit(who, link_column), {.bold = true, .inverse = true});
  frame.put(0, link_column, link, link_style(state.link));
}

/// Two rows for each conversation; the open one is always among those shown.
void draw_list(const ChatState& state, const Layout& layout, Frame& frame) {
  if (layout.list_width == 0) return;
  for (int row = 0; row < layout.body_rows; ++row) frame.put(1 + row, layout.list_width + 1, "│", kGrey);
  const int fitting = std::max(1, layout.body_rows / 2);
  const auto open = std::ranges::find_if(state.conversations, [](const auto& line) { return line.open; });
  const int at = open == state.conversations.end() ? 0 : static_cast<int>(open - state.conversations.begin());
  const int first = std::max(0, at - fitting + 1);
  int row = 1;
  for (std::size_t i = static_cast<std::size_t>(first); i < state.conversations.size() && row <= layout.body_rows;
       ++i) {
    const ConversationLine& line = state.conversations[i];
    const std::string unread = line.unread.empty() ? "" : " " + line.unread;
    const int name_width = layout.list_width - columns_of(unread);
    auto& spans = frame.rows[static_cast<std::size_t>(row)].spans;
    auto put = [&spans](int column, std::string text, Style style) {
      // In front of the border, which is there already.
      spans.insert(spans.end() - 1, Span{column, std::move(text), style});
    };
    put(0, fit(line.name, name_width), {.bold = !unread.empty() || line.open, .inverse = line.open});
    if (!unread.empty()) put(name_width, unread, {.colour = Colour::green, .bold = true, .inverse = line.open});
    if (++row > layout.body_rows) break;
    auto& below = frame.rows[static_cast<std::size_t>(row)].spans;
    const std::string preview = line.time + (line.time.empty() ? "" : " ") + line.preview;
    below.insert(below.end() - 1, Span{0, clip(preview, layout.list_width), kGrey});
    ++row;
  }
}

struct MessageColumns {
  int time = 0;
  int sender = 0;
  int text = 10;  // width
};

MessageColumns columns_for(const ChatState& state, int width) {
  MessageColumns columns;
  for (const MessageLine& line : state.messages) {
    columns.time = std::max(columns.time, columns_of(line.time));
    columns.sender = std::max(columns.sender, std::min(kSenderMost, columns_of(printable(line.sender))));
  }
  if (width < 30) columns.time = 0;
  columns.text = std::max(8, width - columns.time - columns.sender - (columns.time > 0 ? 4 : 2));
  return columns;
}

std::string delivery_mark(const MessageLine& line) {
  switch (line.delivery) {
    case Delivery::none:
      return {};
    case Delivery::pending:
      return " … pending";
    case Delivery::sent:
      return " ✓";
    case Delivery::delivered:
      return " ✓✓";
    case Delivery::read:
      return " ✓✓ read";
    case Delivery::undecided:
      return " ? perhaps not sent: /resend or /discard";
    case Delivery::failed:
      return " ✗ not sent: " + printable(line.reason) + " /resend or /discard";
  }
  return {};
}

Style delivery_style(Delivery delivery) {
  if (delivery == Delivery::pending || delivery == Delivery::undecided) return {.colour = Colour::yellow};
  if (delivery == Delivery::failed) return {.colour = Colour::red};
  return kGrey;
}

/// The rows of one message, at the columns of the right side.
std::vector<Row> message_rows(const MessageLine& line, const Layout& layout, const MessageColumns& columns) {
  const int sender_column = layout.right + (columns.time > 0 ? columns.time + 2 : 0);
  const int text_column = sender_column + columns.sender + 2;
  const Style style = line.faded ? kGrey : Style{};
  std::vector<Row> rows;
  for (const std::string& text : wrap(line.text, columns.text)) rows.push_back({{{text_column, text, style}}});
  if (columns.time > 0) rows.front().spans.insert(rows.front().spans.begin(), {layout.right, line.time, kGrey});
  if (!line.sender.empty())
    rows.front().spans.insert(rows.front().spans.end() - 1,
                              {sender_column,
                               fit(printable(line.sender), columns.sender, Align::right),
                               {.colour = line.mine ? Colour::cyan : Colour::magenta, .bold = true}});
  const std::string mark = delivery_mark(line);
  if (mark.empty()) return rows;
  const int used = columns_of(rows.back().spans.back().text);
  const Style mark_style = delivery_style(line.delivery);
  if (used + columns_of(mark) <= columns.text) {
    rows.back().spans.push_back({text_column + used, mark, mark_style});
  } else {
    for (const std::string& text : wrap(mark.substr(1), columns.text))
      rows.push_back({{{text_column, text, mark_style}}});
  }
  return rows;
}

std::vector<Row> all_message_rows(const ChatState& state, const Layout& layout) {
  std::vector<Row> rows;
  const MessageColumns columns = columns_for(state, layout.width - layout.right);
  if (state.above == Above::fetching) rows.push_back({{{layout.right, "older messages are coming …", kGrey}}});
  if (state.above == Above::beginning) rows.push_back({{{layout.right, "— the beginning —", kGrey}}});
  for (const MessageLine& line : state.messages)
    for (Row& row : message_rows(line, layout, columns)) rows.push_back(std::move(row));
  return rows;
}

void add_to_row(Frame& frame, int row, Row more) {
  if (row < 0 || row >= frame.height) return;
  auto& spans = frame.rows[static_cast<std::size_t>(row)].spans;
  for (Span& span : more.spans) {
    if (span.column >= frame.width) continue;
    span.text = clip(span.text, frame.width - span.column);
    spans.push_back(std::move(span));
  }
}

void draw_help(const ChatState& state, const Layout& layout, Frame& frame) {
  int row = 1;
  for (const std::string& line : state.help)
    for (const std::string& text : wrap(line, layout.width - layout.right))
      if (row <= layout.body_rows) frame.put(row++, layout.right, text);
}

void draw_messages(const ChatState& state, const Layout& layout, ChatScreen& screen) {
  const int title_rows = layout.body_rows > 2 ? 1 : 0;
  const std::string title =
      state.title.empty() ? "no conversation is open: /to USER begins one, /help tells more" : state.title;
  if (title_rows > 0) screen.frame.put(1, layout.right, printable(title), {.bold = !state.title.empty()});
  screen.page_rows = std::max(1, layout.body_rows - title_rows);
  const std::vector<Row> rows = all_message_rows(state, layout);
  const int total = static_cast<int>(rows.size());
  screen.scroll_max = std::max(0, total - screen.page_rows);
  screen.scroll = std::clamp(state.scroll, 0, screen.scroll_max);
  if (layout.body_rows == 0) return;
  const int last = total - screen.scroll;
  const int first = std::max(0, last - screen.page_rows);
  const int top = 1 + title_rows + screen.page_rows - (last - first);
  for (int i = first; i < last; ++i) add_to_row(screen.frame, top + i - first, rows[static_cast<std::size_t>(i)]);
}

void draw_bottom(const ChatState& state, const Layout& layout, const ChatScreen& screen, Frame& frame) {
  const std::vector<std::string> notice = notice_rows(state.notice, layout.width, layout.height);
  const Style yellow{.colour = Colour::yellow};
  if (layout.height >= 3)
    for (std::size_t i = 0; i < notice.size(); ++i)
      frame.put(layout.height - 1 - static_cast<int>(notice.size() - i), 0, notice[i], yellow);
  if (layout.height >= 3 && state.notice.empty() && screen.scroll > 0)
    frame.put(layout.height - 2, 0, "PageDown: newer messages", yellow);
  const int row = layout.height - 1;
  const int left = layout.width > 10 ? 2 : 0;
  if (left > 0) frame.put(row, 0, ">", {.colour = Colour::cyan, .bold = true});
  const LineEditor::Window window = state.input.window(layout.width - left);
  frame.put(row, left, window.text);
  frame.cursor_row = row;
  frame.cursor_column = std::min(left + window.cursor_column, layout.width - 1);
}

}  // namespace

ChatScreen draw_chat(const ChatState& state, int width, int height) {
  width = std::max(width, 1);
  height = std::max(height, 1);
  const Layout layout = layout_of(width, height, static_cast<int>(notice_rows(state.notice, width, height).size()));
  ChatScreen screen;
  screen.frame = Frame::blank(layout.width, layout.height);
  if (layout.height >= 2) draw_header(state, layout, screen.frame);
  draw_list(state, layout, screen.frame);
  if (state.help.empty())
    draw_messages(state, layout, screen);
  else
    draw_help(state, layout, screen.frame);
  draw_bottom(state, layout, screen, screen.frame);
  return screen;
}

ConversationLine conversation_line(const Change& conversation, std::int64_t now_ms, std::int64_t utc_offset_s) {
  return {.id = conversation.conversation,
          .name = conversation_name(conversation),
          .unread = (conversation.mentions > 0 || conversation.all_mentioned_at ? "@" : "") +
                    unread_text(conversation.unread, conversation.unread_flag),
          .time = short_time(conversation.sort_time, now_ms, utc_offset_s),
          .preview = preview_text(conversation)};
}

MessageLine message_line(const Entry& entry, const UserId& me, std::int64_t now_ms, std::int64_t utc_offset_s) {
  MessageLine line;
  line.time = short_time(entry.server_time, now_ms, utc_offset_s);
  line.text = entry_text(entry);
  line.mine = entry.sender == me;
  line.faded = !entry.countable() || entry.dead();
  if (entry.countable()) line.sender = entry.sender.value;
  if (entry.countable() && line.mine && !entry.dead()) line.delivery = Delivery::sent;
  return line;
}

Delivery delivery_of(Seq seq, const std::vector<Receipt>& receipts) {
  if (receipts.empty()) return Delivery::sent;
  if (std::ranges::all_of(receipts, [&](const Receipt& each) { return each.read >= seq; })) return Delivery::read;
  const bool all = std::ranges::all_of(receipts, [&](const Receipt& each) { return each.delivered >= seq; });
  return all ? Delivery::delivered : Delivery::sent;
}

MessageLine outbox_line(const replica::OutboxItem& item, const UserId& me, std::int64_t now_ms,
                        std::int64_t utc_offset_s) {
  MessageLine line;
  line.time = short_time(item.id_time_ms, now_ms, utc_offset_s);
  line.sender = me.value;
  line.text = item.body.text;
  line.mine = true;
  line.delivery = Delivery::pending;
  if (item.state == replica::OutboxState::undecided) line.delivery = Delivery::undecided;
  if (item.state == replica::OutboxState::failed) line.delivery = Delivery::failed;
  if (item.error) line.reason = item.error->message();
  return line;
}

std::string link_text(replica::LinkState link, const std::string& trouble) {
  switch (link) {
    case replica::LinkState::in_step:
      return "online";
    case replica::LinkState::greeting:
      return "connecting";
    case replica::LinkState::catching_up:
      return "catching up";
    case replica::LinkState::offline:
      return trouble.empty() ? "offline, trying again" : "offline (" + trouble + "), trying again";
    case replica::LinkState::refused:
      return trouble.empty() ? "refused" : "refused: " + trouble;
  }
  return {};
}

}  // namespace tidemark::terminal
