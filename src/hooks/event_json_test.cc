// What an event says when it is told: how things are by then, not how they were.
#include "hooks/event_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_world.h"

namespace tidemark {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(EventJson, HowSomebodyReactedToWhatWasTakenBackIsToldNoMore) {
  EngineWorld world;
  const SentReply sent = world.send("a", "b", "secret text");
  ReactCommand react;
  react.user = UserId("b");
  react.conversation = sent.conversation;
  react.seq = sent.seq;
  react.reaction = "secret face";
  react.on = true;
  MutateCommand command;
  command.user = UserId("b");
  command.change = react;
  const auto reacted = world.get<MutatedReply>(command);
  WaitingEvent waiting;
  waiting.event.kind = EventKind::message_reacted;
  waiting.event.conversation = sent.conversation;
  waiting.event.seq = reacted.seq;
  const auto told = [&] {
    StoreView view = world.view();
    return event_json(view, waiting, 1).value_or("");
  };
  EXPECT_THAT(told(), HasSubstr("secret face"));
  MutateCommand recall;
  recall.user = UserId("a");
  recall.change = RecallCommand{UserId("a"), {}, sent.conversation, sent.seq};
  world.get<MutatedReply>(recall);
  EXPECT_THAT(told(), Not(HasSubstr("secret")));
}

TEST(EventJson, AFileThatStaysAfterAllIsNotToldToHaveExpired) {
  EngineWorld world;
  SendCommand send = world.message("a", "b", "look");
  send.body.attachments = {{"https://f.example/1", 1, "", "", 5}};
  const auto sent = world.get<SentReply>(send);
  WaitingEvent waiting;
  waiting.event = {.kind = EventKind::attachments_expired, .at = 5, .conversation = sent.conversation, .seq = sent.seq};
  const auto told = [&] {
    StoreView view = world.view();
    return event_json(view, waiting, 1).has_value();
  };
  EXPECT_TRUE(told());
  MutateCommand edit;
  edit.user = UserId("a");
  Body body = send.body;
  body.attachments[0].expires_at = 6;
  edit.change = EditCommand{UserId("a"), {}, sent.conversation, sent.seq, body, std::nullopt};
  world.get<MutatedReply>(edit);
  EXPECT_FALSE(told());
}

}  // namespace
}  // namespace tidemark
