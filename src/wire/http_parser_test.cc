#include "wire/http_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace tidemark {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr HttpLimits kSmall{.header_bytes = 400, .target_bytes = 100, .body_bytes = 20};

/// What a connection sees: requests as text, "100" for an expectation, "!status field" for a refusal.
std::vector<std::string> outcomes(std::string_view bytes, const std::vector<std::size_t>& sizes = {},
                                  HttpLimits limits = kSmall) {
  HttpParser parser(limits);
  std::vector<std::string> seen;
  std::size_t turn = 0;
  while (!bytes.empty()) {
    std::string_view chunk = bytes.substr(0, sizes.empty() ? bytes.size() : sizes[turn++ % sizes.size()]);
    bytes.remove_prefix(chunk.size());
    while (!chunk.empty()) {
      const HttpProgress progress = parser.feed(chunk);
      if (progress == HttpProgress::expect_continue) seen.push_back("100");
      if (progress == HttpProgress::ready) {
        const HttpRequest r = parser.take();
        std::string text = r.method + " " + r.path;
        for (const auto& [name, value] : r.query) text += " ?" + name + "=" + value;
        for (const auto& [name, value] : r.headers.all()) text += " | " + name + ": " + value;
        seen.push_back(text + " | " + r.body + (r.keep_alive ? "" : " (close)"));
      }
      if (progress == HttpProgress::refused) {
        seen.push_back("!" + std::to_string(parser.refusal().status) + " " + parser.refusal().error.field);
        return seen;
      }
    }
  }
  return seen;
}

/// The only request or refusal in the bytes.
std::string outcome(std::string_view bytes, HttpLimits limits = kSmall) {
  const auto seen = outcomes(bytes, {}, limits);
  EXPECT_LE(seen.size(), 1u) << testing::PrintToString(seen);
  return seen.empty() ? "" : seen[0];
}

HttpRequest request_for(std::string_view target) {
  const std::string bytes = "GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  std::string_view input = bytes;
  HttpParser parser;
  if (parser.feed(input) != HttpProgress::ready) {
    ADD_FAILURE() << target << ": " << parser.refusal().error.message();
    return {};
  }
  return parser.take();
}

std::string target_refusal(std::string_view target) {
  return outcome("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n");
}

TEST(HttpParser, ReadsARequestWithABody) {
  EXPECT_EQ(outcome("POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello"),
            "POST /v1/messages | Host: h | Content-Length: 5 | X-A: b | hello");
}

TEST(HttpParser, LeavesPipelinedRequestsToTheCaller) {
  std::string_view input = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\nGET";
  HttpParser parser;
  ASSERT_EQ(parser.feed(input), HttpProgress::ready);
  EXPECT_TRUE(input.starts_with("\r\nGET /b"));
  ASSERT_EQ(parser.feed(input), HttpProgress::ready) << "not taken yet";
  EXPECT_EQ(parser.take().path, "/a");
  EXPECT_TRUE(parser.idle());
  ASSERT_EQ(parser.feed(input), HttpProgress::ready);
  EXPECT_EQ(parser.take().path, "/b");
  EXPECT_EQ(parser.feed(input), HttpProgress::need_more);
  EXPECT_TRUE(input.empty());
  EXPECT_FALSE(parser.idle());
}

TEST(HttpParser, ReadsChunkedBodiesAndDropsTrailers) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;ext=1\r\nhello\r\n1\r\n!\r\n0\r\nAuthorization: forged\r\n\r\nGET /next HTTP/1.0\r\n\r\n";
  const std::vector<std::string> expected = {"POST / | Host: h | Transfer-Encoding: chunked | hello!",
                                             "GET /next |  (close)"};
  EXPECT_EQ(outcomes(bytes), expected);
  EXPECT_EQ(outcomes(bytes, {1}), expected);
}

TEST(HttpParser, AnEmptyChunkedBodyMayArriveByteByByte) {
  const std::string bytes = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (std::size_t size : {1, 2, 3, 4, 5})
    EXPECT_THAT(outcomes(bytes, {size}), ElementsAre("POST / | Host: h | Transfer-Encoding: chunked | ")) << size;
}

TEST(HttpParser, PathsAreDecodedWholeAndBySegment) {
  const HttpRequest request = request_for("/v1/users/a%2Fb%20%E4%BD%A0+");
  EXPECT_EQ(request.path, "/v1/users/a/b 你+");
  EXPECT_THAT(request.segments, ElementsAre("v1", "users", "a/b 你+"));
  EXPECT_THAT(request_for("/").segments, IsEmpty());
  EXPECT_THAT(request_for("/v1/").segments, ElementsAre("v1", ""));
  EXPECT_THAT(request_for("//x").segments, ElementsAre("", "x"));
}

TEST(HttpParser, QueriesAreDecodedInOrder) {
  const HttpRequest request = request_for("/s?q=a%26b+c&empty=&bare&&q=2&%E4%BD%A0=%e5%a5%bd");
  EXPECT_THAT(request.query,
              ElementsAre(Pair("q", "a&b c"), Pair("empty", ""), Pair("bare", ""), Pair("q", "2"), Pair("你", "好")));
  EXPECT_EQ(request.param("q"), "a&b c");
  EXPECT_EQ(request.param("Q"), std::nullopt);
  EXPECT_EQ(request.path, "/s");
}

TEST(HttpParser, AbsoluteTargetsAreTaken) {
  EXPECT_EQ(request_for("http://localhost:7700/v1/sync?limit=1").path, "/v1/sync");
  EXPECT_EQ(request_for("HTTPS://localhost").path, "/");
  EXPECT_EQ(request_for("http://localhost?a=1").param("a"), "1");
}

TEST(HttpParser, BadTargetsNameTheFieldAtFault) {
  for (std::string_view bad : {"/%", "/%4", "/a%zz", "/%00", "/%ff", "/%ed%a0%80", "/%c0%af", "*", "host:80", "/a#b"})
    EXPECT_EQ(target_refusal(bad), "!400 path") << bad;
  EXPECT_EQ(target_refusal("/?limit=%"), "!400 limit");
  EXPECT_EQ(target_refusal("/?limit=%00"), "!400 limit");
  EXPECT_EQ(target_refusal("/?q=%ff"), "!400 q");
  EXPECT_EQ(target_refusal("/?%ff=q"), "!400 query");
}

TEST(HttpParser, HeadersAreFoundWithoutRegardToCaseAndJoined) {
  std::string_view input = "GET / HTTP/1.1\r\nhost: h\r\nAccept: a\r\naccept: b;q=1 ,\tC\r\nEmpty:\r\n\r\n";
  HttpParser parser;
  ASSERT_EQ(parser.feed(input), HttpProgress::ready);
  const HttpRequest request = parser.take();
  EXPECT_EQ(request.headers.get("ACCEPT"), "a, b;q=1 ,\tC");
  EXPECT_EQ(request.headers.get("empty"), "");
  EXPECT_EQ(request.headers.get("Missing"), std::nullopt);
  EXPECT_TRUE(request.headers.has_token("Accept", "c"));
  EXPECT_TRUE(request.headers.has_token("Accept", "B;q=1"));
  EXPECT_FALSE(request.headers.has_token("Accept", "b"));
  EXPECT_FALSE(request.headers.has_token("Empty", ""));
}

TEST(HttpParser, KeepsTheConnectionAsTheClientAsks) {
  const auto keeps = [](std::string_view version, std::string_view header) {
    const std::string bytes = "GET / " + std::string(version) + "\r\nHost: h\r\n" + std::string(header) + "\r\n";
    std::string_view input = bytes;
    HttpParser parser;
    EXPECT_EQ(parser.feed(input), HttpProgress::ready);
    return parser.take().keep_alive;
  };
  EXPECT_TRUE(keeps("HTTP/1.1", ""));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", ""));
  EXPECT_TRUE(keeps("HTTP/1.0", "Connection: Keep-Alive\r\n"));
}

TEST(HttpParser, BodiesHaveALimitThatIsToldBeforeTheyCome) {
  const auto post = [](std::string_view header, std::string_view body) {
    return outcome("POST / HTTP/1.1\r\nHost: h\r\n" + std::string(header) + "\r\n\r\n" + std::string(body));
  };
  EXPECT_EQ(post("Content-Length: 20", "12345678901234567890"),
            "POST / | Host: h | Content-Length: 20 | 12345678901234567890");
  EXPECT_EQ(post("Content-Length: 21", ""), "!413 body");
  EXPECT_EQ(post("Content-Length: 21\r\nExpect: 100-continue", ""), "!413 body");
  EXPECT_EQ(post("Content-Length: 18446744073709551615", ""), "!413 body");
  EXPECT_EQ(post("Content-Length: 18446744073709551616", ""), "!400 http");
  EXPECT_EQ(post("Transfer-Encoding: chunked", "15\r\n"), "!413 body");
  EXPECT_EQ(post("Transfer-Encoding: chunked", "a\r\n1234567890\r\nb\r\n"), "!413 body");
  EXPECT_EQ(post("Transfer-Encoding: chunked", "fffffffffffffffff\r\n"), "!400 http");
}

TEST(HttpParser, HeadersAndTargetsHaveLimitsHoweverTheyArrive) {
  const auto header = [](std::size_t size) {
    // "GET / HTTP/1.1\r\n" and "Host: h\r\n" and "A: ...\r\n"
    return "GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(size - 16 - 9 - 5, 'x') + "\r\n\r\n";
  };
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{}, {1}, {7}, {300}}) {
    EXPECT_TRUE(outcomes(header(400), sizes).at(0).starts_with("GET"));
    EXPECT_THAT(outcomes(header(401), sizes), ElementsAre("!431 header"));
    EXPECT_THAT(outcomes(header(5000), sizes), ElementsAre("!431 header"));
    std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
    for (int i = 0; i < 100; ++i) many += "A: 1\r\n";
    EXPECT_THAT(outcomes(many + "\r\n", sizes), ElementsAre("!431 header")) << "fields that are small one by one";
  }
  EXPECT_TRUE(target_refusal("/" + std::string(99, 'x')).starts_with("GET"));
  EXPECT_EQ(target_refusal("/" + std::string(100, 'x')), "!414 path");
  std::string fields = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 100; ++i) fields += "A" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(outcome(fields + "\r\n", {}), "!431 header");
}

TEST(HttpParser, EndlessChunkHeadersAndTrailersAreCutOff) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(outcomes(start + "1;" + std::string(1000, 'x'), {50}), ElementsAre("!431 header"));
  EXPECT_THAT(outcomes(start + "0\r\nA: " + std::string(1000, 'x'), {50}), ElementsAre("!431 header"));
}

TEST(HttpParser, WhatTwoReadersCouldReadDifferentlyIsRefused) {
  const auto post = [](std::string_view header) {
    return outcome("POST / HTTP/1.1\r\nHost: h\r\n" + std::string(header) + "\r\n\r\n0\r\n\r\n");
  };
  EXPECT_EQ(post("Content-Length: 5\r\nTransfer-Encoding: chunked"), "!400 http");
  EXPECT_EQ(post("Transfer-Encoding: chunked\r\nContent-Length: 5"), "!400 http");
  EXPECT_EQ(post("Content-Length: 5\r\nContent-Length: 6"), "!400 http");
  EXPECT_EQ(post("Content-Length: +5"), "!400 http");
  EXPECT_EQ(post("Content-Length : 5"), "!400 http");
  EXPECT_EQ(post("Transfer-Encoding: gzip"), "!501 Transfer-Encoding");
  EXPECT_EQ(post("Transfer-Encoding: gzip, chunked"), "!501 Transfer-Encoding");
  EXPECT_EQ(post("Transfer-Encoding: identity\r\nContent-Length: 5"), "!501 Transfer-Encoding");
  EXPECT_EQ(post("Host: other"), "!400 Host");
  EXPECT_EQ(outcome("GET / HTTP/1.1\r\n\r\n"), "!400 Host");
  EXPECT_EQ(outcome("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), "!400 Transfer-Encoding");
}

TEST(HttpParser, WhatIsNotHttpIsRefused) {
  EXPECT_EQ(outcome("\x16\x03\x01\x02 this is TLS\r\n\r\n"), "!400 http");
  EXPECT_EQ(outcome("PRI * HTTP/2.0\r\n\r\n"), "!505 version");
  EXPECT_EQ(outcome("GET / HTTP/1.1\nHost: h\n\n"), "!505 version");
  EXPECT_EQ(outcome("GET / HTTP/1.1\r\nHost: h\r\nA\r\n\r\n"), "!400 http");
  EXPECT_EQ(outcome("GET / HTTP/1.1\r\nHost: h\r\nA: \x01\r\n\r\n"), "!400 http");
}

TEST(HttpParser, ARefusalIsForEver) {
  HttpParser parser;
  std::string_view input = "BAD\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parser.feed(input), HttpProgress::refused);
  EXPECT_TRUE(input.empty());
  input = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parser.feed(input), HttpProgress::refused);
  EXPECT_EQ(parser.refusal().error.code, ErrorCode::MALFORMED);
}

TEST(HttpParser, AClientThatWaitsIsToldToGoOnOnce) {
  const std::string header = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
  HttpParser parser;
  std::string_view input = header;
  EXPECT_EQ(parser.feed(input), HttpProgress::expect_continue);
  EXPECT_TRUE(input.empty());
  input = "h";
  EXPECT_EQ(parser.feed(input), HttpProgress::need_more);
  input = "i";
  EXPECT_EQ(parser.feed(input), HttpProgress::ready);
  EXPECT_EQ(parser.take().body, "hi");
  EXPECT_EQ(outcomes(header + "hi").size(), 1u) << "the body is already there";
  EXPECT_EQ(outcome("GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n"), "!417 Expect");
}

TEST(HttpParser, KnowsAWebSocketUpgrade) {
  const auto upgrade = [](std::string_view headers) {
    const std::string bytes = "GET /v1/ws HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n";
    std::string_view input = bytes;
    HttpParser parser;
    EXPECT_EQ(parser.feed(input), HttpProgress::ready);
    return parser.take().is_upgrade;
  };
  EXPECT_TRUE(upgrade("Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"));
  EXPECT_FALSE(upgrade("Connection: upgrade\r\nUpgrade: h2c\r\n"));
  EXPECT_FALSE(upgrade("Upgrade: websocket\r\n"));
  EXPECT_FALSE(upgrade(""));
}

RC_GTEST_PROP(HttpParserProperty, ItDoesNotMatterWhereTheBytesAreCut, ()) {
  static const std::array<std::string, 9> kPieces = {
      "GET /a?b=%20 HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST /%E4%BD%A0 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.0\r\nFold: a\r\n b\r\n\r\n",
      "\r\n",
      "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\n",
      "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
      "nonsense\r\n\r\n"};
  std::string bytes;
  for (std::size_t piece :
       *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, kPieces.size())))
    bytes += kPieces[piece];
  const auto sizes =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 60)));
  RC_ASSERT(outcomes(bytes, sizes) == outcomes(bytes));
}

RC_GTEST_PROP(HttpParserProperty, PercentEncodingComesBackTheSame, (const std::string& raw)) {
  std::string text;  // ASCII without NUL
  for (char c : raw) text.push_back(static_cast<char>((c & 0x7f) == 0 ? 'x' : c & 0x7f));
  RC_PRE(!text.empty());
  const std::string encoded = percent_encode(text);
  const HttpRequest request = request_for("/x/" + encoded + "?" + encoded + "=" + encoded);
  RC_ASSERT(request.segments.at(1) == text);
  RC_ASSERT(request.param(text) == text);
}

TEST(HttpText, ResponsesCarryTheirLengthAndNoBodyWhereNoneBelongs) {
  const std::array<HttpHeaderView, 1> extra = {{{"Retry-After", "1\r\nEvil: yes"}}};
  EXPECT_EQ(http_response({.status = 429, .content_type = "text/plain", .body = "slow", .headers = extra}),
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1  Evil: yes\r\nContent-Type: text/plain\r\n"
            "Content-Length: 4\r\nConnection: keep-alive\r\n\r\nslow");
  EXPECT_EQ(http_response({.body = "four", .keep_alive = false, .to_head = true}),
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(http_response({.status = 204}), "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
}

TEST(HttpText, RequestsReadBackAsTheyWereMeant) {
  const std::array<HttpHeaderView, 1> extra = {{{"Authorization", "Bearer x"}}};
  EXPECT_EQ(outcome(http_request({.method = "POST",
                                  .host = "h:1",
                                  .target = "/v1/a?b=c",
                                  .content_type = "text/plain",
                                  .body = "{}",
                                  .keep_alive = false,
                                  .headers = extra})),
            "POST /v1/a ?b=c | Host: h:1 | Authorization: Bearer x | Content-Type: text/plain | Content-Length: 2 | "
            "Connection: close | {} (close)");
  EXPECT_EQ(outcome(http_request({.host = "h"})), "GET / | Host: h | ");
}

using AnswerTo = HttpResponseParser::AnswerTo;

TEST(HttpResponseParser, ReadsOneResponseAfterTheOther) {
  const std::string both = http_response({.body = "one"}) + http_response({.status = 404, .body = "two"});
  for (std::size_t size = 1; size <= both.size(); ++size) {
    HttpResponseParser parser;
    std::string seen;
    for (std::size_t at = 0; at < both.size(); at += size) {
      std::string_view chunk = std::string_view(both).substr(at, size);
      while (!chunk.empty() && parser.feed(chunk) == HttpProgress::ready) {
        const HttpResponse response = parser.take();
        seen += std::to_string(response.status) + response.body;
      }
    }
    ASSERT_EQ(seen, "200one404two") << size;
  }
}

TEST(HttpResponseParser, SkipsInterimResponsesButNotAnUpgrade) {
  HttpResponseParser parser;
  std::string_view input = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: w\r\n\r\nframes";
  ASSERT_EQ(parser.feed(input), HttpProgress::ready);
  EXPECT_EQ(parser.take().status, 101);
  EXPECT_EQ(input, "frames");
}

TEST(HttpResponseParser, AnAnswerToHeadHasNoBody) {
  HttpResponseParser parser(AnswerTo::head);
  const std::string bytes = http_response({.body = "four", .to_head = true});
  std::string_view input = bytes;
  ASSERT_EQ(parser.feed(input), HttpProgress::ready);
  EXPECT_EQ(parser.take().headers.get("content-length"), "4");
}

TEST(HttpResponseParser, ABodyMayEndWithTheConnection) {
  HttpResponseParser parser;
  std::string_view input = "HTTP/1.0 200 OK\r\n\r\nall of ";
  EXPECT_EQ(parser.feed(input), HttpProgress::need_more);
  input = "it";
  EXPECT_EQ(parser.feed(input), HttpProgress::need_more);
  ASSERT_EQ(parser.finish(), HttpProgress::ready);
  EXPECT_EQ(parser.take().body, "all of it");
  EXPECT_EQ(parser.finish(), HttpProgress::need_more) << "nothing is open";
}

TEST(HttpResponseParser, ACutOrOverlongResponseIsAnError) {
  HttpResponseParser cut;
  std::string_view input = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal";
  EXPECT_EQ(cut.feed(input), HttpProgress::need_more);
  EXPECT_EQ(cut.finish(), HttpProgress::refused);
  HttpResponseParser overlong(AnswerTo::other, kSmall);
  input = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n";
  EXPECT_EQ(overlong.feed(input), HttpProgress::refused);
  EXPECT_EQ(overlong.error().code, ErrorCode::TOO_LARGE);
}

}  // namespace
}  // namespace tidemark
