#include "hooks/before_send.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "hooks/testing_receiver.h"
#include "tidemark.pb.h"
#include "wire/json_reader.h"

namespace tidemark {
namespace {

using testing::ReceivedPost;
using testing::ReceiverAnswer;
using testing::TestReceiver;

Verdict asked(BeforeSendAsker& asker) {
  std::promise<Verdict> told;
  asker.ask("{}", [&](Verdict verdict) { told.set_value(std::move(verdict)); });
  return told.get_future().get();
}

BeforeSendOptions options_for(const TestReceiver& receiver) {
  BeforeSendOptions options;
  options.url = *parse_hook_url(receiver.url(), "hooks.before_send_url");
  options.secret = "0123456789abcdef";
  options.timeout_ms = 30'000;
  return options;
}

TEST(HookBreaker, AsksNothingForAWhileAfterSoManyFailuresAndThenOneForAll) {
  HookBreaker breaker({.failures = 2, .pause_ms = 1'000});
  breaker.failed(0);
  EXPECT_TRUE(breaker.may_ask(0));
  breaker.failed(0);
  EXPECT_TRUE(breaker.down());
  EXPECT_FALSE(breaker.may_ask(999));
  EXPECT_TRUE(breaker.may_ask(1'000));
  EXPECT_FALSE(breaker.may_ask(1'000)) << "the one that was let through tells for all";
  breaker.answered();
  EXPECT_TRUE(breaker.may_ask(1'001));
}

TEST(Verdicts, AreReadFromTheAnswerAndWhatIsNoneIsSilence) {
  EXPECT_EQ(verdict_in("").kind, Verdict::Kind::taken);
  EXPECT_EQ(verdict_in("{}").kind, Verdict::Kind::taken);
  EXPECT_EQ(verdict_in(R"({"something":"new"})").kind, Verdict::Kind::taken);
  const Verdict refused = verdict_in(R"({"refused":true,"code":"X","reason":"No."})");
  EXPECT_EQ(refused.kind, Verdict::Kind::refused);
  EXPECT_EQ(refused.code, "X");
  EXPECT_EQ(refused.reason, "No.");
  const Verdict amended = verdict_in(R"({"body":{"text":"*"}})");
  EXPECT_EQ(amended.kind, Verdict::Kind::amended);
  EXPECT_EQ(amended.body.text, "*");
  EXPECT_EQ(verdict_in("<html>").kind, Verdict::Kind::silent);
  EXPECT_EQ(verdict_in(R"({"body":{"data":"no json"}})").kind, Verdict::Kind::silent);
  const Verdict wordy = verdict_in(R"({"refused":true,"code":")" + std::string(65, 'x') + R"(","reason":")" +
                                   std::string(511, 'x') + "\u00e9\"}");
  EXPECT_EQ(wordy.kind, Verdict::Kind::refused) << "however much it says";
  EXPECT_EQ(wordy.code, std::string(64, 'x'));
  EXPECT_EQ(wordy.reason, std::string(511, 'x')) << "cut between characters";
}

TEST(BeforeSendQuestion, TellsWhatTheSenderGave) {
  SendCommand command;
  command.sender = UserId("1");
  command.device = DeviceId("d");
  command.client_msg_id = "m";
  command.body.text = "hi";
  command.reply_to = Seq(3);
  command.mentions = {UserId("2")};
  command.mention_all = true;
  command.priority = Priority::high;
  v1::BeforeSend told;
  ASSERT_TRUE(read_json(before_send_json(command, ConversationId("1_2")), told));
  EXPECT_EQ(told.sender(), "1");
  EXPECT_EQ(told.sender_device(), "d");
  EXPECT_EQ(told.conversation_id(), "1_2");
  EXPECT_EQ(told.client_msg_id(), "m");
  EXPECT_EQ(told.body().text(), "hi");
  EXPECT_EQ(told.reply_to(), 3u);
  EXPECT_EQ(told.mentions(0), "2");
  EXPECT_TRUE(told.mention_all());
  EXPECT_EQ(told.priority(), v1::PRIORITY_HIGH);
}

TEST(BeforeSendAsker, EveryQuestionIsAnsweredByTheApplicationOrByItsSilence) {
  std::atomic<int> status = 200;
  TestReceiver receiver("0123456789abcdef",
                        [&](const ReceivedPost&) { return ReceiverAnswer{status, R"({"refused":true})"}; });
  const SystemClock clock;
  BeforeSendAsker asker(clock, options_for(receiver), nullptr);
  asker.start();
  EXPECT_EQ(asked(asker).kind, Verdict::Kind::refused);
  status = 500;
  EXPECT_EQ(asked(asker).kind, Verdict::Kind::silent);
  EXPECT_TRUE(receiver.all()[0].signed_well);
  asker.stop();
  EXPECT_EQ(asked(asker).kind, Verdict::Kind::silent) << "it asks nothing any more";
  EXPECT_EQ(asker.status().asked, 3u);
  EXPECT_EQ(asker.status().silent, 2u);
}

TEST(BeforeSendAsker, SilenceIsNotWaitedForLongerThanAllowed) {
  std::atomic<bool> go = false;
  TestReceiver receiver("0123456789abcdef", [&](const ReceivedPost&) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ReceiverAnswer{};
  });
  const SystemClock clock;
  BeforeSendOptions options = options_for(receiver);
  options.timeout_ms = 20;
  options.breaker.failures = 2;
  options.breaker.pause_ms = 60'000;
  BeforeSendAsker asker(clock, options, nullptr);
  asker.start();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(asked(asker).kind, Verdict::Kind::silent);
  EXPECT_TRUE(asker.status().down);
  EXPECT_LE(receiver.all().size(), 2u) << "a hook that is down is not asked";
  go = true;
}

}  // namespace
}  // namespace tidemark
