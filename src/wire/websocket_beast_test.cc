// The codec and the handshake against boost::beast::websocket, an independent implementation, over a stream in memory.
// Kept apart from the other tests because these headers take long to compile.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include "wire/websocket.h"
#include "wire/websocket_handshake.h"

namespace tidemark {
namespace {

namespace beast = boost::beast;
using Stream = beast::websocket::stream<beast::test::stream, false>;
using Kind = WebSocketEvent::Kind;
using Role = WebSocketCodec::Role;

constexpr std::array<std::string_view, 1> kProtocols = {"tidemark.v1.proto"};
constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr WebSocketLimits kWide{.max_frame_bytes = 1 << 20, .max_message_bytes = 1 << 20, .max_fragments = 1000};

struct Message {
  bool is_text;
  std::string data;
  bool operator==(const Message&) const = default;
};

std::vector<Message> random_messages() {
  std::vector<Message> messages;
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    const auto size = *rc::gen::element<std::size_t>(0, 1, 125, 126, 4000, 65535, 65536, 100000);
    const bool is_text = *rc::gen::arbitrary<bool>();
    messages.push_back({is_text, std::string(size, is_text ? 'x' : '\xfe')});
  }
  return messages;
}

/// A Beast peer of the role opposite to ours; our bytes are put into its input, its bytes collected from its output.
class BeastPeer {
 public:
  explicit BeastPeer(Role ours) : ours_(ours), stream_(io_) {
    stream_.next_layer().connect(far_end_);
    stream_.auto_fragment(true);
    stream_.write_buffer_bytes(4096);
    stream_.read_message_max(1 << 20);
  }

  /// Opens the connection through the real handshake on both sides.
  void open() { ours_ == Role::client ? accept_us() : connect_to_us(); }

  void receive(std::string_view bytes) { stream_.next_layer().append(beast::string_view(bytes.data(), bytes.size())); }
  std::string sent() {
    std::string bytes(far_end_.str().data(), far_end_.str().size());
    far_end_.clear();
    return bytes;
  }
  Message read() {
    beast::flat_buffer buffer;
    stream_.read(buffer);
    return {stream_.got_text(), beast::buffers_to_string(buffer.data())};
  }
  void write(const Message& message) {
    stream_.text(message.is_text);
    stream_.write(boost::asio::buffer(message.data));
  }
  Stream& stream() { return stream_; }

 private:
  void accept_us() {
    stream_.set_option(beast::websocket::stream_base::decorator([](beast::websocket::response_type& response) {
      response.set(beast::http::field::sec_websocket_protocol, "tidemark.v1.proto");
    }));
    receive(upgrade_request("localhost", "/v1/ws", kKey, kProtocols));
    stream_.accept();
    HttpResponseParser parser;
    const std::string bytes = sent();
    std::string_view input = bytes;
    RC_ASSERT(parser.feed(input) == HttpProgress::ready);
    const auto chosen = check_upgrade(parser.take(), kKey, kProtocols);
    RC_ASSERT(chosen.has_value() && *chosen == kProtocols[0]);
  }

  /// Beast draws its key when it writes the request and reads the answer in the same call, so the handshake runs
  /// asynchronously, with our answer given in between.
  void connect_to_us() {
    stream_.set_option(beast::websocket::stream_base::decorator([](beast::websocket::request_type& request) {
      request.set(beast::http::field::sec_websocket_protocol, "tidemark.v1.proto");
    }));
    std::optional<beast::error_code> result;
    stream_.async_handshake("localhost", "/v1/ws", [&result](beast::error_code ec) { result = ec; });
    HttpParser parser;
    while (!result) {
      const std::string bytes = sent();
      std::string_view input = bytes;
      if (parser.feed(input) == HttpProgress::ready) {
        const auto accept = accept_upgrade(parser.take(), kProtocols);
        RC_ASSERT(accept.has_value());
        receive(accept->response);
      }
      io_.run_one();
    }
    RC_ASSERT(result.has_value() && !*result);
  }

  Role ours_;
  boost::asio::io_context io_;
  beast::test::stream far_end_{io_};
  Stream stream_;
};

std::optional<WebSocketMask> random_mask(Role ours) {
  if (ours == Role::server) return std::nullopt;
  return *rc::gen::arbitrary<WebSocketMask>();
}

RC_GTEST_PROP(WebSocketAgainstBeast, BeastReadsWhatWeWrite, ()) {
  const Role ours = *rc::gen::element(Role::server, Role::client);
  BeastPeer peer(ours);
  peer.open();
  for (const Message& message : random_messages()) {
    const WebSocketOpcode opcode = message.is_text ? WebSocketOpcode::text : WebSocketOpcode::binary;
    const auto cut = *rc::gen::inRange<std::size_t>(0, message.data.size() + 1);
    const std::string_view data = message.data;
    std::string bytes;
    if (*rc::gen::arbitrary<bool>()) {
      encode_frame(bytes, opcode, data, random_mask(ours));
    } else {
      encode_frame(bytes, opcode, data.substr(0, cut), random_mask(ours), WebSocketFrameEnd::more);
      encode_frame(bytes, WebSocketOpcode::ping, "between", random_mask(ours));
      encode_frame(bytes, WebSocketOpcode::continuation, data.substr(cut), random_mask(ours));
    }
    peer.receive(bytes);
    RC_ASSERT(peer.read() == message);
  }
  std::string bytes;
  encode_close(bytes, 4001, "bye", random_mask(ours));
  peer.receive(bytes);
  peer.stream().next_layer().close_remote();
  beast::error_code ec;
  beast::flat_buffer buffer;
  peer.stream().read(buffer, ec);
  RC_ASSERT(ec == beast::websocket::error::closed);
  RC_ASSERT(peer.stream().reason().code == 4001);
  RC_ASSERT(std::string(peer.stream().reason().reason.c_str()) == "bye");
}

RC_GTEST_PROP(WebSocketAgainstBeast, WeReadWhatBeastWrites, ()) {
  const Role ours = *rc::gen::element(Role::server, Role::client);
  BeastPeer peer(ours);
  peer.open();
  const std::vector<Message> messages = random_messages();
  for (const Message& message : messages) peer.write(message);
  peer.stream().ping("are you there");
  std::string bytes = peer.sent();
  const auto size = *rc::gen::inRange<std::size_t>(1, bytes.size() + 1);
  WebSocketCodec codec(ours, kWide);
  std::vector<Message> seen;
  std::string pinged;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::span<char> input = std::span(bytes).subspan(at, std::min(size, bytes.size() - at));
    while (const WebSocketEvent event = codec.next(input)) {
      RC_ASSERT(event.kind != Kind::error);
      if (event.kind == Kind::ping) pinged = event.data;
      if (event.kind == Kind::text || event.kind == Kind::binary)
        seen.push_back({event.kind == Kind::text, std::string(event.data)});
    }
  }
  RC_ASSERT(seen == messages);
  RC_ASSERT(pinged == "are you there");
}

/// Beast's verdict on bytes from a client: whether it read messages alone up to the end of the bytes.
bool beast_accepts(const std::string& bytes) {
  BeastPeer peer(Role::client);
  peer.open();
  peer.stream().read_message_max(WebSocketLimits{}.max_message_bytes);
  peer.receive(bytes);
  peer.stream().next_layer().close_remote();
  for (;;) {
    beast::flat_buffer buffer;
    beast::error_code ec;
    peer.stream().read(buffer, ec);
    if (!ec) continue;
    return ec == boost::asio::error::eof || ec == beast::websocket::error::closed;
  }
}

bool we_accept(std::string bytes) {
  WebSocketCodec codec(Role::server);
  std::span<char> input(bytes);
  while (const WebSocketEvent event = codec.next(input))
    if (event.kind == Kind::error) return false;
  return true;
}

// Close codes are those on which both agree: Beast takes 1012, 1013 and all from 5000 on too.
// Complete frames only: on a cut one Beast may say nothing yet where we already refuse, and the other way round.
RC_GTEST_PROP(WebSocketAgainstBeast, WeRefuseWhatBeastRefuses, ()) {
  std::string bytes;
  const int frames = *rc::gen::inRange(1, 4);
  for (int i = 0; i < frames; ++i) {
    const auto first = static_cast<std::uint8_t>(*rc::gen::weightedOneOf<int>(
        {{8, rc::gen::element(0x81, 0x82, 0x01, 0x80, 0x00, 0x88, 0x89, 0x8a)}, {1, rc::gen::inRange(0, 256)}}));
    const auto sized = rc::gen::map(rc::gen::element<std::size_t>(124, 125, 126),
                                    [](std::size_t size) { return std::string(size, '\x0f'); });
    const auto closing = rc::gen::element<std::string>("", "\x03", "\x03\xe8", "\x03\xe8gone", "\x03\xe8\xff",
                                                       "\x03\xed", "\x03\xf8", "\x0f\xa1");
    // Bad text in whole messages only: Beast looks at each fragment, we look at the message when it ends.
    const auto any = rc::gen::element<std::string>("", "ok", "\xe4\xbd\xa0", "\xff", "\xed\xa0\x80");
    const auto good = rc::gen::element<std::string>("", "ok", "\xe4\xbd\xa0");
    const auto payload = *rc::gen::oneOf(sized, (first & 0x0f) == 8            ? closing
                                                : first & 0x80 && first & 0x0f ? any
                                                                               : good);
    const auto mask = *rc::gen::arbitrary<WebSocketMask>();
    std::string frame;
    encode_frame(frame, WebSocketOpcode::text, payload, mask);
    frame[0] = static_cast<char>(first);
    bytes += frame;
  }
  RC_ASSERT(we_accept(bytes) == beast_accepts(bytes));
}

}  // namespace
}  // namespace tidemark
