#include "wire/websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace tidemark {
namespace {

using namespace std::string_literals;
using Kind = WebSocketEvent::Kind;
using Role = WebSocketCodec::Role;
using Op = WebSocketOpcode;
using End = WebSocketFrameEnd;
using testing::ElementsAre;

static_assert(sizeof(WebSocketCodec) <= 100, "a codec lives as long as its connection");

constexpr WebSocketMask kMask = {'\x12', '\x34', '\x56', '\x78'};

/// An event with its bytes copied, for comparing.
struct Seen {
  Kind kind;
  std::uint16_t close_code;
  std::string data;
  bool operator==(const Seen&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << "{" << static_cast<int>(seen.kind) << ", " << seen.close_code << ", "
               << testing::PrintToString(seen.data) << "}";
  }
};
Seen text(std::string data) {
  return {Kind::text, 0, std::move(data)};
}
Seen binary(std::string data) {
  return {Kind::binary, 0, std::move(data)};
}
Seen ping(std::string data) {
  return {Kind::ping, 0, std::move(data)};
}
Seen pong(std::string data) {
  return {Kind::pong, 0, std::move(data)};
}
Seen closed(std::uint16_t code, std::string reason = "") {
  return {Kind::close, code, std::move(reason)};
}

void drain(WebSocketCodec& codec, std::string chunk, std::vector<Seen>& seen) {
  std::span<char> input(chunk);
  while (const WebSocketEvent event = codec.next(input))
    seen.push_back({event.kind, event.close_code, std::string(event.data)});
  ASSERT_TRUE(input.empty());
}

/// Feeds the bytes cut into chunks of the sizes given, in turn; all at once when none is given.
std::vector<Seen> decode(const std::string& bytes, Role role, WebSocketLimits limits = {},
                         const std::vector<std::size_t>& sizes = {}) {
  WebSocketCodec codec(role, limits);
  std::vector<Seen> seen;
  std::size_t turn = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = sizes.empty() ? bytes.size() : sizes[turn++ % sizes.size()];
    drain(codec, bytes.substr(at, size), seen);
    at += size;
  }
  return seen;
}

std::string frame(Op opcode, std::string_view payload, End end = End::last) {
  std::string out;
  encode_frame(out, opcode, payload, kMask, end);
  return out;
}
std::string close_frame(std::string payload) {
  return frame(Op::close, payload);
}

/// The close code that the bytes are refused with by a server, 0 when they are not.
std::uint16_t refused_with(const std::string& bytes, WebSocketLimits limits = {}) {
  const std::vector<Seen> seen = decode(bytes, Role::server, limits);
  return !seen.empty() && seen.back().kind == Kind::error ? seen.back().close_code : 0;
}

// The examples of RFC 6455 section 5.7.
TEST(WebSocketCodec, ReadsTheExamplesOfTheStandard) {
  EXPECT_THAT(decode("\x81\x05Hello"s, Role::client), ElementsAre(text("Hello")));
  EXPECT_THAT(decode("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s, Role::server), ElementsAre(text("Hello")));
  EXPECT_THAT(decode("\x01\x03Hel\x80\x02lo"s, Role::client), ElementsAre(text("Hello")));
  EXPECT_THAT(decode("\x89\x05Hello"s, Role::client), ElementsAre(ping("Hello")));
  EXPECT_THAT(decode("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s, Role::server), ElementsAre(pong("Hello")));
  const std::string middle(256, 'm'), large(65536, 'l');
  EXPECT_THAT(decode("\x82\x7e\x01\x00"s + middle, Role::client), ElementsAre(binary(middle)));
  EXPECT_THAT(decode("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s + large, Role::client), ElementsAre(binary(large)));
}

TEST(WebSocketCodec, WritesTheExamplesOfTheStandard) {
  std::string out;
  encode_frame(out, Op::text, "Hello");
  EXPECT_EQ(out, "\x81\x05Hello"s);
  out.clear();
  encode_frame(out, Op::text, "Hello", WebSocketMask{'\x37', '\xfa', '\x21', '\x3d'});
  EXPECT_EQ(out, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s);
  EXPECT_EQ(WebSocketHeader(Op::binary, 256).view(), "\x82\x7e\x01\x00"s);
  EXPECT_EQ(WebSocketHeader(Op::binary, 65536).view(), "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s);
  EXPECT_EQ(WebSocketHeader(Op::text, 3, std::nullopt, End::more).view(), "\x01\x03"s);
}

TEST(WebSocketCodec, LengthsAtEveryBorderComeBackTheSame) {
  for (std::size_t size : {0, 1, 7, 8, 9, 124, 125, 126, 127, 255, 256, 65534, 65535, 65536, 65537}) {
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 7);
    std::string plain;
    encode_frame(plain, Op::binary, payload);
    const WebSocketLimits wide{.max_frame_bytes = 1 << 20, .max_message_bytes = 1 << 20};
    EXPECT_EQ(decode(frame(Op::binary, payload), Role::server, wide), std::vector{binary(payload)}) << size;
    EXPECT_EQ(decode(plain, Role::client, wide), std::vector{binary(payload)}) << size;
  }
}

TEST(WebSocketCodec, AWholeFrameIsNotCopied) {
  std::string bytes = frame(Op::binary, std::string(1000, 'x')) + frame(Op::text, "second");
  WebSocketCodec codec(Role::server);
  std::span<char> input(bytes);
  const WebSocketEvent first = codec.next(input);
  EXPECT_GE(first.data.data(), bytes.data());
  EXPECT_LT(first.data.data(), bytes.data() + bytes.size());
  EXPECT_EQ(codec.held_bytes(), 0u);
  EXPECT_EQ(codec.next(input).data, "second");
  EXPECT_FALSE(codec.next(input));
}

TEST(WebSocketCodec, ControlFramesMayComeBetweenFragments) {
  const std::string bytes = frame(Op::text, "one ", End::more) + frame(Op::ping, "?") +
                            frame(Op::continuation, "two ", End::more) + frame(Op::pong, "!") +
                            frame(Op::continuation, "three") + frame(Op::binary, "next");
  EXPECT_THAT(decode(bytes, Role::server), ElementsAre(ping("?"), pong("!"), text("one two three"), binary("next")));
}

TEST(WebSocketCodec, ACharacterMayBeSplitBetweenFragments) {
  const std::string bytes =
      frame(Op::text, "\xe4", End::more) + frame(Op::continuation, "\xbd", End::more) + frame(Op::continuation, "\xa0");
  EXPECT_THAT(decode(bytes, Role::server), ElementsAre(text("你")));
}

TEST(WebSocketCodec, TextMustBeUtf8ButBinaryNeedNot) {
  EXPECT_EQ(refused_with(frame(Op::text, "\xff")), kCloseBadText);
  EXPECT_EQ(refused_with(frame(Op::text, "\xed\xa0\x80")), kCloseBadText);
  EXPECT_EQ(refused_with(frame(Op::text, "ab\xe4", End::more) + frame(Op::continuation, "c")), kCloseBadText);
  EXPECT_EQ(refused_with(frame(Op::binary, "\xff")), 0);
  EXPECT_EQ(refused_with(close_frame("\x03\xe8\xff")), kCloseBadText);
}

TEST(WebSocketCodec, FramesAgainstTheProtocolAreRefused) {
  const std::string masked = "\x80\0\0\0\0"s;
  for (int rsv : {0x10, 0x20, 0x40}) EXPECT_EQ(refused_with(std::string(1, char(0x82 | rsv)) + masked), 1002) << rsv;
  for (int op : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15})
    EXPECT_EQ(refused_with(std::string(1, char(0x80 | op)) + masked), 1002) << op;
  for (Op op : {Op::close, Op::ping, Op::pong}) {
    EXPECT_EQ(refused_with(frame(op, "", End::more)), 1002);
    EXPECT_EQ(refused_with(frame(op, std::string(126, 'x'))), 1002);
  }
  EXPECT_EQ(refused_with(frame(Op::continuation, "x")), 1002);
  EXPECT_EQ(refused_with(frame(Op::text, "a") + frame(Op::continuation, "x")), 1002);
  EXPECT_EQ(refused_with(frame(Op::text, "a", End::more) + frame(Op::text, "b")), 1002);
  EXPECT_EQ(refused_with("\x81\x05Hello"s), 1002) << "a client must mask";
  EXPECT_EQ(decode(frame(Op::text, "a"), Role::client).at(0).close_code, 1002) << "a server must not";
}

TEST(WebSocketCodec, LengthsMustBeShortestAndPositive) {
  EXPECT_EQ(refused_with("\x82\xfe\x00\x7d"s), 1002);
  EXPECT_EQ(refused_with("\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff"s), 1002);
  EXPECT_EQ(refused_with("\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00"s), 1002);
  EXPECT_EQ(refused_with("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff"s), 1009);
  EXPECT_EQ(refused_with("\x82\xfe\x00\x7e"s), 0) << "the shortest form of 126";
}

TEST(WebSocketCodec, LimitsHoldAtTheBorderAndOneAbove) {
  const WebSocketLimits limits{.max_frame_bytes = 10, .max_message_bytes = 15, .max_fragments = 3};
  EXPECT_EQ(refused_with(frame(Op::binary, std::string(10, 'x')), limits), 0);
  EXPECT_EQ(refused_with(frame(Op::binary, std::string(11, 'x')), limits), 1009);
  const std::string ten = frame(Op::binary, std::string(10, 'x'), End::more);
  EXPECT_EQ(refused_with(ten + frame(Op::continuation, "12345"), limits), 0);
  EXPECT_EQ(refused_with(ten + frame(Op::continuation, "123456"), limits), 1009);
  const std::string more = frame(Op::binary, "", End::more) + frame(Op::continuation, "", End::more);
  EXPECT_EQ(refused_with(more + frame(Op::continuation, ""), limits), 0);
  EXPECT_EQ(refused_with(more + frame(Op::continuation, "", End::more) + frame(Op::continuation, ""), limits), 1009);
  EXPECT_EQ(refused_with(frame(Op::ping, std::string(125, 'x')), limits), 0) << "not a limit of control frames";
}

TEST(WebSocketCodec, ATooLargeFrameIsRefusedByItsHeaderAlone) {
  const std::string header(WebSocketHeader(Op::binary, 1 << 20, kMask).view());
  WebSocketCodec codec(Role::server);
  std::vector<Seen> seen;
  drain(codec, header.substr(0, 10), seen);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].close_code, 1009);
}

TEST(WebSocketCodec, CloseCodesAreThoseOfTheStandard) {
  for (int code = 0; code <= 0xffff; ++code) {
    const bool expected =
        (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1011) || (code >= 3000 && code <= 4999);
    const std::string payload{static_cast<char>(code >> 8), static_cast<char>(code)};
    ASSERT_EQ(refused_with(close_frame(payload)), expected ? 0 : 1002) << code;
  }
  EXPECT_EQ(refused_with(close_frame("\x03")), 1002);
}

TEST(WebSocketCodec, NothingIsReadAfterACloseOrAnError) {
  const std::string after = frame(Op::text, "late");
  EXPECT_THAT(decode(close_frame("") + after, Role::server), ElementsAre(closed(kCloseNoStatus)));
  EXPECT_THAT(decode(close_frame("\x03\xe8"
                                 "bye") +
                         after,
                     Role::server),
              ElementsAre(closed(1000, "bye")));
  WebSocketCodec codec(Role::server);
  std::vector<Seen> seen;
  drain(codec, "\xff\xff", seen);
  drain(codec, after, seen);
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_TRUE(codec.finished());
  EXPECT_EQ(codec.held_bytes(), 0u);
}

TEST(WebSocketCodec, CloseReasonsAreCutAtTheEndOfACharacter) {
  std::string reason;
  for (int i = 0; i < 50; ++i) reason += "你";
  std::string out;
  encode_close(out, 4001, reason, kMask);
  EXPECT_THAT(decode(out, Role::server), ElementsAre(closed(4001, reason.substr(0, 123))));
  out.clear();
  encode_close(out, 4001, "x" + reason, kMask);
  EXPECT_THAT(decode(out, Role::server), ElementsAre(closed(4001, "x" + reason.substr(0, 120))));
  out.clear();
  encode_close(out, kCloseNoStatus);
  EXPECT_EQ(out, "\x88\x00"s);
}

TEST(WebSocketCodec, HoldsMemoryOnlyInsideAMessage) {
  const WebSocketLimits limits{};
  WebSocketCodec codec(Role::server, limits);
  const std::string half(60000, 'h');
  const std::string bytes = frame(Op::binary, half, End::more) + frame(Op::continuation, half);
  std::vector<Seen> seen;
  drain(codec, bytes.substr(0, 50000), seen);
  EXPECT_GE(codec.held_bytes(), 50000u);
  drain(codec, bytes.substr(50000, 70000), seen);
  EXPECT_GE(codec.held_bytes(), 110000u);
  drain(codec, bytes.substr(120000), seen);
  EXPECT_THAT(seen, ElementsAre(binary(half + half)));
  EXPECT_EQ(codec.held_bytes(), 0u);
  drain(codec, frame(Op::ping, "x").substr(0, 6), seen);
  EXPECT_EQ(codec.held_bytes(), 0u) << "a few bytes fit into the object";
}

// A header that promises much must not make us reserve it.
TEST(WebSocketCodec, HoldsNoMoreThanWhatArrived) {
  WebSocketCodec codec(Role::server);
  std::vector<Seen> seen;
  drain(codec, frame(Op::binary, std::string(65536, 'x')).substr(0, 100), seen);
  EXPECT_LT(codec.held_bytes(), 400u);
}

TEST(WebSocketMasking, IsAByteWiseXorAtEveryLengthAndAlignment) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t offset = 0; offset < 9; ++offset) {
      std::string bytes(offset + size, '\0'), expected = bytes;
      for (std::size_t i = 0; i < size; ++i) {
        bytes[offset + i] = static_cast<char>(i * 31);
        expected[offset + i] = static_cast<char>(bytes[offset + i] ^ kMask[i % 4]);
      }
      apply_mask(std::span(bytes).subspan(offset), kMask);
      ASSERT_EQ(bytes, expected);
    }
  }
}

/// Messages with the frames that carry them: some fragmented, control frames in between.
std::pair<std::string, std::vector<Seen>> random_traffic(Role reader) {
  std::string bytes;
  std::vector<Seen> expected;
  const auto put = [&](Op opcode, std::string_view payload, End end) {
    std::optional<WebSocketMask> mask;
    if (reader == Role::server) mask = *rc::gen::arbitrary<WebSocketMask>();
    encode_frame(bytes, opcode, payload, mask, end);
  };
  const int messages = *rc::gen::inRange(0, 6);
  for (int i = 0; i < messages; ++i) {
    const Op opcode = *rc::gen::element(Op::text, Op::binary);
    const std::size_t size = *rc::gen::element<std::size_t>(0, 1, 5, 125, 126, 300, 70000);
    std::string payload;
    while (payload.size() < size) payload += opcode == Op::text ? "a你\xf0\x9f\x98\x80" : "\xff\0b"s;
    const auto fragments = *rc::gen::inRange<std::size_t>(1, 5);
    std::size_t at = 0;
    for (std::size_t f = 0; f < fragments; ++f) {
      const bool last = f + 1 == fragments;
      const std::size_t part = last ? payload.size() - at : *rc::gen::inRange<std::size_t>(0, payload.size() - at + 1);
      put(f == 0 ? opcode : Op::continuation, payload.substr(at, part), last ? End::last : End::more);
      at += part;
      if (last || *rc::gen::inRange(0, 3) > 0) continue;
      put(Op::ping, "in between", End::last);
      expected.push_back(ping("in between"));
    }
    expected.push_back({opcode == Op::text ? Kind::text : Kind::binary, 0, payload});
  }
  return {bytes, expected};
}

RC_GTEST_PROP(WebSocketCodecProperty, AnyCutGivesTheMessagesThatWereSent, ()) {
  const Role role = *rc::gen::element(Role::server, Role::client);
  const auto [bytes, expected] = random_traffic(role);
  const WebSocketLimits wide{.max_frame_bytes = 1 << 20, .max_message_bytes = 1 << 20};
  const auto sizes = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(
      rc::gen::element<std::size_t>(1, 2, 3, 5, 13, 14, 100, 1000, 65536)));
  RC_ASSERT(decode(bytes, role, wide, sizes) == expected);
}

RC_GTEST_PROP(WebSocketCodecProperty, DamagedBytesGiveTheSameOutcomeHoweverTheyAreCut, ()) {
  const Role role = *rc::gen::element(Role::server, Role::client);
  std::string bytes = random_traffic(role).first.substr(0, 3000);
  const int changes = *rc::gen::inRange(1, 5);
  for (int i = 0; i < changes && !bytes.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(bytes.size(), 50));
    bytes[at] = *rc::gen::arbitrary<char>();
  }
  const auto sizes =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 20)));
  RC_ASSERT(decode(bytes, role, {}, sizes) == decode(bytes, role));
}

RC_GTEST_PROP(WebSocketCodecProperty, RandomBytesNeverCrashAndTextIsAlwaysUtf8, (std::string bytes)) {
  const Role role = *rc::gen::element(Role::server, Role::client);
  for (const Seen& seen : decode(bytes, role))
    if (seen.kind == Kind::text) RC_ASSERT(valid_utf8(seen.data));
}

}  // namespace
}  // namespace tidemark
