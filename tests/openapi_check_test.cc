// That the check of answers finds what a strict reader of the document would.
#include "openapi_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidemark::testing {
namespace {

using ::testing::HasSubstr;

std::string sent_json(const std::string& seq, const std::string& state) {
  return R"({"conversation_id":"a_b","seq":)" + seq + R"(,"message_id":"a_b:1","server_time":1,"state":)" + state +
         R"(,"duplicate":false,"durability":"synced"})";
}

TEST(OpenapiCheck, FindsWhatIsNotAsTheDocumentHasIt) {
  EXPECT_EQ(schema_fault("Sent", sent_json("1", R"("live")")), "");
  EXPECT_THAT(schema_fault("Sent", sent_json("-1", R"("live")")), HasSubstr("minimum"));
  EXPECT_THAT(schema_fault("Sent", sent_json(R"("1")", R"("live")")), HasSubstr("no integer"));
  EXPECT_THAT(schema_fault("Sent", sent_json("1", R"("no such word")")), HasSubstr("enum"));
  EXPECT_THAT(schema_fault("Sent", sent_json("1", "null")), HasSubstr("it.state"));
  EXPECT_THAT(schema_fault("Sent", R"({"seq":1})"), HasSubstr("lacks"));
  EXPECT_THAT(schema_fault("ReadMutation", R"({"no_such_field":1})"), HasSubstr("it has no_such_field"));
}

TEST(OpenapiCheck, AnAnswerThatTheDocumentDoesNotKnowIsAFault) {
  HttpResponse answer;
  answer.status = 200;
  answer.body = R"({"objects":[],"page_token":""})";
  EXPECT_EQ(openapi_fault("GET", "/v1/drafts?limit=1", answer), "");
  EXPECT_NE(openapi_fault("GET", "/v1/no_such_path", answer), "");
  answer.body = R"({"objects":[{}],"page_token":""})";
  EXPECT_THAT(openapi_fault("GET", "/v1/drafts", answer), HasSubstr("it.objects[0]"));
  answer.status = 404;
  EXPECT_NE(openapi_fault("GET", "/v1/no_such_path", answer), "") << "an error is one in any case";
}

}  // namespace
}  // namespace tidemark::testing
