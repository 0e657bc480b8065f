#include "client/terminal/chat_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "client/terminal/text_width.h"

namespace tidemark::terminal {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ChatState small_chat() {
  ChatState state;
  state.user = "ann";
  state.device = "phone";
  state.link = replica::LinkState::in_step;
  state.conversations = {
      {.id = ConversationId("group_1"), .name = "午饭", .unread = "3", .time = "18:34", .preview = "ben: 几点？"},
      {.id = ConversationId("ann_ben"), .name = "ben", .time = "18:30", .preview = "see you", .open = true}};
  state.title = "ben";
  state.messages = {{.time = "18:29", .sender = "ben", .text = "Hello Ann"},
                    {.time = "18:30", .sender = "ann", .text = "see you", .mine = true, .delivery = Delivery::sent},
                    {.time = "18:31", .sender = "ann", .text = "soon", .mine = true, .delivery = Delivery::pending}};
  state.above = Above::beginning;
  return state;
}

std::vector<std::string> text_of(const ChatState& state, int width, int height) {
  return draw_chat(state, width, height).frame.text();
}

TEST(ChatView, ShowsListMessagesAndInputInTheirPlaces) {
  ChatState state = small_chat();
  state.input.insert("你好");
  EXPECT_THAT(text_of(state, 60, 10), ElementsAre(" ann on phone                                      ● online",  //
                                                  "午饭             3 │ ben",                                     //
                                                  "18:34 ben: 几点？  │",                                         //
                                                  "ben                │",                                         //
                                                  "18:30 see you      │ — the beginning —",                       //
                                                  "                   │ 18:29  ben  Hello Ann",                   //
                                                  "                   │ 18:30  ann  see you ✓",                   //
                                                  "                   │ 18:31  ann  soon … pending",              //
                                                  "",                                                             //
                                                  "> 你好"));
  const ChatScreen screen = draw_chat(state, 60, 10);
  EXPECT_EQ(screen.frame.cursor_row, 9);
  EXPECT_EQ(screen.frame.cursor_column, 6);
}

TEST(ChatView, ANarrowTerminalShowsTheMessagesAlone) {
  const auto lines = text_of(small_chat(), 40, 8);
  EXPECT_THAT(lines, Contains("18:29  ben  Hello Ann"));
  EXPECT_THAT(lines, Each(Not(HasSubstr("│"))));
}

TEST(ChatView, ScrollsBackNoFurtherThanTheFirstMessage) {
  ChatState state = small_chat();
  state.messages.clear();
  for (int i = 1; i <= 30; ++i)
    state.messages.push_back({.time = "18:00", .sender = "ben", .text = "line " + std::to_string(i)});
  EXPECT_THAT(text_of(state, 80, 12), Contains(HasSubstr("line 30")));
  state.scroll = 1'000;
  const ChatScreen top = draw_chat(state, 80, 12);
  EXPECT_EQ(top.page_rows, 8);
  EXPECT_EQ(top.scroll, 31 - 8) << "30 messages and the beginning";
  EXPECT_EQ(top.scroll, top.scroll_max);
  EXPECT_THAT(top.frame.text(), Contains(HasSubstr("line 7")));
  EXPECT_THAT(top.frame.text(), Each(Not(HasSubstr("line 8"))));
  EXPECT_THAT(top.frame.text(), Contains("PageDown: newer messages"));
}

TEST(ChatView, WrapsLongMessagesUnderTheirText) {
  ChatState state = small_chat();
  state.messages = {{.time = "18:29", .sender = "ben", .text = "你好，周六去爬山吗？我们早上七点在地铁站见面\nok"}};
  const auto lines = text_of(state, 40, 10);
  EXPECT_THAT(lines, Contains("18:29  ben  你好，周六去爬山吗？我们早上"));
  EXPECT_THAT(lines, Contains("            七点在地铁站见面"));
  EXPECT_THAT(lines, Contains("            ok"));
}

TEST(ChatView, KeepsTheOpenConversationInTheList) {
  ChatState state = small_chat();
  state.conversations.clear();
  for (int i = 1; i <= 20; ++i)
    state.conversations.push_back(
        {.id = ConversationId("c" + std::to_string(i)), .name = "name" + std::to_string(i), .open = i == 15});
  EXPECT_THAT(text_of(state, 80, 12), Contains(StartsWith("name15")));
}

TEST(ChatView, SaysWhyAMessageWasNotSentAndWhatToDo) {
  ChatState state = small_chat();
  state.messages = {{.time = "18:29",
                     .sender = "ann",
                     .text = "hi",
                     .mine = true,
                     .delivery = Delivery::failed,
                     .reason = "You left."}};
  EXPECT_THAT(text_of(state, 100, 10), Contains(HasSubstr("hi ✗ not sent: You left. /resend or /discard")));
}

TEST(ChatView, ALongNoticeTakesRowsFromTheMessages) {
  ChatState state = small_chat();
  state.notice = "There is no server at http://127.0.0.1:7700. Start one with: tidemark serve --data ./data";
  const auto lines = text_of(state, 60, 12);
  EXPECT_EQ(lines[9], "There is no server at http://127.0.0.1:7700. Start one with:");
  EXPECT_EQ(lines[10], "tidemark serve --data ./data");
  EXPECT_THAT(lines[8], HasSubstr("soon … pending"));
}

TEST(ChatView, ForeignTextCannotCommandTheTerminal) {
  ChatState state = small_chat();
  state.title = "a\x1b[2Jb";
  state.conversations[0].name = printable("x\x1b]0;y");
  state.messages = {{.time = "18:29", .sender = "b\x1b[31m", .text = "c\x1b[2J\rd"}};
  const ChatScreen screen = draw_chat(state, 80, 10);
  for (const Row& row : screen.frame.rows)
    for (const Span& span : row.spans) EXPECT_EQ(span.text.find_first_of("\x1b\r\n"), std::string::npos) << span.text;
}

RC_GTEST_PROP(ChatView, EverySizeGivesAWholeFrame, ()) {
  ChatState state = small_chat();
  state.scroll = *rc::gen::inRange(0, 20);
  state.link = *rc::gen::element(replica::LinkState::offline, replica::LinkState::in_step, replica::LinkState::refused);
  state.trouble = *rc::gen::element<std::string>("", "连接被拒绝", "Connection refused");
  state.input.insert(*rc::gen::element<std::string>("", "你好吗你好吗你好吗", "abc"));
  if (*rc::gen::arbitrary<bool>()) state.help = {"/to USER  chat", "/quit"};
  if (*rc::gen::arbitrary<bool>()) state.notice = "a notice that is longer than the screen";
  const int width = *rc::gen::inRange(1, 130);
  const int height = *rc::gen::inRange(1, 40);
  const ChatScreen screen = draw_chat(state, width, height);
  RC_ASSERT(static_cast<int>(screen.frame.rows.size()) == height);
  RC_ASSERT(screen.frame.cursor_row >= 0 && screen.frame.cursor_row < height);
  RC_ASSERT(screen.frame.cursor_column >= 0 && screen.frame.cursor_column < width);
  for (const Row& row : screen.frame.rows) {
    int at = 0;
    for (const Span& span : row.spans) {
      RC_ASSERT(span.column >= at);
      at = span.column + columns_of(span.text);
      RC_ASSERT(at <= width);
    }
  }
}

TEST(ChatLines, OwnMessagesAreSentAndChangesHaveNoSender) {
  Entry entry;
  entry.sender = UserId("ann");
  entry.server_time = 1'795'953'600'000;
  entry.body.text = "hi";
  const MessageLine own = message_line(entry, UserId("ann"), entry.server_time, 0);
  EXPECT_EQ(own.delivery, Delivery::sent);
  EXPECT_EQ(own.time, "12:00");
  EXPECT_EQ(message_line(entry, UserId("ben"), entry.server_time, 0).delivery, Delivery::none);
  entry.state = MessageState::recalled;
  EXPECT_EQ(message_line(entry, UserId("ben"), entry.server_time, 0).text, "message recalled");
  entry.kind = EntryKind::member;
  entry.member.emplace();
  entry.member->users = {UserId("ann"), UserId("ben"), UserId("chen")};
  const MessageLine joined = message_line(entry, UserId("ann"), entry.server_time, 0);
  EXPECT_EQ(joined.sender, "");
  EXPECT_EQ(joined.text, "ann added ben, chen");
}

TEST(ChatLines, TheListNamesGroupsByTitleAndPeopleByTheirName) {
  Change change;
  change.conversation = ConversationId("ann_ben");
  change.peer = UserId("ben");
  change.sort_time = 1'795'953'600'000;
  change.unread = {.count = 999, .exact = false};
  change.preview.seq = Seq(3);
  change.preview.sender = UserId("ben");
  change.preview.text = "two\nlines";
  change.preview.cut = true;
  ConversationLine line = conversation_line(change, change.sort_time, 0);
  EXPECT_EQ(line.name, "ben");
  EXPECT_EQ(line.unread, "999+");
  change.mentions = 1;
  EXPECT_EQ(conversation_line(change, 0, 0).unread, "@999+");
  change.mentions = 0;
  change.all_mentioned_at = Seq(7);
  EXPECT_EQ(conversation_line(change, 0, 0).unread, "@999+");
  change.all_mentioned_at = {};
  EXPECT_EQ(line.preview, "two lines…");
  change.kind = ConversationKind::group;
  change.title = "午饭";
  change.unread = {};
  change.unread_flag = true;
  line = conversation_line(change, change.sort_time, 0);
  EXPECT_EQ(line.name, "午饭");
  EXPECT_EQ(line.unread, "•");
  EXPECT_EQ(line.preview, "ben: two lines…");
}

}  // namespace
}  // namespace tidemark::terminal
