// Sending once: echo before ack, expired and conflicting ids, order, refusals, crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/replica/replica_testing.h"

namespace tidemark::replica {
namespace {

using ::testing::ElementsAre;

const UserId kAnna("1001");
const UserId kBen("1002");
const ConversationId kChat("1001_1002");
constexpr std::int64_t kDayMs = 24 * kHourMs;

ServerFrame next_down(TestLink& link) {
  TM_CHECK(!link.down.empty(), "the server has sent something");
  ServerFrame frame = std::move(link.down.front());
  link.down.pop_front();
  return frame;
}

std::vector<OutboxOutcome> outcomes(const TestDevice& device) {
  std::vector<OutboxOutcome> outcomes;
  for (const OutboxEvent& event : device.seen<OutboxEvent>()) outcomes.push_back(event.outcome);
  return outcomes;
}

std::size_t log_length(TestServer& server) {
  return server.view.line(kChat).seq.value;
}

/// Moves the device's and the server's clocks, the link being down.
void sleep(TestServer& server, TestDevice& device, std::int64_t ms) {
  device.now.steady_ms += ms;
  device.now.wall_ms += ms;
  server.wall_ms += ms;
}

/// A send whose request reached the server (or did not) and whose answer did not come back.
void send_unanswered(TestServer& server, TestDevice& device, TestLink& link, bool reached) {
  device.send(kBen, "hello");
  const Request request = device.expect<Send>();
  if (reached) server.receive(link, request);
  device.disconnect();
  server.disconnect(link);
}

TEST(Outbox, TheIdIsStoredBeforeItsFirstByteLeaves) {
  TestServer server;
  TestDevice device(kAnna);
  join(server, device);
  Draft draft;
  draft.to = kBen;
  draft.body.text = "hello";
  ASSERT_TRUE(device.replica->send(device.now, draft).has_value());
  const Outputs outputs = device.replica->take_outputs();
  ASSERT_EQ(outputs.requests.size(), 1u);
  ASSERT_EQ(outputs.batch.outbox.size(), 1u);
  const auto& send = std::get<Send>(outputs.requests[0].operation);
  EXPECT_EQ(outputs.batch.outbox[0].client_msg_id, send.client_msg_id);
  EXPECT_EQ(outputs.batch.outbox[0].attempts, 1u) << "the attempt counts before it is known to have left";
  EXPECT_EQ(uuid7_time_ms(send.client_msg_id), send.client_time);
}

TEST(Outbox, WrittenOfflineSentInOrderLater) {
  TestServer server;
  TestDevice device(kAnna);
  for (int i = 1; i <= 5; ++i) device.send(kBen, std::to_string(i));
  device.start();  // and a crash in between
  join(server, device);
  EXPECT_THAT(device.texts(kChat), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_TRUE(device.store.outbox().empty());
  EXPECT_EQ(log_length(server), 5u);
  EXPECT_EQ(device.object(kChat).unread, Unread{}) << "own messages are never unread";
}

TEST(Outbox, ARetryableRefusalHoldsTheOrderAndIsTriedAgain) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.send(kBen, "first");
  device.send(kBen, "second");
  EXPECT_EQ(device.waiting<Send>(), 1u) << "one at a time in a conversation";
  device.answer(device.expect<Send>(), Error{ErrorCode::RATE_LIMITED, "", "", 3'000});
  device.advance(2'999);
  EXPECT_EQ(device.waiting<Send>(), 0u);
  device.advance(1);
  settle(server, device, link);
  EXPECT_THAT(device.texts(kChat), ElementsAre("first", "second"));
}

TEST(Outbox, ARefusalForGoodKeepsTheTextAndLetsOthersPass) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  const std::uint64_t refused = device.send(kBen, "refused");
  device.send(kBen, "next");
  device.answer(device.expect<Send>(), Error{ErrorCode::BLOCKED});
  settle(server, device, link);
  ASSERT_EQ(device.store.outbox().size(), 1u);
  const OutboxItem& kept = device.store.outbox().at(refused);
  EXPECT_EQ(kept.state, OutboxState::failed);
  EXPECT_EQ(kept.body.text, "refused");
  EXPECT_EQ(kept.error->code, ErrorCode::BLOCKED);
  EXPECT_THAT(device.texts(kChat), ElementsAre("next"));

  EXPECT_TRUE(device.replica->discard(device.now, refused).has_value());
  device.take();
  EXPECT_TRUE(device.store.outbox().empty());
  EXPECT_EQ(device.replica->discard(device.now, refused).error().code, ErrorCode::MESSAGE_NOT_FOUND);
}

TEST(Outbox, IsBounded) {
  Options options;
  options.outbox_max = 2;
  TestDevice device(kAnna, DeviceId("d1"), options);
  device.send(kBen, "1");
  device.send(kBen, "2");
  Draft draft;
  draft.to = kBen;
  EXPECT_EQ(device.replica->send(device.now, draft).error().code, ErrorCode::LIMIT_REACHED);
  draft.body.text.assign(65'537, 'x');
  EXPECT_EQ(device.replica->send(device.now, draft).error().code, ErrorCode::TOO_LARGE);
  EXPECT_EQ(device.replica->send(device.now, Draft{}).error().code, ErrorCode::MALFORMED);
}

TEST(Conformance, S03_echo_before_ack) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  const std::uint64_t local = device.send(kBen, "hello");
  const Request request = device.expect<Send>();
  server.receive(link, request);
  const ServerFrame echo = next_down(link);
  ASSERT_TRUE(std::holds_alternative<Push>(echo.answer)) << "the push goes out before the ack";
  device.frame(echo);
  ASSERT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::sent}));
  EXPECT_EQ(device.seen<OutboxEvent>().back().local_id, local);
  EXPECT_EQ(device.seen<OutboxEvent>().back().seq, Seq(1));
  EXPECT_TRUE(device.store.outbox().empty());

  // The first ack was lost; a repetition is answered as a duplicate.
  link.down.clear();
  server.receive(link, request);
  ServerFrame ack = next_down(link);
  EXPECT_TRUE(std::get<SentReply>(ack.answer).duplicate);
  const std::size_t events = device.events.size();
  const std::size_t batches = device.batches;
  device.frame(std::move(ack));
  EXPECT_EQ(device.events.size(), events) << "the ack is a no-op";
  EXPECT_EQ(device.batches, batches);
  EXPECT_THAT(device.texts(kChat), ElementsAre("hello"));
  EXPECT_EQ(log_length(server), 1u);
}

TEST(Outbox, AckBeforeEchoShowsOneBubbleToo) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.send(kBen, "hello");
  server.receive(link, device.expect<Send>());
  const ServerFrame echo = next_down(link);
  device.frame(next_down(link));
  EXPECT_THAT(device.texts(kChat), ElementsAre("hello"));
  EXPECT_FALSE(device.state(kChat).coverage.contains(Seq(1))) << "the row is a stand-in until the server's comes";
  device.frame(echo);
  EXPECT_THAT(device.texts(kChat), ElementsAre("hello"));
  EXPECT_TRUE(device.state(kChat).coverage.contains(Seq(1)));
  EXPECT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::sent}));
  EXPECT_EQ(device.store.conversation(kChat)->rows.at(Seq(1)).entry->ord, 1u);
}

TEST(Conformance, S02_retry_after_a_lost_ack_goes_under_the_same_id) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_unanswered(server, device, link, true);
  const std::string id = device.store.outbox().begin()->second.client_msg_id;
  sleep(server, device, 5'000);
  device.start();
  device.connect();
  TestLink& second = server.connect(kAnna);
  server.receive(second, device.expect<Hello>());
  device.frame(next_down(second));
  const Request again = device.expect<Send>();
  EXPECT_EQ(std::get<Send>(again.operation).client_msg_id, id);
  server.receive(second, again);
  settle(server, device, second);
  EXPECT_EQ(log_length(server), 1u);
  EXPECT_THAT(device.texts(kChat), ElementsAre("hello"));
  EXPECT_TRUE(device.store.outbox().empty());
}

TEST(Conformance, S05_same_id_with_another_body_goes_again_under_a_new_one) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.send(kBen, "second");
  const Request request = device.expect<Send>();
  // The id was used before, for another body.
  SendCommand first;
  first.sender = kAnna;
  first.to = kBen;
  first.client_msg_id = std::get<Send>(request.operation).client_msg_id;
  first.body.text = "first";
  ASSERT_TRUE(server.run(first).has_value());
  link.down.clear();
  server.receive(link, request);
  ASSERT_EQ(std::get<Error>(link.down.front().answer).code, ErrorCode::CLIENT_MSG_ID_CONFLICT);
  settle(server, device, link);
  EXPECT_EQ(log_length(server), 2u) << "nothing is lost";
  EXPECT_EQ(server.view.entry(kChat, Seq(2))->body.text, "second");
  EXPECT_TRUE(device.store.outbox().empty());
  EXPECT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::renewed, OutboxOutcome::sent}));
}

TEST(Conformance, S05_an_echo_of_the_same_id_with_another_body_is_not_the_message) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.send(kBen, "second");
  SendCommand first;
  first.sender = kAnna;
  first.to = kBen;
  first.client_msg_id = device.store.outbox().begin()->second.client_msg_id;
  first.body.text = "first";
  ASSERT_TRUE(server.run(first).has_value());
  device.frame(next_down(link));  // the echo of the first overtakes the second
  settle(server, device, link);
  EXPECT_EQ(log_length(server), 2u) << "nothing is lost";
  EXPECT_THAT(device.texts(kChat), ElementsAre("first", "second"));
  EXPECT_TRUE(device.store.outbox().empty());
  EXPECT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::renewed, OutboxOutcome::sent}));
}

TEST(Conformance, S07_retry_beyond_the_window_finds_its_own_echo) {
  for (const Bodies bodies : {Bodies::none, Bodies::recent}) {
    TestServer server;
    Options options;
    options.bodies = bodies;
    options.recent = 2;
    TestDevice device(kAnna, DeviceId("d1"), options);
    TestLink& link = join(server, device);
    send_unanswered(server, device, link, true);
    sleep(server, device, 3 * kDayMs);
    for (int i = 0; i < 120; ++i) server.send(kBen, kAnna, "more");
    join(server, device);
    EXPECT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::sent})) << "the user is not asked";
    EXPECT_EQ(device.seen<OutboxEvent>().back().seq, Seq(1));
    EXPECT_TRUE(device.store.outbox().empty());
    EXPECT_EQ(log_length(server), 121u);
  }
}

TEST(Conformance, S08_retry_beyond_the_window_of_what_was_never_committed) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  server.send(kBen, kAnna, "before");
  settle(server, device, link);
  send_unanswered(server, device, link, false);
  sleep(server, device, 3 * kDayMs);
  for (int i = 0; i < 70; ++i) server.send(kBen, kAnna, "after");
  TestLink& second = join(server, device);
  ASSERT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::undecided}));
  EXPECT_EQ(log_length(server), 71u);
  const OutboxItem kept = device.store.outbox().begin()->second;
  EXPECT_EQ(kept.body.text, "hello");

  // The question outlives a restart; on yes it goes under a new id.
  device.disconnect();
  server.disconnect(second);
  device.start();
  TestLink& third = join(server, device);
  EXPECT_EQ(device.store.outbox().begin()->second.state, OutboxState::undecided);
  ASSERT_TRUE(device.replica->resend(device.now, kept.local_id).has_value());
  device.take();
  settle(server, device, third);
  EXPECT_EQ(log_length(server), 72u);
  const auto sent = server.view.entry(kChat, Seq(72));
  EXPECT_EQ(sent->body.text, "hello");
  EXPECT_NE(sent->client_msg_id, kept.client_msg_id);
  EXPECT_LE(server.wall_ms - sent->server_time, 1'000);
  EXPECT_TRUE(device.store.outbox().empty());
}

TEST(Conformance, S120_what_a_kicked_device_had_not_sent_goes_by_the_same_rules_after_the_next_login) {
  for (const bool reached : {true, false}) {
    TestServer server;
    TestDevice device(kAnna);
    TestLink& link = join(server, device);
    server.send(kBen, kAnna, "before");
    settle(server, device, link);
    device.send(kBen, "hello");
    const Request request = device.expect<Send>();
    if (reached) server.receive(link, request);
    device.frame({0, Kick{.code = "OTHER_DEVICE", .terminal = true, .message = {}}});
    EXPECT_EQ(device.replica->link(), LinkState::refused);
    device.disconnect();
    server.disconnect(link);
    sleep(server, device, 3 * kDayMs);
    for (int i = 0; i < 70; ++i) server.send(kBen, kAnna, "after");
    EXPECT_EQ(device.store.outbox().size(), 1u) << "kept";
    join(server, device);
    EXPECT_EQ(outcomes(device).back(), reached ? OutboxOutcome::sent : OutboxOutcome::undecided);
    EXPECT_EQ(device.store.outbox().size(), reached ? 0u : 1u);
    EXPECT_EQ(log_length(server), reached ? 72u : 71u) << "not sent twice, and nothing unasked";
  }
}

// A backup from before the send, put back days later: by what it knows nothing of this has ever left.
TEST(Conformance, S125_what_a_backup_holds_to_be_unsent_is_looked_for_before_it_is_sent) {
  TestServer server;
  TestDevice device(kAnna);
  join(server, device);
  device.disconnect();
  device.send(kBen, "hello");
  const MemoryStore backup = device.store;
  ASSERT_EQ(backup.outbox().begin()->second.attempts, 0u);
  join(server, device);
  ASSERT_EQ(log_length(server), 1u);
  device.disconnect();

  TestDevice restored(kAnna);
  restored.now = device.now;
  restored.store = backup;
  restored.start();
  sleep(server, restored, 3 * kDayMs);
  for (int i = 0; i < 70; ++i) server.send(kBen, kAnna, "more");
  TestLink& refused = server.connect(kAnna);
  restored.connect();
  settle(server, restored, refused);  // a copy: it goes on as another installation
  restored.disconnect();
  join(server, restored);
  EXPECT_EQ(outcomes(restored), std::vector{OutboxOutcome::sent});
  EXPECT_EQ(log_length(server), 71u) << "and not sent twice";
  EXPECT_TRUE(restored.store.outbox().empty());
}

TEST(Conformance, S08_what_was_written_long_ago_and_never_sent_goes_without_a_question) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  server.send(kBen, kAnna, "before");
  settle(server, device, link);
  device.disconnect();
  device.send(kBen, "hello");
  sleep(server, device, 3 * kDayMs);
  join(server, device);
  EXPECT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::renewed, OutboxOutcome::sent}));
  EXPECT_EQ(log_length(server), 2u);
}

TEST(Conformance, S13_clock_skew) {
  // Three hours ahead, and the server has told its time: the id is right.
  TestServer server;
  TestDevice device(kAnna);
  device.now.wall_ms = server.wall_ms + 3 * kHourMs;
  TestLink& link = join(server, device);
  device.send(kBen, "corrected");
  const Request request = device.expect<Send>();
  const auto time = uuid7_time_ms(std::get<Send>(request.operation).client_msg_id);
  ASSERT_TRUE(time.has_value());
  EXPECT_LT(std::abs(*time - server.wall_ms), 1'000);
  server.receive(link, request);
  settle(server, device, link);
  EXPECT_EQ(outcomes(device), (std::vector{OutboxOutcome::queued, OutboxOutcome::sent}));

  // Two days ahead and never welcomed: refused once, then accepted without a word to the user.
  TestDevice ahead(kAnna, DeviceId("d2"));
  ahead.now.wall_ms = server.wall_ms + 2 * kDayMs;
  ahead.send(kBen, "from the future");
  join(server, ahead);
  EXPECT_EQ(outcomes(ahead), (std::vector{OutboxOutcome::queued, OutboxOutcome::renewed, OutboxOutcome::sent}));
  EXPECT_EQ(log_length(server), 2u);
  const auto last = server.view.entry(kChat, Seq(2));
  EXPECT_EQ(last->body.text, "from the future");
  EXPECT_LT(std::abs(*uuid7_time_ms(last->client_msg_id) - server.wall_ms), 10'000);
}

TEST(Outbox, TheSearchOutlastsARefusedSync) {
  TestServer server;
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  send_unanswered(server, device, link, false);
  sleep(server, device, 3 * kDayMs);
  TestLink& second = server.connect(kAnna);
  device.connect();
  server.receive(second, device.expect<Hello>());
  device.frame(next_down(second));
  server.receive(second, device.expect<Send>());
  device.frame(next_down(second));
  device.answer(device.expect<Sync>(), Error{ErrorCode::RETRY_LATER});
  EXPECT_EQ(device.store.outbox().begin()->second.state, OutboxState::searching);
  device.advance(device.options.retry_max_ms);
  settle(server, device, second);
  EXPECT_EQ(device.store.outbox().begin()->second.state, OutboxState::undecided);
}

TEST(Outbox, TheSearchGoesPastWhatOnlyThisDeviceHoldsToBeDeleted) {
  TestServer server;
  for (int i = 0; i < 3; ++i) server.send(kBen, kAnna, "more");
  MutateCommand reaction;
  reaction.user = kBen;
  reaction.change = ReactCommand{kBen, {}, kChat, Seq(1), "r", true};
  ASSERT_TRUE(server.run(reaction).has_value());
  server.send(kBen, kAnna, "more");
  TestDevice device(kAnna);
  TestLink& link = join(server, device);
  device.replica->open(device.now, kChat);
  device.take();
  settle(server, device, link);
  // No message: the server hides only the third.
  ASSERT_TRUE(device.replica->delete_for_me(device.now, kChat, {{Seq(2), Seq(4)}}).has_value());
  device.take();
  settle(server, device, link);
  send_unanswered(server, device, link, false);
  device.start();
  sleep(server, device, 3 * kDayMs);
  TestLink& second = server.connect(kAnna);
  device.connect();
  const std::size_t asked = server.histories;
  for (int step = 0; step < 100; ++step) exchange(server, device, second);
  EXPECT_EQ(device.store.outbox().begin()->second.state, OutboxState::undecided);
  EXPECT_LE(server.histories, asked + 1) << "in no circle";
}

TEST(Outbox, AnEchoInAHoleOfTheCoverageCountsToo) {
  TestServer server;
  Options options;
  options.bodies = Bodies::none;
  TestDevice device(kAnna, DeviceId("d1"), options);
  TestLink& link = join(server, device);
  for (int i = 0; i < 3; ++i) server.send(kBen, kAnna, "more");
  settle(server, device, link);
  send_unanswered(server, device, link, true);
  for (int i = 0; i < 3; ++i) server.send(kBen, kAnna, "more");
  TestLink& second = join(server, device);
  settle(server, device, second);
  EXPECT_TRUE(device.store.outbox().empty());
  EXPECT_EQ(log_length(server), 7u);
}

}  // namespace
}  // namespace tidemark::replica
