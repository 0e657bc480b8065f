// An engine over a simulated disk, in time of its own, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/reads.h"
#include "core/uuid7.h"
#include "engine/engine.h"
#include "store/faulty.h"
#include "store/memory/memory_warm.h"
#include "store/store_view.h"

namespace tidemark {

class TestClock final : public Clock {
 public:
  std::int64_t wall_ms() const override { return wall; }
  std::int64_t steady_ms() const override { return steady; }
  void pass(std::int64_t ms) {
    wall += ms;
    steady += ms;
  }
  std::int64_t wall = 1'790'000'000'000;
  std::int64_t steady = 1'000'000;
};

/// A fixed stream of numbers: the same in every run.
class TestRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) {
      state_ = state_ * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
      byte = static_cast<std::uint8_t>(state_ >> 56);
    }
  }

 private:
  std::uint64_t state_ = 1;
};

class EngineWorld {
 public:
  explicit EngineWorld(EngineOptions options = {}) : options_(std::move(options)) { start(); }

  /// The process starts (again): memory is empty, the disk is what it is.
  void start() {
    engine_.reset();
    warm_.reset();
    auto opened = MemoryWarm::open(disk);
    ASSERT_TRUE(opened.has_value()) << opened.error().detail;
    warm_ = std::make_unique<FaultyWarm>(std::move(*opened), plan);
    engine_ = std::make_unique<Engine>(
        *warm_, clock, random, options_,
        Engine::Host{
            .wake = [] {}, .publish = [this](Outcome o) { take(std::move(o)); }, .events = [this] { ++events_woken; }});
    ASSERT_TRUE(engine_->open().has_value());
  }
  void crash(MemoryDisk::Fate fate = MemoryDisk::Fate::lost) {
    disk->crash(fate);
    start();
  }

  void submit(Command command, std::optional<Result<Reply>>* answer, Session by = {}) {
    engine_->submit(std::move(command), [answer](Result<Reply> reply) { *answer = std::move(reply); }, std::move(by));
  }
  void run() {
    while (engine_->run_round()) {
    }
  }
  Result<Reply> call(Command command, Session by = {}) {
    std::optional<Result<Reply>> answer;
    submit(std::move(command), &answer, std::move(by));
    run();
    EXPECT_TRUE(answer.has_value()) << "every command is answered";
    return answer ? std::move(*answer) : Result<Reply>(fail(ErrorCode::INTERNAL));
  }
  template <typename T>
  T get(Command command, Session by = {}) {
    auto reply = call(std::move(command), std::move(by));
    EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().message());
    return reply ? std::get<T>(*reply) : T{};
  }
  ErrorCode refused(Command command, Session by = {}) {
    auto reply = call(std::move(command), std::move(by));
    EXPECT_FALSE(reply.has_value()) << "it was taken";
    return reply ? ErrorCode::INTERNAL : reply.error().code;
  }

  /// A message of `sender` under an id whose time is `id_time` (default: now).
  SendCommand message(const std::string& sender, const std::string& to, const std::string& text,
                      std::optional<std::int64_t> id_time = std::nullopt) {
    SendCommand command;
    command.sender = UserId(sender);
    command.device = DeviceId(sender + "1");
    if (to.starts_with("group_") || to.find('_') != std::string::npos)
      command.conversation = ConversationId(to);
    else
      command.to = UserId(to);
    std::array<std::uint8_t, 10> dice;
    random.fill(dice);
    command.client_msg_id = make_uuid_v7(id_time.value_or(clock.wall), dice);
    command.body.text = text;
    return command;
  }
  SentReply send(const std::string& sender, const std::string& to, const std::string& text) {
    return get<SentReply>(message(sender, to, text));
  }
  MutateCommand read_to(const std::string& user, const std::string& conversation, std::uint64_t seq,
                        std::uint64_t number = 0) {
    MutateCommand command;
    command.user = UserId(user);
    command.device = DeviceId("d");
    if (number != 0) command.install = InstallId("i");
    command.number = number;
    command.change = ReadCommand{UserId(user), ConversationId(conversation), Seq(seq)};
    return command;
  }

  StoreView view() { return StoreView(warm_->snapshot()); }
  Change change(const std::string& user, const std::string& conversation) {
    StoreView seen = view();
    auto change = read_change(seen, params(), UserId(user), ConversationId(conversation));
    EXPECT_TRUE(change.has_value()) << (change ? "" : change.error().message());
    return change ? std::move(*change) : Change{};
  }
  const CoreParams& params() const { return options_.params; }
  Engine& engine() { return *engine_; }
  Warm& warm() { return *warm_; }
  /// What was published and not yet looked at.
  std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }
  std::vector<EndedSession> take_ended() { return std::exchange(ended_, {}); }

  TestClock clock;
  TestRandom random;
  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  int events_woken = 0;  // how often there was something to tell
  std::shared_ptr<FaultPlan> plan = std::make_shared<FaultPlan>();

 private:
  void take(Outcome outcome) {
    for (auto& [done, answer, ended] : outcome.answers) {
      std::ranges::move(ended, std::back_inserter(ended_));
      done(std::move(answer));
    }
    std::ranges::move(outcome.notices, std::back_inserter(notices_));
  }

  EngineOptions options_;
  std::unique_ptr<Warm> warm_;
  std::unique_ptr<Engine> engine_;
  std::vector<Notice> notices_;
  std::vector<EndedSession> ended_;
};

inline const Receiver* receiver(const Notice& notice, const std::string& user) {
  for (const Receiver& each : notice.receivers)
    if (each.user.value == user) return &each;
  return nullptr;
}

inline std::vector<Entry> log_of(EngineWorld& world, const std::string& conversation) {
  std::vector<Entry> log;
  StoreView view = world.view();
  view.entries(ConversationId(conversation), Seq(), Seq(1u << 30), Direction::up, [&](const Entry& entry) {
    log.push_back(entry);
    return true;
  });
  EXPECT_FALSE(view.failure());
  return log;
}

struct Group {
  std::string id;
  std::uint64_t head = 0;
};

inline Group make_group(EngineWorld& world, const std::string& owner, std::vector<std::string> members) {
  CreateGroupCommand command;
  command.creator = UserId(owner);
  command.title = "G";
  for (const std::string& member : members) command.members.emplace_back(member);
  const auto made = world.get<GroupReply>(command);
  return {made.group.id.value, made.head.value};
}

inline RemoveMemberCommand remove(const std::string& by, const Group& group, const std::string& user) {
  RemoveMemberCommand command;
  command.user = UserId(by);
  command.conversation = ConversationId(group.id);
  command.removed = UserId(user);
  return command;
}

inline AddMembersCommand add(const std::string& by, const Group& group, const std::string& user) {
  AddMembersCommand command;
  command.user = UserId(by);
  command.conversation = ConversationId(group.id);
  command.added = {UserId(user)};
  return command;
}

}  // namespace tidemark
