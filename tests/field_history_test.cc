// Field faults 13 to 15: history and paging.
#include <algorithm>
#include <set>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

class HistoryFaults : public BothDialects {
 protected:
  /// A walk from the newest back or from the oldest on.
  std::vector<std::uint64_t> walk(WsClient& client, const std::string& id, std::uint32_t limit, bool back, int& pages) {
    std::vector<std::uint64_t> seqs;
    pb::HistoryRequest request;
    request.set_conversation_id(id);
    request.set_limit(limit);
    if (!back) request.set_after(0);
    for (pages = 0; pages < 1'000;) {
      const pb::HistoryPage page = client.history(request);
      ++pages;
      EXPECT_LE(page.messages_size(), static_cast<int>(limit));
      std::vector<std::uint64_t> here = seqs_in(page.messages());
      EXPECT_TRUE(std::ranges::is_sorted(here));
      seqs.insert(back ? seqs.begin() : seqs.end(), here.begin(), here.end());
      if (page.end()) break;
      EXPECT_FALSE(here.empty()) << "every page moves";
      if (here.empty()) break;
      request.Clear();
      request.set_conversation_id(id);
      request.set_limit(limit);
      const std::uint64_t place = back ? here.front() : here.back();
      (back ? request.set_before(place) : request.set_after(place));
    }
    return seqs;
  }
};
TM_IN_BOTH_DIALECTS(HistoryFaults);

TEST_P(HistoryFaults, F13_ManyInOneMillisecond) {
  // What arrives while a commit is under way is committed together, and at one time. It may take a few attempts to
  // have a burst of 60 in three commits or fewer: then twenty or more share one millisecond, and pages end inside it.
  WsClient u1 = device("u1");
  std::string peer;
  std::set<std::int64_t> times;
  for (int attempt = 0; attempt < 100 && (times.empty() || times.size() > 3); ++attempt) {
    peer = "peer" + std::to_string(attempt);
    times.clear();
    std::vector<std::string> texts = numbered("burst ", 60);
    texts.insert(texts.begin(), "before 20");
    send_all(u1, user(peer), numbered("before ", 19));
    const std::vector<pb::Sent> sent = send_all(u1, user(peer), texts);
    for (std::size_t i = 1; i < sent.size(); ++i) times.insert(sent[i].server_time());
    send_all(u1, user(peer), numbered("after ", 20));
  }
  ASSERT_LE(times.size(), 3U) << "no burst of 60 was ever committed within three milliseconds";
  const std::string id = chat("u1", peer);
  for (const std::uint32_t limit : {1U, 7U, 20U, 59U, 60U, 61U})
    for (const bool back : {true, false}) {
      int pages = 0;
      EXPECT_EQ(walk(u1, id, limit, back, pages), seqs_from(1, 100)) << limit << (back ? " back" : " on");
    }
  EXPECT_EQ(texts_of(whole_history(u1, id, 7)).at(20), "burst 1");
}

TEST_P(HistoryFaults, F14_WalksEndAndBadPlacesAreRefused) {
  const std::string id = chat("u1", "u2");
  WsClient u1 = device("u1");
  send_all(u1, user("u2"), numbered("m", 103));
  send_all(u1, user("u3"), numbered("private ", 3));
  int pages = 0;
  EXPECT_EQ(walk(u1, id, 50, true, pages), seqs_from(1, 103));
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(walk(u1, id, 50, false, pages), seqs_from(1, 103));
  EXPECT_EQ(pages, 3);

  HttpClient http = this->http();
  const std::string bearer = token("u1");
  const std::string base = "/v1/conversations/" + id + "/messages";
  const auto status = [&](const std::string& query, const std::string& code, const std::string& field) {
    const HttpResponse answer = http.get(base + query, bearer);
    EXPECT_EQ(answer.status / 100, 4) << query << " " << answer.body;
    EXPECT_EQ(error_code(answer), code) << query;
    EXPECT_EQ(error_field(answer), field) << query;
    EXPECT_THAT(answer.body, ::testing::Not(::testing::HasSubstr("private")));
  };
  status("?limit=-1", "OUT_OF_RANGE", "limit");
  status("?limit=1000000000", "OUT_OF_RANGE", "limit");
  status("?limit=99999999999999999999", "OUT_OF_RANGE", "limit");
  status("?limit=many", "MALFORMED", "limit");
  status("?before=x", "MALFORMED", "before");
  status("?at=-1", "OUT_OF_RANGE", "at");
  status("?page_token=made-up", "BAD_TOKEN", "page_token");
  status("?before=5&after=3", "MALFORMED", "before");
  status("?nonsense=1", "UNKNOWN_FIELD", "nonsense");
  const auto other =
      parsed<pb::HistoryPage>(http.get("/v1/conversations/" + chat("u1", "u3") + "/messages?limit=1", bearer));
  ASSERT_NE(other.page_token(), "");
  status("?page_token=" + percent_encode(other.page_token()), "BAD_TOKEN", "page_token");

  EXPECT_EQ(parsed<pb::HistoryPage>(http.get(base + "?limit=0", bearer)).messages_size(), 50) << "0: the default";
  EXPECT_EQ(parsed<pb::HistoryPage>(http.get(base + "?limit=1", bearer)).messages_size(), 1);
  const auto beyond = parsed<pb::HistoryPage>(http.get(base + "?after=5000", bearer));
  EXPECT_THAT(beyond.messages(), IsEmpty());
  const auto first = parsed<pb::HistoryPage>(http.get(base + "?after=0&limit=2", bearer));
  EXPECT_THAT(seqs_in(first.messages()), ElementsAreArray({1U, 2U}));
  const auto from_beyond = parsed<pb::HistoryPage>(http.get(base + "?before=5000&limit=2", bearer));
  EXPECT_THAT(seqs_in(from_beyond.messages()), ElementsAreArray({102U, 103U}));
}

TEST_P(HistoryFaults, F15_WhatIsAnsweredCanBeRead) {
  const std::string id = chat("u1", "u2");
  WsClient d1 = device("u1", "d1");
  WsClient d2 = device("u1", "d2");
  for (int i = 1; i <= 1'000; ++i) {
    const std::string text = "m" + std::to_string(i);
    const pb::Sent sent = d1.sent(user("u2"), text);
    const pb::HistoryPage page = d2.history(id, 1);
    ASSERT_EQ(page.messages_size(), 1);
    ASSERT_EQ(page.messages(0).seq(), sent.seq());
    ASSERT_EQ(page.messages(0).message_id(), sent.message_id());
    ASSERT_EQ(page.messages(0).server_time(), sent.server_time());
    ASSERT_EQ(page.messages(0).body().text(), text);
  }
}

}  // namespace
}  // namespace tidemark::testing
