#include "processes/proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <limits>
#include <list>
#include <string_view>
#include <thread>

#include "processes/frame_meter.h"
#include "sim/dice.h"

namespace tidemark::testing {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

auto into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

/// One direction of a connection.
struct Leg {
  Leg(asio::io_context& io, tcp::socket& source, tcp::socket& sink) : from(source), to(sink), pause(io) {}

  tcp::socket& from;
  tcp::socket& to;
  asio::steady_timer pause;
  FrameMeter meter;
  Clock::time_point frozen_until;
  milliseconds latency{0};
  std::size_t piece = 16'384;   // bytes carried at a time
  std::uint64_t left = kNever;  // bytes until the connection is cut
  std::uint64_t carried = 0;    // bytes
  const char* doing = "reads";
  bool vanishing = false;  // what comes is dropped: the other end is gone and this one does not know
  bool over = false;       // nothing more comes
};

struct Line {
  explicit Line(asio::io_context& io)
      : device(io), server(io), legs{Leg(io, device, server), Leg(io, server, device)}, change(io) {}

  tcp::socket device;
  tcp::socket server;
  std::array<Leg, 2> legs;
  asio::steady_timer change;
  bool ended = false;

  bool half_open() const { return legs[0].vanishing || legs[1].vanishing; }
};

void end(tcp::socket& socket, bool reset) {
  error_code ignored;
  if (reset) socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

}  // namespace

/// All but the constructor's and public calls run on the proxy's thread.
class Proxy::Impl {
 public:
  Impl(std::uint64_t seed, const Weather& weather, Counters& counters)
      : dice_(seed), weather_(weather), counters_(counters), listener_(io_, {asio::ip::address_v4::loopback(), 0}) {
    port_ = listener_.local_endpoint().port();
    asio::co_spawn(io_, listen(), asio::detached);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Impl() {
    asio::post(io_, [this] {
      error_code ignored;
      listener_.close(ignored);
      for (const auto& line : lines_) close(*line, true);
    });
    thread_.join();
  }

  int port() const { return port_; }
  void forward_to(int port) {
    asio::post(io_, [this, port] { target_ = port; });
  }
  void calm_down();
  std::string describe();

 private:
  asio::awaitable<void> listen();
  asio::awaitable<void> open(std::shared_ptr<Line> line);
  void draw(Line& line);
  asio::awaitable<void> carry(std::shared_ptr<Line> line, std::size_t number);
  asio::awaitable<bool> pass_on(std::shared_ptr<Line> line, Leg& leg, std::string_view bytes);
  asio::awaitable<void> hold(Leg& leg);
  asio::awaitable<void> change_weather(std::shared_ptr<Line> line);
  asio::awaitable<void> tell_later(std::shared_ptr<Line> line);
  void freeze(Leg& leg);
  void cut(const std::shared_ptr<Line>& line);
  void on_end(const std::shared_ptr<Line>& line, Leg& leg, bool orderly);
  void leave_half_open(const std::shared_ptr<Line>& line, tcp::socket& unaware);
  void close(Line& line, bool reset);
  milliseconds silence() { return milliseconds(dice_.skewed(100, weather_.silence_max_ms)); }

  sim::Dice dice_;
  Weather weather_;
  Counters& counters_;
  asio::io_context io_{1};
  tcp::acceptor listener_;
  int port_ = 0;
  int target_ = 0;
  std::list<std::shared_ptr<Line>> lines_;
  std::thread thread_;
};

// ---------------------------------------------------------------------------------------------------- connections

asio::awaitable<void> Proxy::Impl::listen() {
  while (listener_.is_open()) {
    auto line = std::make_shared<Line>(io_);
    error_code error;
    co_await listener_.async_accept(line->device, into(error));
    if (error) continue;
    std::erase_if(lines_, [](const auto& each) { return each->ended; });
    lines_.push_back(line);
    asio::co_spawn(io_, open(line), asio::detached);
  }
}

asio::awaitable<void> Proxy::Impl::open(std::shared_ptr<Line> line) {
  counters_.hit(Counter::connections);
  error_code error;
  const auto target = static_cast<std::uint16_t>(target_);
  co_await line->server.async_connect({asio::ip::address_v4::loopback(), target}, into(error));
  if (error || line->ended) {
    counters_.hit(Counter::refused);
    close(*line, true);
    co_return;
  }
  line->device.set_option(tcp::no_delay(true), error);
  line->server.set_option(tcp::no_delay(true), error);
  draw(*line);
  for (std::size_t number = 0; number < line->legs.size(); ++number)
    asio::co_spawn(io_, carry(line, number), asio::detached);
  if (weather_.change_every_ms > 0) asio::co_spawn(io_, change_weather(line), asio::detached);
}

/// What is in store for a connection from its beginning.
void Proxy::Impl::draw(Line& line) {
  if (dice_.chance(weather_.cut))
    line.legs[dice_.below(2)].left = static_cast<std::uint64_t>(dice_.skewed(1, weather_.cut_bytes_max));
  if (dice_.chance(weather_.born_frozen)) freeze(line.legs[dice_.below(2)]);
  const bool dribbles = dice_.chance(weather_.dribble);
  if (dribbles) counters_.hit(Counter::dribbles);
  for (Leg& leg : line.legs) {
    if (dribbles) leg.piece = 1 + dice_.below(40);
    // A dribble with latency would take minutes for a page.
    if (!dribbles) leg.latency = milliseconds(dice_.skewed(0, weather_.latency_max_ms));
  }
}

asio::awaitable<void> Proxy::Impl::carry(std::shared_ptr<Line> line, std::size_t number) {
  Leg& leg = line->legs[number];
  std::array<char, 16'384> buffer;
  error_code error;
  for (;;) {
    leg.doing = "reads";
    const std::size_t size = co_await leg.from.async_read_some(asio::buffer(buffer), into(error));
    if (error || !co_await pass_on(line, leg, {buffer.data(), size})) break;
  }
  leg.over = true;
  leg.doing = "is over";
  on_end(line, leg, error == asio::error::eof);
}

/// False: the connection is over, or its other end takes no more.
asio::awaitable<bool> Proxy::Impl::pass_on(std::shared_ptr<Line> line, Leg& leg, std::string_view bytes) {
  while (!bytes.empty() && !leg.vanishing) {
    leg.doing = "holds";
    co_await hold(leg);
    if (line->ended) co_return false;
    if (leg.vanishing) break;
    const std::size_t size = std::min<std::uint64_t>({bytes.size(), leg.piece, leg.left});
    leg.doing = "writes";
    error_code error;
    co_await asio::async_write(leg.to, asio::buffer(bytes.substr(0, size)), into(error));
    if (error && !leg.vanishing) co_return false;
    leg.meter.feed(bytes.substr(0, size));
    leg.carried += size;
    bytes.remove_prefix(size);
    if (leg.left == kNever) continue;
    leg.left -= size;
    if (leg.left > 0) continue;
    counters_.hit(Counter::cuts);
    if (!leg.meter.between_frames()) counters_.hit(Counter::cuts_in_frame);
    cut(line);
  }
  co_return !line->ended;
}

/// Waits as long as this piece is under way.
asio::awaitable<void> Proxy::Impl::hold(Leg& leg) {
  const Clock::time_point due = Clock::now() + leg.latency;
  for (;;) {
    const Clock::time_point until = std::max(leg.latency.count() > 0 ? due : Clock::time_point(), leg.frozen_until);
    if (Clock::now() >= until) co_return;
    leg.pause.expires_at(until);
    error_code ignored;
    co_await leg.pause.async_wait(into(ignored));
  }
}

// --------------------------------------------------------------------------------------------------------- faults

asio::awaitable<void> Proxy::Impl::change_weather(std::shared_ptr<Line> line) {
  for (;;) {
    line->change.expires_after(milliseconds(dice_.skewed(10, 2 * weather_.change_every_ms)));
    error_code error;
    co_await line->change.async_wait(into(error));
    if (error || line->ended || line->half_open()) co_return;
    switch (dice_.below(4)) {
      case 0:
        freeze(line->legs[0]);
        freeze(line->legs[1]);
        break;
      case 1:
        freeze(line->legs[dice_.below(2)]);
        break;
      case 2:
        cut(line);
        co_return;
      default:
        break;
    }
  }
}

void Proxy::Impl::freeze(Leg& leg) {
  counters_.hit(Counter::freezes);
  leg.frozen_until = Clock::now() + silence();
}

void Proxy::Impl::cut(const std::shared_ptr<Line>& line) {
  if (line->ended) return;
  if (!dice_.chance(weather_.half_open)) return close(*line, dice_.chance(500));
  const bool server_knows = dice_.chance(500);
  end(server_knows ? line->server : line->device, dice_.chance(500));
  leave_half_open(line, server_knows ? line->device : line->server);
}

/// One end has gone by itself, or cannot be reached any more.
void Proxy::Impl::on_end(const std::shared_ptr<Line>& line, Leg& leg, bool orderly) {
  if (line->ended || line->half_open()) return;
  if (dice_.chance(weather_.half_open)) {
    end(leg.from, false);
    return leave_half_open(line, leg.to);
  }
  if (!orderly || (line->legs[0].over && line->legs[1].over)) return close(*line, !orderly);
  error_code ignored;
  leg.to.shutdown(tcp::socket::shutdown_send, ignored);
}

/// What the unaware side says vanishes for a while, then it is told.
void Proxy::Impl::leave_half_open(const std::shared_ptr<Line>& line, tcp::socket& unaware) {
  counters_.hit(Counter::half_open);
  for (Leg& leg : line->legs) {
    leg.vanishing = &leg.from == &unaware;
    leg.pause.cancel();
  }
  asio::co_spawn(io_, tell_later(line), asio::detached);
}

asio::awaitable<void> Proxy::Impl::tell_later(std::shared_ptr<Line> line) {
  line->change.expires_after(silence());
  error_code ignored;
  co_await line->change.async_wait(into(ignored));
  close(*line, true);
}

void Proxy::Impl::close(Line& line, bool reset) {
  if (std::exchange(line.ended, true)) return;
  if (reset) counters_.hit(Counter::resets);
  end(line.device, reset);
  end(line.server, reset);
  for (Leg& leg : line.legs) {
    leg.frozen_until = {};
    leg.pause.cancel();
  }
  line.change.cancel();
}

void Proxy::Impl::calm_down() {
  asio::post(io_, [this] {
    weather_ = Weather::calm();
    for (const auto& line : lines_) {
      if (line->ended) continue;
      for (Leg& leg : line->legs) {
        leg.left = kNever;
        leg.latency = milliseconds(0);
        leg.piece = 16'384;
        leg.frozen_until = {};
        leg.pause.cancel();
      }
      line->change.cancel();
    }
  });
}

std::string Proxy::Impl::describe() {
  std::promise<std::string> text;
  asio::post(io_, [this, &text] {
    std::string lines;
    for (const auto& line : lines_) {
      if (line->ended) continue;
      error_code ignored;
      lines += fmt::format("  line of port {} ({} to the server):", line->device.remote_endpoint(ignored).port(),
                           line->server.local_endpoint(ignored).port());
      for (const Leg& leg : line->legs)
        lines += fmt::format(" {} bytes {}, {}{}", leg.carried, &leg == line->legs.data() ? "up" : "down", leg.doing,
                             leg.vanishing ? ", vanishing;" : ";");
      lines += "\n";
    }
    text.set_value(lines);
  });
  return text.get_future().get();
}

// ----------------------------------------------------------------------------------------------------- public face

Proxy::Proxy(std::uint64_t seed, const Weather& weather, Counters& counters)
    : impl_(std::make_unique<Impl>(seed, weather, counters)) {}
Proxy::~Proxy() = default;

int Proxy::port() const {
  return impl_->port();
}
void Proxy::forward_to(int port) {
  impl_->forward_to(port);
}
void Proxy::calm_down() {
  impl_->calm_down();
}
std::string Proxy::describe() const {
  return impl_->describe();
}

}  // namespace tidemark::testing
