#include "gateway/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/check.h"
#include "base/log.h"
#include "engine/engine.h"
#include "gateway/connection.h"
#include "gateway/http_api.h"
#include "gateway/links.h"
#include "gateway/metrics.h"
#include "gateway/server_hooks.h"
#include "gateway/service.h"
#include "gateway/settings.h"
#include "gateway/task_threads.h"
#include "gateway/ws_link.h"
#include "wire/openapi.h"
#include "wire/websocket_handshake.h"

namespace tidemark {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBufferBytes = 64 * 1024;
constexpr auto kTick = std::chrono::seconds(1);

std::string shown_address(const std::string& host, std::int64_t port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::vector<HttpHeaderView> header_views(const HttpAnswer& answer) {
  std::vector<HttpHeaderView> views;
  for (const auto& [name, value] : answer.headers) views.emplace_back(name, value);
  return views;
}

}  // namespace

struct Server::Impl final : ConnectionOwner {
  Impl(const Config& settings, World given)
      : config(settings),
        world(std::move(given)),
        engine(world.warm, world.clock, world.random, engine_options(config),
               {.wake = [this] { writer.wake(); },
                .publish =
                    [this](Outcome outcome) {
                      if (hooks) hooks->take_back(outcome.notices);
                      asio::post(io, [this, outcome = std::move(outcome)]() mutable {
                        if (hooks) hooks->published(outcome.notices);
                        links.publish(std::move(outcome));
                      });
                    },
                .events =
                    [this] {
                      if (hooks) hooks->wake();
                    }}),
        writer([this] { return engine.run_round(); }),
        readers(static_cast<std::size_t>(config.threads.readers)),
        service(engine, world.clock, PageTokens(world.cursor_key),
                {.on_network = [this](Task task) { asio::post(io, std::move(task)); },
                 .on_reader = [this](Task task) { readers.run(std::move(task)); }},
                service_limits(config), metrics),
        links(config, world.clock, service, metrics, [this](std::string_view token) { return authenticate(token); }),
        api(service, http_host()),
        acceptor(io),
        accept_again(io),
        ticker(io),
        signals(io) {}

  Result<void> listen();
  void run();
  void begin_stop();
  void finish_stop();
  HttpApi::Host http_host();
  ServerHooks::World hooks_world() {
    return {config, world.hook_secret, engine,       service,
            links,  world.clock,       world.random, [this](Task task) { asio::post(io, std::move(task)); }};
  }

  // Work of the network thread.
  void accept();
  void accepted(tcp::socket socket);
  void tick();
  void tick_connection(const std::shared_ptr<Connection>& connection, std::int64_t now);
  std::string metrics_text();
  Result<Principal> authenticate(std::string_view token) const {
    return world.authenticator.user(token, world.clock.wall_ms());
  }
  void respond(Connection& connection, const HttpAnswer& answer) {
    ++metrics.http_answers[answer.status];
    const auto headers = header_views(answer);
    connection.respond(
        {.status = answer.status, .content_type = answer.content_type, .body = answer.body, .headers = headers});
  }

  // ConnectionOwner
  void on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) override;
  std::unique_ptr<WsLink> on_upgrade(const std::shared_ptr<Connection>& connection, HttpRequest request) override;
  void on_closed(Connection& connection) override;
  void flush_later(const std::shared_ptr<Connection>& connection) override;
  std::span<char> read_buffer() override { return room; }
  std::int64_t now_ms() const override { return world.clock.steady_ms(); }
  bool stopping() const override { return stopping_; }

  const Config config;
  World world;
  Metrics metrics;
  asio::io_context io{1};
  Engine engine;
  WriterThread writer;
  ReaderThreads readers;
  Service service;
  Links links;
  HttpApi api;
  tcp::acceptor acceptor;
  asio::steady_timer accept_again;
  asio::steady_timer ticker;
  asio::signal_set signals;
  std::unique_ptr<TlsContext> tls;
  std::unique_ptr<ServerHooks> hooks;  // null: none is configured
  std::array<char, kReadBufferBytes> room;
  std::uint64_t next_id = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections;
  std::unordered_map<std::string, std::size_t> by_address;
  std::vector<std::shared_ptr<Connection>> to_flush;
  bool stopping_ = false;  // NOLINT(readability-identifier-naming): stopping() gives it
  std::thread network;
};

Result<std::unique_ptr<Server>> Server::start(const Config& config, World world) {
  auto impl = std::make_unique<Impl>(config, std::move(world));
  TM_TRY(impl->engine.open());
  TM_ASSIGN(impl->hooks, ServerHooks::open(impl->hooks_world()));
  TM_TRY(impl->listen());
  impl->run();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  stop();
  wait();
}

int Server::port() const {
  return impl_->acceptor.local_endpoint().port();
}

void Server::wait() {
  if (impl_->network.joinable()) impl_->network.join();
  impl_->finish_stop();
}

void Server::stop() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->begin_stop(); });
}

Result<void> Server::Impl::listen() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (!config.tls.certificate.empty()) {
    TM_ASSIGN(tls, TlsContext::server({config.tls.certificate, config.tls.key}));
  }
  const std::string host = config.listen.host == "localhost" ? "127.0.0.1" : config.listen.host;
  error_code failed;
  const auto address = asio::ip::make_address(host, failed);
  if (failed)
    return fail(ErrorCode::MALFORMED, "listen.host", host + " is no IP address; give one, such as 127.0.0.1.");
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(config.listen.port));
  acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(1'024, failed);
  if (!failed) return {};
  const std::string place = shown_address(host, config.listen.port);
  if (failed == asio::error::address_in_use) {
    const std::int64_t other = config.listen.port < 65'535 ? config.listen.port + 1 : config.listen.port - 1;
    return fail(ErrorCode::RETRY_LATER, "listen",
                place + " is taken by another program; stop it, or choose another port with --listen " +
                    shown_address(host, other) + ".");
  }
  return fail(ErrorCode::RETRY_LATER, "listen", "Cannot listen on " + place + ": " + failed.message() + ".");
}

void Server::Impl::run() {
  signals.add(SIGINT);
  signals.add(SIGTERM);
  signals.async_wait([this](const error_code& failed, int) {
    if (!failed) begin_stop();
  });
  writer.start();
  if (hooks) hooks->start();
  accept();
  tick();
  network = std::thread([this] {
    name_thread("network");
    io.run();
  });
}

void Server::Impl::begin_stop() {
  if (std::exchange(stopping_, true)) return;
  error_code ignored;
  acceptor.close(ignored);
  signals.cancel(ignored);
  links.shut_down();
  const auto open = connections;
  for (const auto& [id, connection] : open)
    if (connection->link() == nullptr && !connection->in_request()) connection->finish();
  ticker.cancel();
  ticker.expires_after(std::chrono::milliseconds(config.limits.shutdown_timeout_ms));
  ticker.async_wait([this](const error_code&) {
    const auto left_open = connections;
    for (const auto& [id, connection] : left_open) connection->close();
    io.stop();
  });
  if (connections.empty()) io.stop();
}

void Server::Impl::finish_stop() {
  if (hooks) hooks->stop();
  readers.stop();
  writer.stop();
}

HttpApi::Host Server::Impl::http_host() {
  return {.user = [this](std::string_view token) { return authenticate(token); },
          .admin = [this](std::string_view token) { return world.authenticator.admin(token, world.clock.wall_ms()); },
          .ready = [this]() -> Result<std::string> {
            const EngineStatus status = engine.status();
            if (stopping_) return fail(ErrorCode::RETRY_LATER, "", "The server is stopping.", 1'000);
            // Anybody may ask: what names files and folders stands in the log.
            if (!status.writable || !world.warm.room())
              return fail(ErrorCode::RETRY_LATER, "",
                          status.writable ? "The disk is nearly full: free some space. Reads are served."
                                          : "Nothing can be stored at the moment; the log says why. Reads are served.",
                          1'000);
            if (!status.purging) return "The wall clock jumped: nothing is dropped by age until the next start.";
            return "";
          },
          .metrics = [this] { return metrics_text(); },
          .openapi = openapi_json()};
}

void Server::Impl::accept() {
  acceptor.async_accept([this](const error_code& failed, tcp::socket socket) {
    if (failed == asio::error::operation_aborted || stopping_) return;
    if (!failed) {
      accepted(std::move(socket));
      return accept();
    }
    // Out of descriptors, most likely: others must end first.
    log_warning("accept_failed", {{"error", failed.message()}});
    accept_again.expires_after(std::chrono::milliseconds(100));
    accept_again.async_wait([this](const error_code&) { accept(); });
  });
}

void Server::Impl::accepted(tcp::socket socket) {
  ++metrics.accepted_connections;
  error_code ignored;
  const auto address = socket.remote_endpoint(ignored).address();
  const bool all_taken = connections.size() >= static_cast<std::size_t>(config.limits.connections_max);
  const bool from_here = address.is_loopback();
  std::size_t& same = by_address[address.to_string()];
  if (all_taken || (!from_here && same >= static_cast<std::size_t>(config.limits.connections_per_address_max))) {
    ++metrics.refused_connections;
    if (same == 0) by_address.erase(address.to_string());
    if (tls) return;
    const HttpAnswer answer = HttpApi::refusal({ErrorCode::TOO_MANY_CONNECTIONS, "", "", 5'000});
    const auto headers = header_views(answer);
    const std::string bytes = http_response({.status = answer.status,
                                             .content_type = answer.content_type,
                                             .body = answer.body,
                                             .keep_alive = false,
                                             .headers = headers});
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(bytes), ignored);
    return;
  }
  ++same;
  const HttpLimits http{static_cast<std::uint32_t>(config.limits.http_header_bytes_max),
                        static_cast<std::uint32_t>(config.limits.http_target_bytes_max),
                        static_cast<std::uint64_t>(config.limits.http_body_bytes_max),
                        static_cast<std::uint32_t>(Limits::http_fields_max)};
  auto filter = tls ? std::make_unique<TlsFilter>(*tls) : nullptr;
  const auto made =
      std::make_shared<Connection>(next_id++, std::move(socket), address.to_string(), *this, http, std::move(filter));
  connections.emplace(made->id(), made);
  made->start();
}

void Server::Impl::on_closed(Connection& connection) {
  if (const auto found = by_address.find(connection.address()); found != by_address.end() && --found->second == 0)
    by_address.erase(found);
  // The caller may still be inside the connection: let it go once the present work is done.
  const auto found = connections.find(connection.id());
  if (found == connections.end()) return;
  asio::post(io, [this, kept = std::move(found->second)] {
    if (stopping_ && connections.empty()) io.stop();
  });
  connections.erase(found);
}

void Server::Impl::flush_later(const std::shared_ptr<Connection>& connection) {
  to_flush.push_back(connection);
  if (to_flush.size() > 1) return;
  asio::post(io, [this] {
    const auto flushed = std::exchange(to_flush, {});
    for (const auto& each : flushed) each->flush();
  });
}

void Server::Impl::on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) {
  api.handle(request, [this, connection](const HttpAnswer& answer) { respond(*connection, answer); });
}

std::unique_ptr<WsLink> Server::Impl::on_upgrade(const std::shared_ptr<Connection>& connection, HttpRequest request) {
  const auto refuse = [&](const HttpAnswer& answer) {
    respond(*connection, answer);
    return nullptr;
  };
  if (request.path != kWebSocketPath)
    return refuse(HttpApi::refusal({ErrorCode::NOT_FOUND, "", "The WebSocket is at /v1/ws."}));
  const std::array protocols{subprotocol_of(Dialect::binary), subprotocol_of(Dialect::json)};
  const auto accept = accept_upgrade(request, protocols);
  if (!accept) {
    const bool other_version = accept.error().field == kWebSocketVersionField;
    return refuse(other_version ? HttpApi::upgrade_required(accept.error()) : HttpApi::refusal(accept.error()));
  }
  ++metrics.http_answers[101];
  connection->send(accept->response);
  return links.make(*connection, *dialect_named(accept->protocol), std::string(HttpApi::bearer_of(request)));
}

void Server::Impl::tick_connection(const std::shared_ptr<Connection>& connection, std::int64_t now) {
  const Limits& limits = config.limits;
  if (connection->blocked_since_ms() != 0 && now - connection->blocked_since_ms() > limits.write_timeout_ms)
    return connection->close();
  const std::int64_t arriving = connection->arriving_since_ms();
  if (arriving != 0 && now - arriving > limits.handshake_timeout_ms) return connection->close();
  const bool idle = connection->link() == nullptr && !connection->in_request();
  if (idle && now - connection->last_input_ms() > limits.http_idle_timeout_ms) connection->finish();
}

void Server::Impl::tick() {
  if (stopping_) return;
  ticker.expires_after(kTick);
  ticker.async_wait([this](const error_code& failed) {
    if (failed || stopping_) return;
    const std::int64_t now = now_ms();
    links.tick();
    if (hooks) hooks->tick();
    std::vector<std::shared_ptr<Connection>> open;
    open.reserve(connections.size());
    for (const auto& [id, connection] : connections) open.push_back(connection);
    for (const auto& connection : open) tick_connection(connection, now);
    if (auto reloaded = world.authenticator.reload_if_changed(now); !reloaded)
      log_error("keys_not_reloaded", {{"error", reloaded.error().message()}});
    tick();
  });
}

std::string Server::Impl::metrics_text() {
  std::string out;
  const EngineStatus status = engine.status();
  const WarmStatus store = world.warm.status();
  const auto gauge = [&out](std::string_view name, std::string_view help, double value) {
    write_metric(out, name, "gauge", help, value);
  };
  const auto counter = [&out](std::string_view name, std::string_view help, std::uint64_t value) {
    write_metric(out, name, "counter", help, static_cast<double>(value));
  };
  gauge("tidemark_connections", "Open TCP connections.", static_cast<double>(connections.size()));
  gauge("tidemark_links", "Devices that are welcomed.", static_cast<double>(links.devices()));
  gauge("tidemark_users_online", "Users with a link.", static_cast<double>(links.users()));
  gauge("tidemark_writable", "1 while sends are taken.", status.writable && world.warm.room() ? 1 : 0);
  gauge("tidemark_purging", "0 after the wall clock jumped: nothing is dropped by age.", status.purging ? 1 : 0);
  counter("tidemark_rounds_total", "Commit rounds.", status.rounds);
  counter("tidemark_commands_total", "Commands decided.", status.commands);
  counter("tidemark_refused_rounds_total", "Rounds that the store did not take.", status.refused_rounds);
  counter("tidemark_store_puts_total", "Operations written to the store.", store.puts);
  counter("tidemark_store_put_bytes_total", "Bytes of such operations.", store.put_bytes);
  const PageCache::Counts pages = engine.pages();
  counter("tidemark_page_cache_hits_total", "Pages of large groups that were read by somebody before.", pages.hits);
  counter("tidemark_page_cache_misses_total", "Pages of large groups that were read from the store.", pages.misses);
  gauge("tidemark_page_cache_bytes", "Memory of such pages, about.", static_cast<double>(pages.bytes));
  gauge("tidemark_store_disk_bytes", "Disk used by the store.", static_cast<double>(store.disk_bytes));
  if (hooks) hooks->write_metrics(out);
  write_metrics(out, metrics);
  return out;
}

}  // namespace tidemark
