#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tidemark {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  void TearDown() override {
    set_log_sink({});
    set_log(LogLevel::info, LogFormat::text);
  }
  std::vector<std::string> lines_;
};

TEST_F(LogTest, TextLineHasTimeLevelEventAndFields) {
  set_log(LogLevel::info, LogFormat::text);
  log_info("listening", {{"host", "127.0.0.1"}, {"port", 7700}, {"tls", false}, {"share", 0.5}, {"note", "two words"}});
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z info listening "
                                      "host=127.0.0.1 port=7700 tls=false share=0.5 note=\"two words\""));
}

TEST_F(LogTest, JsonLineIsOneObject) {
  set_log(LogLevel::info, LogFormat::json);
  log_warning("keys reloaded", {{"count", std::uint64_t{3}}, {"path", "a\"b"}});
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], MatchesRegex("\\{\"time\":\"[^\"]+Z\",\"level\":\"warning\",.*\\}"));
  EXPECT_THAT(lines_[0], EndsWith(R"("event":"keys reloaded","count":3,"path":"a\"b"})"));
}

TEST_F(LogTest, LevelsBelowTheChosenOneAreSilent) {
  set_log(LogLevel::warning, LogFormat::text);
  log_debug("a");
  log_info("b");
  log_warning("c");
  log_error("d");
  EXPECT_THAT(lines_, ElementsAre(EndsWith("warning c"), EndsWith("error d")));
  EXPECT_FALSE(log_enabled(LogLevel::info));
  EXPECT_TRUE(log_enabled(LogLevel::error));
  set_log(LogLevel::off, LogFormat::text);
  log_error("e");
  EXPECT_THAT(lines_, SizeIs(2));
  EXPECT_FALSE(log_enabled(LogLevel::error));
}

TEST_F(LogTest, ForeignTextCannotMakeUpLinesFieldsOrFormats) {
  set_log(LogLevel::info, LogFormat::text);
  log_info("login", {{"user", "eve\n2030-01-01 info login user=admin"}, {"device", "{} %v %l \x1b[2J"}, {"x y=", 1}});
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], Not(HasSubstr("\n")));
  EXPECT_THAT(lines_[0], HasSubstr(R"(user="eve\n2030-01-01 info login user=admin")"));
  EXPECT_THAT(lines_[0], HasSubstr(R"(device="{} %v %l \u001b[2J" x_y_=1)"));
}

TEST_F(LogTest, SecretsAndBodiesAreWithheldByTheirFieldName) {
  set_log(LogLevel::info, LogFormat::json);
  log_info("odd", {{"token", "eyJhbGciOi"}, {"authorization", "Bearer q"}, {"body", "hello"}, {"text", "hello"}});
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], Not(HasSubstr("eyJ")));
  EXPECT_THAT(lines_[0], Not(HasSubstr("Bearer")));
  EXPECT_THAT(lines_[0], Not(HasSubstr("hello")));
}

TEST_F(LogTest, LongTextIsCut) {
  set_log(LogLevel::info, LogFormat::text);
  log_info("long", {{"value", std::string(100'000, 'a')}});
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_LT(lines_[0].size(), kLogTextBytes + 100);
  EXPECT_THAT(lines_[0], EndsWith("aaa..."));
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  set_log(LogLevel::info, LogFormat::text);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) log_info("tick", {{"thread", t}, {"i", i}});
    });
  for (auto& thread : threads) thread.join();
  ASSERT_THAT(lines_, SizeIs(800));
  for (const auto& line : lines_) EXPECT_THAT(line, MatchesRegex(".* info tick thread=[0-3] i=[0-9]+"));
}

}  // namespace
}  // namespace tidemark
