#include "wire/routes.h"

#include <gmock/gmock.h>
#include <google/protobuf/message.h>

#include <set>

#include "wire/json_test_messages.h"

namespace tidemark {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    segments.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

std::string matched(std::string_view method, std::string_view path) {
  const auto route = match_route(method, segments_of(path));
  if (route) return std::string((*route)->operation_id);
  return std::string(error_info(route.error().error.code).name) + " " + route.error().allow;
}

template <typename Request>
Request fill(std::string_view method, std::string_view path, const Query& query = {}, std::string_view body = {}) {
  Request request;
  const auto route = match_route(method, segments_of(path));
  EXPECT_TRUE(route) << path;
  const auto result = fill_request(**route, segments_of(path), query, body, &request);
  EXPECT_TRUE(result) << result.error().field << " " << result.error().detail;
  return request;
}

std::string refusal(std::string_view method, std::string_view path, const Query& query = {},
                    std::string_view body = {}) {
  const auto route = match_route(method, segments_of(path));
  EXPECT_TRUE(route) << path;
  std::unique_ptr<google::protobuf::Message> request;
  if (!(*route)->request.empty())
    request.reset(google::protobuf::MessageFactory::generated_factory()
                      ->GetPrototype(plan_named((*route)->request)->descriptor)
                      ->New());
  const auto result = fill_request(**route, segments_of(path), query, body, request.get());
  return result ? "taken" : std::string(error_info(result.error().code).name) + " " + result.error().field;
}

TEST(Routes, TheTableFitsTheSchemaAndItself) {
  std::set<std::string> places;
  std::set<std::string_view> names;
  for (const Route& route : routes()) {
    EXPECT_TRUE(places.insert(std::string(route.method) + " " + std::string(route.path)).second) << route.path;
    EXPECT_TRUE(names.insert(route.operation_id).second) << route.operation_id;
    EXPECT_EQ(&route_of(route.operation), &route);
    EXPECT_TRUE(route.summary.ends_with('.')) << route.summary;
    EXPECT_TRUE(route.response.empty() || plan_named(route.response)) << route.response;
    std::set<std::string> in_path;
    for (const std::string& segment : segments_of(route.path))
      if (segment.starts_with('{')) in_path.insert(segment.substr(1, segment.size() - 2));
    EXPECT_EQ(in_path.size(), route.path_params.size()) << route.path;
    for (const RouteParam& param : route.path_params) EXPECT_TRUE(in_path.contains(std::string(param.name)));
    if (route.request.empty()) continue;
    const MessagePlan* request = plan_named(route.request);
    ASSERT_TRUE(request) << route.request;
    for (const auto params : {route.path_params, route.query_params})
      for (const RouteParam& param : params) {
        if (!param.field.empty()) EXPECT_TRUE(request->find(param.field)) << route.path << " " << param.name;
        if (!param.seq_field.empty()) EXPECT_TRUE(request->find(param.seq_field)) << route.path << " " << param.name;
        if (!param.also_field.empty()) {
          ASSERT_TRUE(request->find(param.also_field)) << param.also_field;
          EXPECT_TRUE(request->find(param.also_field)->words->number_of(param.also_word)) << param.also_word;
        }
      }
  }
}

TEST(Routes, EveryRouteIsFoundAtItsOwnPath) {
  for (const Route& route : routes()) {
    std::vector<std::string> path = segments_of(route.path);
    for (std::string& segment : path)
      if (segment.starts_with('{')) segment = "1001_2002";
    const auto found = match_route(route.method, path);
    ASSERT_TRUE(found) << route.path;
    EXPECT_EQ(*found, &route);
  }
}

TEST(Routes, MissesSayWhatIsAllowed) {
  EXPECT_EQ(matched("GET", "/v1/groups/group_1"), "getGroup");
  EXPECT_EQ(matched("PUT", "/v1/groups/group_1"), "METHOD_NOT_ALLOWED GET, PATCH, DELETE");
  EXPECT_EQ(matched("get", "/v1/sync"), "METHOD_NOT_ALLOWED GET");
  EXPECT_EQ(matched("GET", "/v1/messages"), "METHOD_NOT_ALLOWED POST");
  for (std::string_view path : {"/", "/v1", "/v2/sync", "/v1/sync/", "/v1/syncs", "/V1/sync", "/v1/messages/",
                                "/v1/groups//members", "/v1/conversations/x/y", "/healthz/x"})
    EXPECT_EQ(matched("GET", path), "NOT_FOUND ") << path;
}

TEST(Routes, PathAndQueryFillTheRequest) {
  const auto history = fill<v1::HistoryRequest>("GET", "/v1/conversations/1001_2002/messages",
                                                {{"before", "57"}, {"limit", "20"}, {"page_token", "tok en"}});
  EXPECT_EQ(history.conversation_id(), "1001_2002");
  EXPECT_EQ(history.before(), 57u);
  EXPECT_EQ(history.limit(), 20u);
  EXPECT_EQ(history.page_token(), "tok en");
  EXPECT_EQ(fill<v1::MessageRequest>("GET", "/v1/messages/a%5Fb_c:5").message_id(), "a%5Fb_c:5");
  const auto removed = fill<v1::RemoveMemberRequest>("DELETE", "/v1/groups/group_1/members/7");
  EXPECT_EQ(removed.conversation_id() + "/" + removed.user(), "group_1/7");
}

TEST(Routes, BodyPathAndHandlersOwnParametersGoTogether) {
  const auto read = fill<v1::ReadMutation>("POST", "/v1/conversations/1001_2002/read", {}, R"({"seq":9})");
  EXPECT_EQ(read.conversation_id(), "1001_2002");
  EXPECT_EQ(read.seq(), 9u);
  EXPECT_EQ(fill<v1::ReadMutation>("POST", "/v1/conversations/1001_2002/read", {}, R"({"conversation_id":"1001_2002"})")
                .conversation_id(),
            "1001_2002");
  EXPECT_EQ(fill<v1::MarkUnreadMutation>("POST", "/v1/conversations/1001_2002/unread").conversation_id(), "1001_2002");
  EXPECT_EQ(fill<v1::UserRequest>("PUT", "/v1/admin/users/7", {}, R"({"level":"vip"})").level(), "vip");
  const Query query = {{"cursor", "opaque"}, {"limit", "5"}};
  EXPECT_EQ(fill<v1::SyncRequest>("GET", "/v1/sync", query).limit(), 5u);
  EXPECT_EQ(query_param(query, "cursor"), "opaque");
  EXPECT_EQ(query_param(query, "tail"), std::nullopt);
}

TEST(Routes, AMessagesNameInThePathFillsConversationAndSeq) {
  const auto edit =
      fill<v1::EditMutation>("PATCH", "/v1/messages/1001_2002:57", {}, R"({"body":{"text":"x"},"base_revision":0})");
  EXPECT_EQ(edit.conversation_id(), "1001_2002");
  EXPECT_EQ(edit.seq(), 57u);
  EXPECT_TRUE(edit.has_base_revision());
  EXPECT_EQ(edit.body().text(), "x");
  EXPECT_FALSE(fill<v1::EditMutation>("PATCH", "/v1/messages/1001_2002:57").has_base_revision());
  EXPECT_EQ(fill<v1::RecallMutation>("POST", "/v1/messages/group_1:3/recall").seq(), 3u);
  EXPECT_EQ(fill<v1::RecallMutation>("POST", "/v1/admin/messages/group_1:3/recall", {}, R"({"seq":3})").seq(), 3u);
  EXPECT_EQ(refusal("POST", "/v1/messages/group_1:3/recall", {}, R"({"seq":4})"), "MALFORMED message_id");
  EXPECT_EQ(refusal("POST", "/v1/messages/group_1:3/recall", {}, R"({"conversation_id":"group_2"})"),
            "MALFORMED message_id");
  EXPECT_EQ(refusal("POST", "/v1/messages/group_1/recall"), "MALFORMED message_id");
}

TEST(Routes, TailMeansRecentBodies) {
  const auto tail = fill<v1::SyncRequest>("GET", "/v1/sync", {{"tail", "20"}});
  EXPECT_EQ(tail.bodies(), v1::BODIES_RECENT);
  EXPECT_EQ(tail.recent(), 20u);
  EXPECT_EQ(fill<v1::SyncRequest>("GET", "/v1/sync", {{"bodies", "all"}}).bodies(), v1::BODIES_ALL);
  EXPECT_EQ(fill<v1::SyncRequest>("GET", "/v1/sync", {{"bodies", "recent"}, {"tail", "3"}}).recent(), 3u);
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"bodies", "all"}, {"tail", "3"}}), "MALFORMED tail");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"tail", "3"}, {"bodies", "all"}}), "MALFORMED bodies");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"tail", "0"}}), "OUT_OF_RANGE tail");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"tail", "51"}}), "OUT_OF_RANGE tail");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"tail", "many"}}), "MALFORMED tail");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"bodies", "some"}}), "OUT_OF_RANGE bodies");
}

TEST(Routes, NumbersInQueriesAreStrict) {
  const auto before = [](std::string value) {
    return refusal("GET", "/v1/conversations/c/messages", {{"before", std::move(value)}});
  };
  EXPECT_EQ(before("18446744073709551615"), "taken");
  for (const char* bad : {"", "text", "1e3", "1.0", "+1", " 1", "1 ", "01", "0x1", "-", "１"})
    EXPECT_EQ(before(bad), "MALFORMED before") << bad;
  EXPECT_EQ(before("-1"), "OUT_OF_RANGE before");
  EXPECT_EQ(before("18446744073709551616"), "OUT_OF_RANGE before");
  EXPECT_EQ(before(std::string(5000, '9')), "OUT_OF_RANGE before");
  EXPECT_EQ(refusal("GET", "/v1/conversations", {{"limit", "4294967296"}}), "OUT_OF_RANGE limit");
  EXPECT_EQ(refusal("GET", "/v1/conversations/c/messages", {{"at", "-5"}}), "taken");
  EXPECT_EQ(refusal("GET", "/v1/conversations/c/messages", {{"at", "9223372036854775808"}}), "OUT_OF_RANGE at");
}

TEST(Routes, RefusesWhatTheOperationDoesNotTake) {
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"limitt", "5"}}), "UNKNOWN_FIELD limitt");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"", "5"}}), "UNKNOWN_FIELD \"\"");
  EXPECT_EQ(refusal("GET", "/healthz", {{"x", ""}}), "UNKNOWN_FIELD x");
  EXPECT_EQ(refusal("POST", "/v1/messages", {{"to", "x"}}), "UNKNOWN_FIELD to");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"limit", "5"}, {"limit", "5"}}), "MALFORMED limit");
  EXPECT_EQ(refusal("GET", "/v1/sync", {{"cursor", "a"}, {"cursor", "b"}}), "MALFORMED cursor");
  EXPECT_EQ(refusal("GET", "/v1/sync", {}, "{}"), "MALFORMED ");
  EXPECT_EQ(refusal("DELETE", "/v1/groups/group_1/members/7", {}, "{}"), "MALFORMED ");
  EXPECT_EQ(refusal("POST", "/v1/messages", {}, R"({"too":"x"})"), "UNKNOWN_FIELD too");
  EXPECT_EQ(refusal("POST", "/v1/messages", {}, "{"), "MALFORMED ");
  EXPECT_EQ(refusal("POST", "/v1/conversations/a_b/read", {}, R"({"conversation_id":"a_c","seq":1})"),
            "MALFORMED conversation_id");
  EXPECT_EQ(refusal("PUT", "/v1/admin/users/7", {}, R"({"user":"8"})"), "MALFORMED user");
}

}  // namespace
}  // namespace tidemark
