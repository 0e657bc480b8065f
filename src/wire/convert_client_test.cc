// What a client makes of frames: the server's own conversion, there and back through both dialects.
#include "wire/convert_client.h"

#include <gtest/gtest.h>

#include "tidemark.pb.h"
#include "wire/convert.h"
#include "wire/dialect.h"

namespace tidemark {
namespace {

Entry sample_entry() {
  Entry entry;
  entry.seq = Seq(7);
  entry.ord = 5;
  entry.server_time = 1'700'000'000'123;
  entry.sender = UserId("1001");
  entry.sender_device = DeviceId("phone");
  entry.client_msg_id = "018bcfe5-687b-7000-8000-000000000001";
  entry.client_time = 1'700'000'000'000;
  entry.priority = Priority::high;
  entry.state = MessageState::edited;
  entry.revision = Seq(6);
  entry.reply_to = Seq(3);
  entry.mentions = {UserId("1002")};
  entry.body.text = "早上好";
  entry.body.data = R"({"a": 1})";
  entry.body.attachments = {{"https://example.org/a.png", 12, "image/png", "abc", 5}};
  entry.body.encrypted = std::string("\0\1\2", 3);
  return entry;
}

Change sample_change() {
  Change change;
  change.conversation = ConversationId("1001_1002");
  change.mark = Mark(40);
  change.head_seq = Seq(9);
  change.top = Seq(7);
  change.sort_time = 1'700'000'000'124;
  change.member = true;
  change.role = Role::admin;
  change.periods = {{Seq(1), Seq(0), Seq(1)}};
  change.read = Seq(4);
  change.unread_flag = true;
  change.unread = {2, false};
  change.cleared = Seq(1);
  change.touch_seq = Seq(8);
  change.title = "title";
  change.peer = UserId("1002");
  change.preview = {Seq(7), UserId("1001"), 1'700'000'000'123, MessageState::edited, "text", "早上", true};
  change.messages = {sample_entry()};
  change.covers = {Seq(5), Seq(9)};
  change.more_messages = true;
  change.hidden = {{Seq(5), Seq(6), HiddenReason::roaming}};
  return change;
}

class ConvertClient : public ::testing::TestWithParam<Dialect> {
 protected:
  replica::ServerFrame travel(const pb::ServerFrame& frame) {
    std::string bytes;
    encode_server_frame(GetParam(), frame, bytes);
    const auto decoded = decode_server_frame(GetParam(), bytes);
    EXPECT_TRUE(decoded.has_value());
    return frame_from(*decoded);
  }
  pb::ClientFrame travel(const replica::Request& request) {
    pb::ClientFrame frame;
    to_pb(request, HelloExtras{"token", "desktop", "1.0"}, frame);
    std::string bytes;
    encode_client_frame(GetParam(), frame, bytes);
    auto decoded = decode_client_frame(GetParam(), bytes);
    EXPECT_TRUE(decoded.has_value()) << (decoded ? "" : decoded.error().error.message());
    return decoded.value_or(pb::ClientFrame{});
  }
};

INSTANTIATE_TEST_SUITE_P(BothDialects, ConvertClient, ::testing::Values(Dialect::binary, Dialect::json),
                         [](const auto& instance) { return instance.param == Dialect::binary ? "binary" : "json"; });

TEST_P(ConvertClient, ASyncPageArrivesAsItWasRead) {
  SyncPage page;
  page.changes = {sample_change()};
  page.after = Mark(10);
  page.to = Mark(40);
  page.p0 = Mark(40);
  page.p0_round = 17;
  page.head = Mark(41);
  page.more = true;
  page.next = {{2, 0xfedcba9876543210}, Mark(40), 17};
  pb::ServerFrame frame;
  frame.set_id(9);
  to_pb(page, *frame.mutable_sync());
  frame.mutable_sync()->set_page_token("token");
  const replica::ServerFrame got = travel(frame);
  EXPECT_EQ(got.id, 9u);
  const auto& answer = std::get<replica::SyncAnswer>(got.answer);
  ASSERT_EQ(answer.page.changes.size(), 1u);
  EXPECT_EQ(answer.page.changes[0], sample_change());
  EXPECT_EQ(answer.page.next, page.next);
  EXPECT_EQ(answer.page.after, page.after);
  EXPECT_EQ(answer.page.p0_round, 17u);
  EXPECT_EQ(answer.page.head, Mark(41));
  EXPECT_TRUE(answer.page.more);
  EXPECT_EQ(answer.page_token, "token");
}

TEST_P(ConvertClient, PagesOfOneConversationArriveAsTheyWereRead) {
  ConversationPage page;
  page.conversation = ConversationId("1001_1002");
  page.messages = {sample_entry()};
  page.touched = {sample_entry()};
  page.after = Seq(2);
  page.to = Seq(9);
  page.covers = {Seq(5), Seq(9)};
  page.as_of = page.head = Seq(9);
  page.floor = Seq(1);
  page.hole = {Seq(2), Seq(5)};
  page.touch_cursor = Seq(8);
  page.more = true;
  page.hidden = {{Seq(5), Seq(6), HiddenReason::period}};
  pb::ServerFrame frame;
  to_pb(page, *frame.mutable_conversation_sync());
  const auto got = std::get<ConversationPage>(travel(frame).answer);
  EXPECT_EQ(got.messages, page.messages);
  EXPECT_EQ(got.touched, page.touched);
  EXPECT_EQ(got.covers, page.covers);
  EXPECT_EQ(got.hole, page.hole);
  EXPECT_EQ(got.hidden, page.hidden);
  EXPECT_EQ(got.to, page.to);
  EXPECT_EQ(got.floor, page.floor);
  EXPECT_EQ(got.touch_cursor, page.touch_cursor);
  EXPECT_TRUE(got.more);

  HistoryPage history;
  history.conversation = page.conversation;
  history.messages = page.messages;
  history.covers = page.covers;
  history.end = history.pending = true;
  history.as_of = Seq(9);
  pb::ServerFrame second;
  to_pb(history, *second.mutable_history());
  const auto got_history = std::get<HistoryPage>(travel(second).answer);
  EXPECT_EQ(got_history.messages, history.messages);
  EXPECT_EQ(got_history.covers, history.covers);
  EXPECT_TRUE(got_history.end);
  EXPECT_TRUE(got_history.pending);
  EXPECT_EQ(got_history.as_of, Seq(9));
}

TEST_P(ConvertClient, APushItemKeepsItsIntervalsAndItsEcho) {
  PushItem item;
  item.index_after = Mark(4);
  item.index_to = Mark(5);
  item.round = 6;
  item.sort_time = 77;
  item.client_msg_id = "id";
  item.summary = std::make_shared<const Change>(sample_change());
  pb::PushItem header;
  header_to_pb(item, header);
  pb::Message entry;
  to_pb(sample_entry(), ConversationId("1001_1002"), entry);
  const std::string shared = encode_shared_entry(GetParam(), "1001_1002", 6, 7, &entry);
  const PushHeader own = encode_push_header(GetParam(), header);
  const PushPart parts[] = {{own.front, shared, own.back}};
  std::string bytes;
  append_push_frame(GetParam(), parts, bytes);
  const auto decoded = decode_server_frame(GetParam(), bytes);
  ASSERT_TRUE(decoded.has_value());
  const auto push = std::get<replica::Push>(frame_from(*decoded).answer);
  ASSERT_EQ(push.items.size(), 1u);
  EXPECT_EQ(push.items[0].index_after, Mark(4));
  EXPECT_EQ(push.items[0].index_to, Mark(5));
  EXPECT_EQ(push.items[0].round, 6u);
  EXPECT_EQ(push.items[0].client_msg_id, "id");
  EXPECT_EQ(push.items[0].conversation, ConversationId("1001_1002"));
  EXPECT_EQ(*push.items[0].entry, sample_entry());
  EXPECT_EQ(*push.items[0].summary, sample_change());
}

TEST_P(ConvertClient, WhatIsUnknownIsOpaqueAndKeepsItsPlace) {
  pb::ServerFrame frame;
  pb::PushItem& item = *frame.mutable_push()->add_items();
  item.set_index_to(5);
  item.set_conversation_id("1001_1002");
  item.set_after(6);
  item.set_to(7);
  item.mutable_entry();
  const auto push = std::get<replica::Push>(travel(frame).answer);
  ASSERT_TRUE(push.items[0].entry != nullptr);
  EXPECT_EQ(push.items[0].entry->seq, Seq(7));
  EXPECT_FALSE(push.items[0].entry->countable());
  EXPECT_TRUE(std::holds_alternative<replica::Unknown>(frame_from(pb::ServerFrame{}).answer));
}

TEST_P(ConvertClient, ErrorsKeepCodeFieldAndDetail) {
  const Error refusal{ErrorCode::RATE_LIMITED, "to", "10 a second.", 1'500};
  pb::ServerFrame frame;
  to_pb(refusal, *frame.mutable_error());
  EXPECT_EQ(std::get<Error>(travel(frame).answer), refusal);

  frame.mutable_error()->set_code("SOMETHING_NEW");
  frame.mutable_error()->set_retryable(true);
  EXPECT_EQ(std::get<Error>(travel(frame).answer).code, ErrorCode::RETRY_LATER);
  frame.mutable_error()->set_retryable(false);
  EXPECT_EQ(std::get<Error>(travel(frame).answer).code, ErrorCode::INTERNAL);
}

TEST_P(ConvertClient, RequestsReadBackOnTheServersSide) {
  replica::Hello hello{DeviceId("phone"), InstallId("install"), {{2, 3}, Mark(4), 5}, 6, 7};
  const pb::ClientFrame greeting = travel(replica::Request{1, hello});
  EXPECT_EQ(greeting.id(), 1u);
  const auto login = login_from(greeting.hello());
  ASSERT_TRUE(login.has_value());
  EXPECT_EQ(login->device, hello.device);
  EXPECT_EQ(login->install, hello.install);
  EXPECT_EQ(login->cursor, hello.cursor);
  EXPECT_EQ(login->generation, 6u);
  EXPECT_EQ(greeting.hello().token(), "token");

  replica::Sync sync{hello.cursor, Mark(9), 8, Mark(7), 200, Bodies::recent, 20, 0, ""};
  const auto query = sync_from(travel(replica::Request{2, sync}).sync());
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->cursor, sync.cursor);
  EXPECT_EQ(query->p0, sync.p0);
  EXPECT_EQ(query->p0_round, sync.p0_round);
  EXPECT_EQ(query->below, sync.below);
  EXPECT_EQ(query->bodies, Bodies::recent);
  EXPECT_EQ(query->recent, 20u);

  replica::Send send;
  send.to = UserId("1002");
  send.client_msg_id = "id";
  send.client_time = 11;
  send.body = sample_entry().body;
  send.reply_to = Seq(3);
  send.mentions = {UserId("1002")};
  send.priority = Priority::low;
  const auto command = send_from(travel(replica::Request{3, send}).send());
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->to, send.to);
  EXPECT_EQ(command->body, send.body);
  EXPECT_EQ(command->client_msg_id, "id");
  EXPECT_EQ(command->client_time, 11);
  EXPECT_EQ(command->reply_to, Seq(3));
  EXPECT_EQ(command->mentions, send.mentions);
  EXPECT_EQ(command->priority, Priority::low);

  replica::Mutate read{{4, replica::MutationKind::read, ConversationId("1001_1002"), Seq(9)}};
  const auto mutate = mutate_from(travel(replica::Request{4, read}).mutate());
  ASSERT_TRUE(mutate.has_value());
  EXPECT_EQ(mutate->number, 4u);
  EXPECT_EQ(std::get<ReadCommand>(mutate->change).seq, Seq(9));

  replica::ConversationSync gap{ConversationId("1001_1002"), Seq(4), {{Seq(1), Seq(4)}}, 50, Seq(5), Seq(6)};
  const auto gap_query = conversation_sync_from(travel(replica::Request{5, gap}).conversation_sync());
  EXPECT_EQ(gap_query.after, gap.after);
  EXPECT_EQ(gap_query.known, gap.known);
  EXPECT_EQ(gap_query.touch_cursor, gap.touch_cursor);
  EXPECT_EQ(gap_query.to, gap.to);

  replica::History history{ConversationId("1001_1002"), Seq(40), std::nullopt, 50};
  const auto history_query = history_from(travel(replica::Request{6, history}).history());
  ASSERT_TRUE(history_query.has_value());
  EXPECT_EQ(history_query->before, Seq(40));
  EXPECT_FALSE(history_query->after.has_value());
}

}  // namespace
}  // namespace tidemark
