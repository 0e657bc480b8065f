#include "client/link.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/localhost.h"
#include "base/ports.h"
#include "client/reconnect_waits.h"
#include "client/url.h"
#include "wire/tls.h"
#include "wire/websocket.h"
#include "wire/websocket_handshake.h"

namespace tidemark {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// The largest answers are pages of many bodies.
constexpr WebSocketLimits kLimits{.max_frame_bytes = 16U << 20, .max_message_bytes = 16U << 20, .max_fragments = 256};
/// What waits to be written; a server that takes nothing for so long is given up.
constexpr std::size_t kOutBytesMax = 16U << 20;

auto into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

}  // namespace

/// All members but those named "any thread" are used on the link's thread alone.
struct Link::Impl {
  Impl(LinkOptions opts, WebSocketUrl where, std::unique_ptr<TlsContext> tls, LinkHandler& told)
      : options(std::move(opts)),
        url(std::move(where)),
        tls_context(std::move(tls)),
        handler(told),
        waits(options.retry_min_ms, options.retry_max_ms) {}

  const LinkOptions options;
  const WebSocketUrl url;
  const std::unique_ptr<TlsContext> tls_context;  // null: not encrypted
  LinkHandler& handler;

  asio::io_context io{1};  // any thread: post to it
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;
  SystemClock clock;
  SystemRandom random;

  tcp::resolver resolver{io};
  asio::steady_timer pause{io};     // between connections
  asio::steady_timer alarm{io};     // for the handler
  asio::steady_timer deadline{io};  // for connecting
  bool stopping = false;
  // Any thread: whoever is told of a retirement may revive before what the retirement posted has run.
  std::atomic<bool> retired = false;
  ReconnectWaits waits;
  std::uint64_t attempts = 0;

  // The present connection.
  std::optional<tcp::socket> socket;
  std::optional<TlsFilter> tls;
  bool open = false;
  bool writing = false;
  std::string out;  // bytes for the socket, encrypted where that is due
  std::string in_flight;
  std::string why;

  asio::awaitable<void> run();
  asio::awaitable<void> wait_before_next();
  asio::awaitable<bool> connect();
  asio::awaitable<bool> shake_hands();
  asio::awaitable<bool> upgrade(std::string& plain);
  asio::awaitable<bool> fill(std::string& plain);
  asio::awaitable<void> converse(std::string plain);
  asio::awaitable<void> write_all();
  bool take(WebSocketCodec& codec, std::string& plain);
  void put(std::string_view plain);
  void put_frame(WebSocketOpcode opcode, std::string_view payload);
  void flush();
  void close(std::string reason, std::uint16_t code = kCloseNormal);
  WebSocketMask mask();
};

// ------------------------------------------------------------------------------------------------- connections

asio::awaitable<void> Link::Impl::run() {
  while (!stopping) {
    if (!retired) {
      why.clear();
      std::string plain;
      bool up = co_await connect();
      if (up) up = co_await upgrade(plain);
      deadline.cancel();
      if (up) {
        open = true;
        handler.on_open();
        co_await converse(std::move(plain));
      }
      open = false;
      close({});
      // Whoever still writes sees the closed socket and goes; what was not written is lost with the connection.
      while (writing) co_await asio::post(io, asio::use_awaitable);
      tls.reset();
      socket.reset();
      out.clear();
      if (stopping) break;
      handler.on_closed(why.empty() ? "the connection ended" : why);
    }
    co_await wait_before_next();
  }
}

asio::awaitable<void> Link::Impl::wait_before_next() {
  error_code ignored;
  if (retired) {
    pause.expires_at(asio::steady_timer::time_point::max());
  } else {
    pause.expires_after(std::chrono::milliseconds(waits.next(random.next_u64())));
  }
  co_await pause.async_wait(into(ignored));
}

asio::awaitable<bool> Link::Impl::connect() {
  socket.emplace(io);
  deadline.expires_after(std::chrono::milliseconds(options.connect_ms));
  deadline.async_wait([this, number = ++attempts](error_code error) {
    // It may have been too late to cancel it.
    if (error || number != attempts || open) return;
    if (why.empty()) why = "no connection in time";
    resolver.cancel();
    close({});
  });
  error_code error;
  auto found = co_await resolver.async_resolve(url.host, url.port, into(error));
  if (error && why.empty() && is_localhost(url.host))
    found = co_await resolver.async_resolve(kLoopback, url.port, into(error));
  if (!error) co_await asio::async_connect(*socket, found, into(error));
  if (error) {
    if (why.empty()) why = error.message();
    co_return false;
  }
  socket->set_option(tcp::no_delay(true), error);
  if (!tls_context) co_return true;
  co_return co_await shake_hands();
}

asio::awaitable<bool> Link::Impl::shake_hands() {
  tls.emplace(*tls_context, url.host);
  if (const auto begun = tls->start(out); !begun) {
    why = begun.error().detail;
    co_return false;
  }
  flush();
  std::string plain;
  while (!tls->handshake_done())
    if (!co_await fill(plain)) co_return false;
  co_return true;
}

/// Asks for the WebSocket; what the server sent behind its answer is left in `plain`.
asio::awaitable<bool> Link::Impl::upgrade(std::string& plain) {
  const std::string key = make_websocket_key(random);
  const std::array protocols{subprotocol_of(options.dialect)};
  put(upgrade_request(url.authority(), url.target, key, protocols));
  HttpResponseParser parser;
  for (;;) {
    if (!co_await fill(plain)) co_return false;
    std::string_view rest = plain;
    const HttpProgress progress = parser.feed(rest);
    plain.erase(0, plain.size() - rest.size());
    if (progress == HttpProgress::need_more) continue;
    if (progress != HttpProgress::ready) {
      why = parser.error().message();
      co_return false;
    }
    const auto accepted = check_upgrade(parser.take(), key, protocols);
    if (!accepted) why = accepted.error().message();
    co_return accepted.has_value();
  }
}

// ---------------------------------------------------------------------------------------------------- reading

/// Waits for bytes and appends them, decrypted. False: the connection is over.
asio::awaitable<bool> Link::Impl::fill(std::string& plain) {
  std::array<char, 16 * 1024> buffer;
  error_code error;
  const std::size_t size = co_await socket->async_read_some(asio::buffer(buffer), into(error));
  if (error) {
    close(error.message());
    co_return false;
  }
  const std::string_view bytes(buffer.data(), size);
  if (!tls) {
    plain.append(bytes);
    co_return true;
  }
  const auto fed = tls->feed(bytes, plain, out);
  flush();
  if (!fed) close(fed.error().detail);
  co_return fed.has_value();
}

asio::awaitable<void> Link::Impl::converse(std::string plain) {
  WebSocketCodec codec(WebSocketCodec::Role::client, kLimits);
  while (take(codec, plain) && socket->is_open()) {
    plain.clear();
    if (!co_await fill(plain)) co_return;
  }
}

/// Handles all that has arrived. False: nothing more is to come.
bool Link::Impl::take(WebSocketCodec& codec, std::string& plain) {
  std::span<char> input(plain);
  for (WebSocketEvent event = codec.next(input); event; event = codec.next(input)) {
    using Kind = WebSocketEvent::Kind;
    switch (event.kind) {
      case Kind::text:
      case Kind::binary:
        handler.on_message(event.data);
        if (!socket->is_open()) return false;
        break;
      case Kind::ping:
        put_frame(WebSocketOpcode::pong, event.data);
        break;
      case Kind::pong:
      case Kind::none:
        break;
      case Kind::close:
        close("the server closed with code " + std::to_string(event.close_code) + " " + std::string(event.data));
        return false;
      case Kind::error:
        close(std::string(event.data), event.close_code);
        return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------- writing

WebSocketMask Link::Impl::mask() {
  std::array<std::uint8_t, 4> bytes;
  random.fill(bytes);
  WebSocketMask mask;
  std::ranges::copy(bytes, mask.begin());
  return mask;
}

void Link::Impl::put(std::string_view plain) {
  if (!tls) {
    out.append(plain);
  } else if (const auto done = tls->encrypt(plain, out); !done) {
    close(done.error().message());
  }
  flush();
}

void Link::Impl::put_frame(WebSocketOpcode opcode, std::string_view payload) {
  std::string frame;
  encode_frame(frame, opcode, payload, mask());
  put(frame);
}

/// Everything that waits goes out in one write.
void Link::Impl::flush() {
  if (writing || out.empty() || !socket || !socket->is_open()) return;
  writing = true;
  asio::co_spawn(io, write_all(),
                 [](const std::exception_ptr& failure) { TM_CHECK(!failure, "writing does not throw"); });
}

asio::awaitable<void> Link::Impl::write_all() {
  error_code error;
  while (!error && !out.empty() && socket->is_open()) {
    in_flight.swap(out);
    out.clear();
    co_await asio::async_write(*socket, asio::buffer(in_flight), into(error));
  }
  in_flight.clear();
  writing = false;
  if (error) close(error.message());
}

void Link::Impl::close(std::string reason, std::uint16_t code) {
  if (!socket || !socket->is_open()) return;
  if (why.empty()) why = std::move(reason);
  error_code ignored;
  if (open && !writing && !tls) {
    // A last word is tried, not waited for.
    std::string frame;
    encode_close(frame, code, {}, mask());
    socket->non_blocking(true, ignored);
    socket->send(asio::buffer(frame), 0, ignored);
  }
  socket->shutdown(tcp::socket::shutdown_both, ignored);
  socket->close(ignored);
}

// ------------------------------------------------------------------------------------------------------- link

Link::Link(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Link>> Link::make(const LinkOptions& options, LinkHandler& handler) {
  TM_ASSIGN(WebSocketUrl url, parse_websocket_url(options.url));
  std::unique_ptr<TlsContext> tls;
  if (url.secure) {
    using Verify = TlsClientOptions::Verify;
    TM_ASSIGN(tls, TlsContext::client({options.ca_file, options.verify ? Verify::on : Verify::off}));
  }
  return std::unique_ptr<Link>(new Link(std::make_unique<Impl>(options, std::move(url), std::move(tls), handler)));
}

Link::~Link() {
  stop();
}

void Link::start() {
  TM_CHECK(!impl_->thread.joinable(), "a link is started once");
  impl_->work.emplace(impl_->io.get_executor());
  asio::co_spawn(impl_->io, impl_->run(),
                 [](const std::exception_ptr& failure) { TM_CHECK(!failure, "the link's coroutine does not throw"); });
  impl_->thread = std::thread([this] { impl_->io.run(); });
}

void Link::stop() {
  if (!impl_->thread.joinable()) return;
  TM_CHECK(std::this_thread::get_id() != impl_->thread.get_id(), "a handler cannot wait for its own end");
  asio::post(impl_->io, [this] {
    impl_->stopping = true;
    impl_->resolver.cancel();
    impl_->close({});
    impl_->pause.cancel();
    impl_->alarm.cancel();
    impl_->deadline.cancel();
    impl_->work.reset();
  });
  impl_->thread.join();
}

void Link::send(std::string bytes) {
  asio::post(impl_->io, [impl = impl_.get(), bytes = std::move(bytes)] {
    if (!impl->open) return;
    impl->put_frame(impl->options.dialect == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary, bytes);
    if (impl->out.size() > kOutBytesMax) impl->close("the server takes nothing");
  });
}

void Link::drop() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->close("given up"); });
}

void Link::retire() {
  impl_->retired = true;
  asio::post(impl_->io, [impl = impl_.get()] {
    if (impl->retired) impl->close("retired");
  });
}

void Link::revive() {
  impl_->retired = false;
  asio::post(impl_->io, [impl = impl_.get()] {
    impl->waits.settled();
    impl->pause.cancel();
  });
}

void Link::settled() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->waits.settled(); });
}

void Link::wake_at(std::int64_t steady_ms) {
  asio::post(impl_->io, [impl = impl_.get(), steady_ms] {
    if (impl->stopping) return;
    const std::int64_t wait = std::max<std::int64_t>(0, steady_ms - impl->clock.steady_ms());
    impl->alarm.expires_after(std::chrono::milliseconds(wait));
    impl->alarm.async_wait([impl](error_code error) {
      if (!error && !impl->stopping) impl->handler.on_timer();
    });
  });
}

}  // namespace tidemark
