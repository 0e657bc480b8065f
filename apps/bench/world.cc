#include "apps/bench/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "apps/bench/clock.h"
#include "apps/bench/cpu_watch.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr std::size_t kConnectingMax = 256;  // at once: below the usual backlog of a listener
constexpr std::int64_t kConnectPatienceNs = 60 * kSecond;
constexpr std::int64_t kAnswerPatienceNs = 30 * kSecond;

/// The rates that keep users of a real server in check would be what is measured.
const std::vector<std::string> kUnlimited = {
    "limits.messages_per_second=0",
    "limits.requests_per_second=0",
    "limits.logins_per_minute=0",
    "log.level=warning",
};

struct Place {
  std::string host;
  int port = 0;
};

Result<Place> parse_url(std::string url) {
  if (url.starts_with("https:") || url.starts_with("wss:"))
    return trouble("The bench speaks no TLS; give the address of a plain listener, such as http://127.0.0.1:7700.");
  if (const std::size_t scheme = url.find("://"); scheme != std::string::npos) url.erase(0, scheme + 3);
  while (url.ends_with('/')) url.pop_back();
  const std::size_t colon = url.rfind(':');
  Place place;
  if (colon != std::string::npos) {
    place.host = url.substr(0, colon);
    if (place.host == "localhost") place.host = "127.0.0.1";
    std::from_chars(url.data() + colon + 1, url.data() + url.size(), place.port);
  }
  const bool numeric = place.host.find_first_not_of("0123456789.") == std::string::npos;
  if (place.port <= 0 || place.port > 65'535 || place.host.empty() || !numeric)
    return trouble("--url takes http://ADDRESS:PORT with an IPv4 address, such as http://127.0.0.1:7700.");
  return place;
}

}  // namespace

Result<std::unique_ptr<World>> World::open(const Options& options) {
  std::unique_ptr<World> world(new World(options));
  constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";
  world->prefix_ = "b";
  for (int i = 0; i < 5; ++i) world->prefix_ += kLetters[world->random_.next_u64() % kLetters.size()];
  TM_ASSIGN(world->directory_, TemporaryDirectory::make(options.directory));
  if (options.keep) world->directory_->keep();
  if (options.url.empty())
    TM_TRY(world->start_server());
  else
    TM_TRY(world->use_server());
  return world;
}

World::~World() = default;

Result<void> World::start_server() {
  std::vector<std::string> settings = kUnlimited;
  settings.push_back(fmt::format("limits.connections_max={}", std::max(options_.connections + 1'000, 15'000)));
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  TM_ASSIGN(server_, ServerProcess::start(options_.server, directory_->path(), settings));
  port_ = server_->port();
  fmt::print(stderr, "server: pid {}, port {}, data in {}\n", server_->pid(), port_, directory_->path());
  TM_ASSIGN(authenticator_, Authenticator::open(AuthConfig{}, directory_->path() + "/data", random_, Secrets::need));
  return {};
}

void World::kill_server() {
  server_->kill_hard();
  server_.reset();
}

Result<void> World::use_server() {
  if (options_.data.empty())
    return trouble("With --url give --data DIR too: the server's data directory, whose secret.key signs the tokens.");
  TM_ASSIGN(const Place place, parse_url(options_.url));
  host_ = place.host;
  port_ = place.port;
  TM_ASSIGN(authenticator_, Authenticator::open(AuthConfig{}, options_.data, random_, Secrets::need));
  TM_TRY(metrics());
  return {};
}

std::string World::user(std::string_view role, int number) const {
  return fmt::format("{}-{}{}", prefix_, role, number);
}

Result<std::unique_ptr<Link>> World::make_link(const std::string& user, const std::string& device,
                                               const std::function<void(LinkPlan&)>& change) {
  LinkPlan plan;
  plan.host = host_;
  plan.port = port_;
  plan.dialect = options_.dialect;
  plan.user = user;
  plan.device = device;
  TM_ASSIGN(plan.token, authenticator_->mint(UserId(user), {}, wall_ms()));
  if (change) change(plan);
  return std::make_unique<Link>(loop_, std::move(plan));
}

Result<void> World::wait_until_idle() {
  constexpr double kIdleShare = 0.03;  // of one processor
  const std::int64_t end_ns = now_ns() + kPatienceNs;
  double share = 1;
  while (share > kIdleShare && now_ns() < end_ns) {
    const CpuWatch cpu(server_pid());
    const std::int64_t look_ns = now_ns() + kSecond;
    while (now_ns() < look_ns) TM_TRY(loop_.turn(look_ns - now_ns()));
    share = cpu.shares().server;
  }
  return {};
}

Result<void> World::connect(std::span<const std::unique_ptr<Link>> links,
                            const std::function<void(std::int64_t)>& tell) {
  std::size_t started = 0;
  std::size_t welcomed = 0;
  const std::int64_t end = now_ns() + kConnectPatienceNs + static_cast<std::int64_t>(links.size()) * kMilli * 10;
  while (welcomed < links.size()) {
    for (; started < links.size() && started - welcomed < kConnectingMax; ++started) TM_TRY(links[started]->start());
    TM_TRY(loop_.turn(kSecond));
    while (welcomed < started && links[welcomed]->welcomed()) ++welcomed;
    if (tell) tell(static_cast<std::int64_t>(welcomed));
    if (now_ns() > end)
      return trouble(
          fmt::format("Only {} of {} links were welcomed in time. Look at the server's log.", welcomed, links.size()));
  }
  return {};
}

Result<pb::ServerFrame> World::call(Link& link, pb::ClientFrame frame) {
  frame.set_id(++last_id_);
  std::optional<pb::ServerFrame> answer;
  auto usual = std::exchange(link.on_answer, [&](const pb::ServerFrame& given) {
    if (given.id() == frame.id()) answer = given;
  });
  link.send(frame);
  const auto waited = loop_.run_until([&] { return answer.has_value(); }, kAnswerPatienceNs, "an answer is missing");
  link.on_answer = std::move(usual);
  if (!waited) return std::unexpected(waited.error());
  if (answer->has_error()) return std::unexpected(refusal_of(*answer));
  return std::move(*answer);
}

Error refusal_of(const pb::ServerFrame& frame) {
  const v1::Error& error = frame.error();
  return {ErrorCode::INTERNAL,
          {},
          fmt::format("The server refused a request with {} ({}): {}", error.code(), error.field(), error.message())};
}

}  // namespace tidemark::bench
