#include "gateway/send_gate.h"

#include <gmock/gmock.h>

#include "core/decide.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SendCommand message(const std::string& to, const std::string& id, const std::string& text = "hello") {
  SendCommand command;
  command.sender = UserId("1");
  command.to = UserId(to);
  command.client_msg_id = id;
  command.body.text = text;
  return command;
}

/// A gate whose questions are answered when the test says so.
class Gate : public ::testing::Test {
 protected:
  void pass(SessionId link, SendCommand command) {
    gate_->pass(link, std::move(command), {}, [this](Result<SendCommand> with) {
      if (!with) {
        out_.push_back("refused " + std::string(error_info(with.error().code).name) + with.error().app_code);
        return;
      }
      out_.push_back(with->client_msg_id + " " + with->body.text);
      sent_.push_back(std::move(*with));
    });
  }
  void make(WhenDown when_down = WhenDown::refuse) {
    gate_ = std::make_unique<SendGate>(
        SendGate::Port{.check =
                           [this](const SendCommand& command, const Session&, auto told) {
                             const bool known = std::ranges::find(taken_, command.client_msg_id) != taken_.end();
                             told(checked_.value_or(known));
                           },
                       .ask =
                           [this](const SendCommand& command, const ConversationId&, auto told) {
                             asked_.push_back(command.client_msg_id);
                             answers_[command.client_msg_id] = std::move(told);
                           }},
        when_down);
  }
  void answer(const std::string& id, Verdict verdict = {}) { answers_.at(id)(std::move(verdict)); }
  /// The engine takes the first that was sent.
  void settle() {
    const SendCommand command = sent_.front();
    sent_.erase(sent_.begin());
    taken_.push_back(command.client_msg_id);
    gate_->settled(command);
  }

  std::unique_ptr<SendGate> gate_;
  std::vector<std::string> asked_;
  std::vector<std::string> out_;
  std::vector<std::string> taken_;
  std::vector<SendCommand> sent_;
  std::optional<Result<bool>> checked_;
  std::map<std::string, std::move_only_function<void(Verdict)>> answers_;
};

TEST_F(Gate, OneLinksMessagesToAConversationPassInTheirOrder) {
  make();
  pass(1, message("2", "a"));
  pass(1, message("2", "b"));
  pass(1, message("3", "c"));
  EXPECT_THAT(asked_, ElementsAre("a", "c")) << "another conversation does not wait";
  answer("c");
  EXPECT_THAT(out_, ElementsAre("c hello"));
  answer("a");
  answer("b");
  EXPECT_THAT(out_, ElementsAre("c hello", "a hello", "b hello"));
}

TEST_F(Gate, ASlowAnswerKeepsNobodyElseWaiting) {
  make();
  pass(1, message("2", "a"));
  SendCommand other = message("1", "x");
  other.sender = UserId("2");
  pass(2, other);
  pass(0, message("2", "h"));
  answer("x");
  answer("h");
  EXPECT_THAT(out_, ElementsAre("x hello", "h hello"));
}

TEST_F(Gate, WhatWasTakenBeforeIsNotAskedAgain) {
  make();
  taken_ = {"a"};
  pass(1, message("2", "a"));
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(out_, ElementsAre("a hello"));
}

TEST_F(Gate, ARetryWhileTheFirstIsStillAskedWaitsAndIsNotAskedAgain) {
  make();
  pass(1, message("2", "a"));
  pass(2, message("2", "a"));  // on a new link
  EXPECT_THAT(asked_, ElementsAre("a"));
  answer("a");
  EXPECT_THAT(out_, ElementsAre("a hello"));
  settle();
  EXPECT_THAT(asked_, ElementsAre("a"));
  EXPECT_THAT(out_, ElementsAre("a hello", "a hello")) << "the engine answers it as a duplicate";
}

TEST_F(Gate, ARefusalIsTheSendersAndTheNextPasses) {
  make();
  pass(1, message("2", "a"));
  pass(1, message("2", "b"));
  answer("a", {.kind = Verdict::Kind::refused, .code = " RUDE", .reason = "No."});
  answer("b");
  EXPECT_THAT(out_, ElementsAre("refused REFUSED_BY_APP RUDE", "b hello"));
  pass(1, message("2", "a"));
  EXPECT_THAT(asked_, ElementsAre("a", "b", "a")) << "a refusal is not remembered";
}

TEST_F(Gate, AnAmendedBodyGoesWithTheDigestOfTheOneGiven) {
  make();
  pass(1, message("2", "a", "rude words"));
  Verdict amended{.kind = Verdict::Kind::amended};
  amended.body.text = "***";
  answer("a", amended);
  EXPECT_THAT(out_, ElementsAre("a ***"));
  EXPECT_EQ(sent_.front().given, content_of(message("2", "a", "rude words")));
}

TEST_F(Gate, SilenceIsTakenAsTheSettingSays) {
  make(WhenDown::allow);
  pass(1, message("2", "a"));
  answer("a", {.kind = Verdict::Kind::silent});
  make(WhenDown::refuse);
  pass(1, message("2", "b"));
  answer("b", {.kind = Verdict::Kind::silent});
  EXPECT_THAT(out_, ElementsAre("a hello", "refused HOOK_UNAVAILABLE"));
}

TEST_F(Gate, WhatCannotBeTakenIsRefusedUnasked) {
  make();
  checked_ = fail(ErrorCode::NOT_MEMBER);
  pass(1, message("2", "a"));
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(out_, ElementsAre("refused NOT_MEMBER"));
  checked_.reset();
  pass(1, message("2", "a"));
  EXPECT_THAT(asked_, ElementsAre("a")) << "a refusal is not remembered";
}

}  // namespace
}  // namespace tidemark
