#include "hooks/http_post.h"

#include <gtest/gtest.h>

#include <atomic>

#include "hooks/testing_receiver.h"

namespace tidemark {
namespace {

using testing::ReceivedPost;
using testing::ReceiverAnswer;
using testing::TestReceiver;

HttpPost post_to(const TestReceiver& receiver) {
  return HttpPost(*parse_hook_url(receiver.url("/in?x=1"), "hooks.url"), nullptr);
}

TEST(HttpPost, PostsAndKeepsTheConnection) {
  TestReceiver receiver("s");
  HttpPost post = post_to(receiver);
  for (int i = 0; i < 3; ++i) {
    const auto response = post.post("{}", {}, 10'000);
    ASSERT_TRUE(response) << response.error().what;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "{}");
  }
  EXPECT_EQ(receiver.all().size(), 3u);
  EXPECT_EQ(receiver.all()[0].path, "/in");
}

TEST(HttpPost, LargeBodiesArriveWhole) {
  TestReceiver receiver("s");
  HttpPost post = post_to(receiver);
  const std::string body(5'000'000, 'x');
  ASSERT_TRUE(post.post(body, {}, 20'000));
  EXPECT_EQ(receiver.all()[0].body, body);
}

TEST(HttpPost, WhoIsNotThereIsUnreachable) {
  int port = 0;
  {
    TestReceiver gone("s");
    port = gone.port();
  }
  HttpPost post(*parse_hook_url("http://127.0.0.1:" + std::to_string(port), "hooks.url"), nullptr);
  const auto response = post.post("{}", {}, 10'000);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, PostError::Kind::unreachable);
}

TEST(HttpPost, AnAnswerThatDoesNotComeInTimeIsNone) {
  std::atomic<bool> go = false;
  TestReceiver receiver("s", [&](const ReceivedPost&) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ReceiverAnswer{};
  });
  HttpPost post = post_to(receiver);
  const auto response = post.post("{}", {}, 50);
  go = true;
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, PostError::Kind::no_answer);
}

TEST(HttpPost, WhatMayNotLeaveStaysAndEndsTheConnection) {
  TestReceiver receiver("s");
  HttpPost post = post_to(receiver);
  const auto held = post.post("{}", {}, 10'000, [] { return false; });
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().kind, PostError::Kind::held_back);
  ASSERT_TRUE(post.post("{}", {}, 10'000));
  EXPECT_EQ(receiver.all().size(), 1u);
}

TEST(HttpPost, AConnectionThatWasClosedMeanwhileIsMadeAnew) {
  auto receiver = std::make_unique<TestReceiver>("s");
  const int port = receiver->port();
  HttpPost post = post_to(*receiver);
  ASSERT_TRUE(post.post("{}", {}, 10'000));
  receiver.reset();
  receiver = std::make_unique<TestReceiver>("s", nullptr, port);
  EXPECT_TRUE(post.post("{}", {}, 10'000));
}

}  // namespace
}  // namespace tidemark
