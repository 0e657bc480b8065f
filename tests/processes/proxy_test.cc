// The proxy and what its counters go by.
#include "processes/proxy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "processes/frame_meter.h"
#include "tcp_stream.h"
#include "wire/websocket.h"

namespace tidemark::testing {
namespace {

/// A server of one connection.
class Peer {
 public:
  Peer() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(listener_, 4);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Peer() {
    ::close(listener_);
    if (fd_ >= 0) ::close(fd_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  int port() const { return port_; }
  void accept() {
    fd_ = ::accept(listener_, nullptr, nullptr);
    const timeval patience{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  bool write(std::string_view bytes) const {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  /// Until so many bytes have come, or the end.
  std::string read(std::size_t size) const {
    std::string text;
    char buffer[4'096];
    while (text.size() < size) {
      const ssize_t got = ::recv(fd_, buffer, std::min(sizeof buffer, size - text.size()), 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int listener_ = -1;
  int fd_ = -1;
  int port_ = 0;
};

std::string read_from(TcpStream& stream, std::size_t size) {
  std::string text;
  const std::int64_t deadline = steady_ms() + patience_ms();
  while (text.size() < size && !stream.closed() && steady_ms() < deadline) stream.read(text, 100);
  return text;
}

struct Wire {
  explicit Wire(const Weather& weather, std::uint64_t seed = 7) : proxy(seed, weather, counters) {
    proxy.forward_to(peer.port());
    device.emplace(proxy.port());
    peer.accept();
  }
  Counters counters;
  Peer peer;
  Proxy proxy;
  std::optional<TcpStream> device;
};

/// The proxy's thread draws what is in store for a connection when it stands.
void wait_for(const Counters& counters, Counter counter) {
  const std::int64_t deadline = steady_ms() + patience_ms();
  while (counters.of(counter) == 0 && steady_ms() < deadline) sleep_ms(1);
  EXPECT_EQ(counters.of(counter), 1U);
}

TEST(Proxy, CarriesBothDirectionsWhenItIsCalm) {
  Wire wire(Weather::calm());
  const std::string much(100'000, 'x');
  wire.device->write("up");
  EXPECT_EQ(wire.peer.read(2), "up");
  EXPECT_TRUE(wire.peer.write(much));
  EXPECT_EQ(read_from(*wire.device, much.size()), much);
  wire.device->end_writing();
  EXPECT_EQ(wire.peer.read(1), "");
}

TEST(Proxy, CarriesEveryByteOfADribble) {
  Weather weather = Weather::calm();
  weather.dribble = 1'000;
  Wire wire(weather);
  std::string text;
  for (int i = 0; i < 500; ++i) text += std::to_string(i);
  wire.device->write(text);
  EXPECT_EQ(wire.peer.read(text.size()), text);
  EXPECT_EQ(wire.counters.of(Counter::dribbles), 1U);
}

TEST(Proxy, CutsAtAByteAndBothSidesLearnOfIt) {
  Weather weather = Weather::calm();
  weather.cut = 1'000;
  weather.cut_bytes_max = 50;
  Wire wire(weather);
  (void)wire.peer.write(std::string(100, 'x'));
  wire.device->write(std::string(100, 'y'));
  EXPECT_TRUE(wire.device->wait_closed(patience_ms()));
  EXPECT_LT(wire.peer.read(200).size(), 101U);
  EXPECT_EQ(wire.counters.of(Counter::cuts), 1U);
  EXPECT_EQ(wire.counters.of(Counter::cuts_in_frame), 1U);
}

TEST(Proxy, LeavesOneSideUnawareUntilTheLineHeals) {
  Weather weather = Weather::calm();
  weather.cut = weather.half_open = 1'000;
  weather.cut_bytes_max = 1;
  weather.silence_max_ms = 1'000'000;
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    Wire wire(weather, seed);
    (void)wire.peer.write("x");
    wire.device->write("y");
    wait_for(wire.counters, Counter::half_open);
    wire.proxy.calm_down();
    EXPECT_TRUE(wire.device->wait_closed(patience_ms()));
    EXPECT_LE(wire.peer.read(10).size(), 1U);
    EXPECT_EQ(wire.counters.of(Counter::resets), 1U) << "the unaware side is told at last";
  }
}

TEST(Proxy, WhatIsFrozenGoesOnWhenTheLineHeals) {
  Weather weather = Weather::calm();
  weather.born_frozen = 1'000;
  weather.silence_max_ms = 1'000'000;
  Wire wire(weather);
  wire.device->write("up");
  (void)wire.peer.write("down");
  wait_for(wire.counters, Counter::freezes);
  wire.proxy.calm_down();
  EXPECT_EQ(wire.peer.read(2), "up");
  EXPECT_EQ(read_from(*wire.device, 4), "down");
}

TEST(Proxy, RefusesWhileThereIsNoServer) {
  Counters counters;
  const Proxy proxy(1, Weather::calm(), counters);
  TcpStream device(proxy.port());
  EXPECT_TRUE(device.wait_closed(patience_ms()));
  EXPECT_EQ(counters.of(Counter::refused), 1U);
}

TEST(FrameMeter, KnowsWhereFramesEnd) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  std::vector<std::size_t> ends = {bytes.size()};
  for (const std::size_t size : {0U, 1U, 125U, 126U, 70'000U}) {
    encode_frame(bytes, WebSocketOpcode::binary, std::string(size, 'z'));
    ends.push_back(bytes.size());
    encode_frame(bytes, WebSocketOpcode::text, std::string(size, '\r'), WebSocketMask{1, 2, 3, 4});
    ends.push_back(bytes.size());
  }
  FrameMeter by_byte;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    by_byte.feed(bytes.substr(i, 1));
    if (by_byte.between_frames()) found.push_back(i + 1);
  }
  EXPECT_EQ(found, ends);
  FrameMeter at_once;
  at_once.feed(bytes);
  EXPECT_TRUE(at_once.between_frames());
}

}  // namespace
}  // namespace tidemark::testing
