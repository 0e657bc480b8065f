#include "wire/data_check.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <string>

#include "wire/json_test_messages.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

std::string verdict(std::string_view json) {
  const auto result = check_data(json);
  if (result) return "kept";
  EXPECT_EQ(result.error().field, "body.data");
  return std::string(error_info(result.error().code).name);
}

TEST(DataCheck, KeepsAnyJsonText) {
  for (std::string_view json : {"{}", "[]", "0", "-0", "\"\"", "true", "false", "null", " [ 1 , { \"a\" : [ ] } ] \n",
                                R"({"a":{"b":1},"c":{"b":1}})", R"([{"a":1},{"a":1}])", R"("\ud83d\ude00\u00e9")",
                                "[1,[2,[3]],{\"x\":{\"y\":[{}]}}]"})
    EXPECT_EQ(verdict(json), "kept") << json;
}

TEST(DataCheck, KeepsNumbersOfAnySize) {
  for (std::string_view number : {"9007199254740991", "9007199254740993", "9223372036854775807", "18446744073709551616",
                                  "-9223372036854775808", "1e308", "1e400", "0.1", "-1.5E+10"})
    EXPECT_EQ(verdict("{\"n\":" + std::string(number) + ",\"t\":\"" + std::string(number) + "\"}"), "kept") << number;
  EXPECT_EQ(verdict(std::string(5000, '7')), "kept");
  EXPECT_EQ(verdict("[-0." + std::string(5000, '7') + "e5000]"), "kept");
}

TEST(DataCheck, RefusesWhatIsNoJson) {
  for (std::string_view json : {"",        " ",         "{",
                                "[",       "\"",        "{]",
                                "[}",      "[1,]",      "[,1]",
                                "{\"a\"}", "{\"a\":}",  "{\"a\":1,}",
                                "{a:1}",   "{1:1}",     "{\"a\" 1}",
                                "[1 2]",   "1 2",       "{}{}",
                                "01",      "+1",        "1.",
                                ".1",      "1e",        "1e+",
                                "--1",     "-",         "0x1",
                                "NaN",     "Infinity",  "tru",
                                "True",    "nulll",     "'a'",
                                "// x\n1", "[1]x",      "\"a\nb\"",
                                "\"\\q\"", "\"\\u12\"", "\xef\xbb\xbf{}"})
    EXPECT_EQ(verdict(json), "MALFORMED") << json;
}

TEST(DataCheck, RefusesBrokenCharactersAndNul) {
  for (std::string_view json : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"({"\ud800":1})", R"("\u0000")",
                                "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"", "{\"\x80\":1}", "\"\xe4\xb8\""})
    EXPECT_EQ(verdict(json), "MALFORMED") << json;
  EXPECT_EQ(verdict(std::string("\"a\0b\"", 5)), "MALFORMED");
  EXPECT_EQ(verdict(std::string("1\0", 2)), "MALFORMED");
}

TEST(DataCheck, NestsThirtyTwoDeepAndNoDeeper) {
  const auto arrays = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const auto objects = [](std::size_t depth) {
    std::string json;
    for (std::size_t i = 1; i < depth; ++i) json += "{\"a\":";
    return json + "{}" + std::string(depth - 1, '}');
  };
  EXPECT_EQ(verdict(arrays(32)), "kept");
  EXPECT_EQ(verdict(arrays(33)), "TOO_DEEP");
  EXPECT_EQ(verdict(objects(32)), "kept");
  EXPECT_EQ(verdict(objects(33)), "TOO_DEEP");
  EXPECT_EQ(verdict(arrays(10'000)), "TOO_DEEP");
  EXPECT_EQ(verdict(std::string(10'000'000, '[')), "TOO_DEEP");
}

TEST(DataCheck, CountsKeysInAll) {
  const auto keys = [](int count) {
    std::string json = "[";
    for (int i = 0; i < count; ++i) json += (i ? ",{\"k" : "{\"k") + std::to_string(i) + "\":0}";
    return json + "]";
  };
  EXPECT_EQ(verdict(keys(1000)), "kept");
  EXPECT_EQ(verdict(keys(1001)), "TOO_DEEP");
  EXPECT_EQ(verdict(keys(10'000)), "TOO_DEEP");
}

TEST(DataCheck, RefusesAKeyTwiceInOneObjectHoweverItIsWritten) {
  for (std::string_view json :
       {R"({"a":1,"a":1})", R"({"a":1,"b":{"c":1},"a":2})", R"({"a":1,"\u0061":2})", R"([{"x":[{"é":1,"\u00e9":2}]}])",
        R"({"":1,"":2})", R"({"/":1,"\/":2})", R"({"😀":1,"\ud83d\ude00":1})"})
    EXPECT_EQ(verdict(json), "MALFORMED") << json;
  EXPECT_EQ(verdict(R"({"a":1,"A":2,"a ":3,"á":4,"b":{"a":{"a":5}}})"), "kept");
}

std::string damaged(std::string json, RandomMessages& random) {
  static const std::string kBits = "{}[]\",:\\u0-9e.+tnf \x80\xff\n";
  for (std::uint64_t n = random.below(4); n > 0 && !json.empty(); --n) {
    const std::size_t at = random.below(json.size());
    if (random.below(2))
      json[at] = kBits[random.below(kBits.size())];
    else
      json.erase(at, 1 + random.below(3));
  }
  return json;
}

/// Where the check is stricter than RFC 8259 asks for.
bool stricter(const std::string& why) {
  return why.find("twice") != std::string::npos || why.find("NUL") != std::string::npos ||
         why.find("surrogate") != std::string::npos;
}

/// simdjson, written by others, as the judge. Numbers beyond 64 bits are kept here and cannot be represented there.
RC_GTEST_PROP(DataCheck, AgreesWithAnotherParserOnDamagedTexts, (std::uint64_t seed)) {
  RandomMessages random(seed);
  simdjson::dom::parser parser;
  for (int i = 0; i < 50; ++i) {
    std::string json;
    write_json(*random.any(), json);
    json = damaged(std::move(json), random);
    const simdjson::error_code theirs = parser.parse(simdjson::padded_string(json)).error();
    const auto ours = check_data(json, 64, 1'000'000);
    if (ours && theirs != simdjson::SUCCESS && theirs != simdjson::NUMBER_ERROR) RC_FAIL("kept: " + json);
    if (!ours && theirs == simdjson::SUCCESS && !stricter(ours.error().detail))
      RC_FAIL(ours.error().detail + "\n" + json);
  }
}

}  // namespace
}  // namespace tidemark
