#include "tests/instructions/world.h"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "core/uuid7.h"
#include "gateway/settings.h"
#include "gateway/ws_link.h"
#include "store/directory.h"
#include "store/embedded/embedded_parts.h"
#include "store/keys.h"
#include "store/log/disk_files.h"

namespace tidemark::instructions {
namespace {

constexpr std::int64_t kTokenMs = 365LL * 24 * kHourMs;

/// What the disk refuses ends the program.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "tidemark-instructions: %s\n", result.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

EmbeddedOptions store_options(const WorldOptions& options) {
  EmbeddedOptions store;
  store.path = options.directory;
  store.cache_bytes = static_cast<std::size_t>(StoreConfig().cache_bytes);
  store.write_buffer_bytes = static_cast<std::size_t>(options.write_buffer_bytes);
  store.segment_bytes = static_cast<std::uint64_t>(StoreConfig().segment_bytes);
  store.min_free_bytes = static_cast<std::uint64_t>(StoreConfig().min_free_bytes);
  return store;
}

}  // namespace

void FixedRandom::fill(std::span<std::uint8_t> out) {
  for (std::uint8_t& byte : out) {
    state_ = state_ * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    byte = static_cast<std::uint8_t>(state_ >> 56);
  }
}

World::World(Meter& meter, WorldOptions options) : meter_(meter), options_(std::move(options)) {
  open();
}

World::~World() {
  close();
}

void World::open() {
  const EmbeddedOptions store = store_options(options_);
  auto sorted = must(RocksWarm::open(sorted_options(store)));
  if (options_.between) sorted = options_.between(std::move(sorted));
  LogWarmOptions log = log_options(store, clock_);
  log.threaded = false;
  must(make_directories(log_directory(store)));
  warm_ = must(LogWarm::open(std::make_shared<DiskFiles>(log_directory(store), store.min_free_bytes), std::move(sorted),
                             keys::owner_bytes, log, random_.next_u64()));
  engine_ = std::make_unique<Engine>(
      *warm_, clock_, random_, engine_options(config_),
      Engine::Host{.wake = [] {}, .publish = [this](Outcome outcome) { links_->publish(std::move(outcome)); }});
  must(engine_->open());
  const auto at_once = [](Task task) { task(); };
  service_ = std::make_unique<Service>(*engine_, clock_, PageTokens("a key of the scripts"),
                                       Threads{.on_network = at_once, .on_reader = at_once}, service_limits(config_),
                                       metrics_);
  // A token is the name of its user.
  links_ = std::make_unique<Links>(config_, clock_, *service_, metrics_, [this](std::string_view token) {
    return Principal{
        .user = UserId(token), .issued_at_ms = clock_.wall_ms(), .expires_at_ms = clock_.wall_ms() + kTokenMs};
  });
}

void World::close() {
  links_.reset();
  service_.reset();
  engine_.reset();
  warm_.reset();
}

void World::settle() {
  close();
  must(settle_embedded_store(store_options(options_), "", std::numeric_limits<std::int64_t>::max(), clock_, random_));
  open();
}

std::string World::message_id() {
  Uuid7Random dice;
  random_.fill(dice);
  return make_uuid_v7(clock_.wall_ms(), dice);
}

const std::string& World::text() {
  static const std::string text =
      "The tide comes in, the tide goes out, and every line it draws upon the sand is kept for those to come.";
  return text;
}

void World::send(const std::string& from, const std::string& to) {
  SendCommand command;
  command.sender = UserId(from);
  command.device = DeviceId("backend");
  command.to = UserId(to);
  command.client_msg_id = message_id();
  command.body.text = text();
  engine_->submit(std::move(command),
                  [](const Result<Reply>& reply) { TM_CHECK(reply.has_value(), "every message is taken"); });
}

void World::round() {
  const Counted counted(meter_);
  while (engine_->run_round()) {
  }
}

}  // namespace tidemark::instructions
