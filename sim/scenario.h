// What the numbered scenarios are told with: users, their phones and one server that do as they are told, in virtual
// time. No fault but those that the scenario names, and the judges of the simulator watch: when a scenario ends,
// everybody must come into step, show what the logs hold, and show the same as a new device.
//
// A phone is named for its user: "A1" and "A2" are A's. All that reaches it, all it asks for and all it tells its user
// is kept until `forget`.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/judged_world.h"
#include "wire/convert_client.h"

// How the values of scenarios show in failures.
namespace tidemark {
template <typename Tag>
void PrintTo(const Number<Tag>& number, std::ostream* out) {
  *out << number.value;
}
template <typename Tag>
void PrintTo(const Name<Tag>& name, std::ostream* out) {
  *out << name.value;
}
inline void PrintTo(const Interval& range, std::ostream* out) {
  *out << '(' << range.after.value << ", " << range.to.value << ']';
}
inline void PrintTo(const Unread& unread, std::ostream* out) {
  *out << unread.count << (unread.exact ? "" : "+");
}
}  // namespace tidemark

namespace tidemark::sim {

class Scenario;

namespace scenario_detail {
template <typename T, typename... Ts>
constexpr std::size_t index_in(const std::variant<Ts...>*) {
  std::size_t index = 0;
  (void)((std::is_same_v<T, Ts> || (++index, false)) || ...);
  return index;
}
}  // namespace scenario_detail

inline constexpr int kAlways = 1 << 30;

class Phone {
 public:
  Phone(Scenario& scenario, SimDevice& device) : scenario_(scenario), device_(device) {}
  Phone(const Phone&) = delete;
  Phone& operator=(const Phone&) = delete;

  // What its user does.
  void says(const std::string& user, const std::string& text) { device_.send(UserId(user), {}, text, {}); }
  void says_in(const ConversationId& id, const std::string& text) { device_.send({}, id, text, {}); }
  void reads(const ConversationId& id, Seq seq) { device_.mark_read(id, seq); }
  void marks_unread(const ConversationId& id) { device_.mark_unread(id); }
  void opens(const ConversationId& id) { device_.open(id); }
  void closes(const ConversationId& id) { device_.close(id); }
  void scrolls_back(const ConversationId& id, Seq before = {}) { device_.scroll_back(id, before); }
  void scrolls_forward(const ConversationId& id, Seq after) { device_.scroll_forward(id, after); }
  void goes_offline() { device_.set_offline(true); }
  void comes_online() { device_.set_offline(false); }
  /// It reads nothing from its link, and goes on.
  void stops_reading() { device_.set_taking(false); }
  void reads_on() { device_.set_taking(true); }
  /// It dies, and starts again by itself some seconds later.
  void dies() { device_.crash(); }
  SimDevice& device() const { return device_; }

  // What the network does with frames of one kind on their way to it, the next `times` of them.
  template <typename Frame>
  void loses(int times = kAlways) {
    rules_.push_back({answer_kind<Frame>(), Rule::lost, times, 0});
  }
  template <typename Frame>
  void gets_late(std::int64_t by_ms, int times = kAlways) {
    rules_.push_back({answer_kind<Frame>(), Rule::late, times, by_ms});
  }
  template <typename Frame>
  void gets_twice(int times = kAlways) {
    rules_.push_back({answer_kind<Frame>(), Rule::twice, times, 0});
  }
  /// And with what it asks for.
  template <typename Operation>
  void loses_asked(int times = kAlways) {
    asked_rules_.push_back(
        {scenario_detail::index_in<Operation>(static_cast<replica::Operation*>(nullptr)), Rule::lost, times, 0});
  }
  void network_heals() {
    rules_.clear();
    asked_rules_.clear();
    meets = nullptr;
  }
  /// Called before any of these with each frame, which it may change; false: it is lost.
  std::function<bool(replica::ServerFrame&)> meets;

  // What was seen of it.
  template <typename Frame>
  std::vector<Frame> got() const {
    return kept<Frame>(got_);
  }
  template <typename Operation>
  std::vector<Operation> asked() const {
    return kept<Operation>(asked_);
  }
  template <typename Event>
  std::vector<Event> saw() const {
    return kept<Event>(saw_);
  }
  void forget() {
    got_.clear();
    asked_.clear();
    saw_.clear();
  }
  /// The messages that it notified of.
  std::vector<Seq> notified(const ConversationId& id) const;

  // What it holds.
  const replica::MemoryStore& store() const { return device_.store(); }
  Mark cursor() const { return store().device().cursor.mark; }
  const replica::ConversationState& state(const ConversationId& id) const { return stored(id).state; }
  /// The conversation as its list shows it.
  const Change& shows(const ConversationId& id) const { return stored(id).state.object; }
  const Entry& row(const ConversationId& id, Seq seq) const { return *stored(id).rows.at(seq).entry; }
  std::vector<Seq> rows(const ConversationId& id) const;
  std::vector<std::string> texts(const ConversationId& id) const;

 private:
  friend class Scenario;
  struct Rule {
    std::size_t kind;
    enum { lost, late, twice } what;
    int times;
    std::int64_t by_ms;
  };
  template <typename Frame>
  static constexpr std::size_t answer_kind() {
    return scenario_detail::index_in<Frame>(static_cast<replica::Answer*>(nullptr));
  }
  template <typename T, typename Variant>
  static std::vector<T> kept(const std::vector<Variant>& all) {
    std::vector<T> found;
    for (const Variant& each : all)
      if (const T* one = std::get_if<T>(&each)) found.push_back(*one);
    return found;
  }
  static Rule* matching(std::vector<Rule>& rules, std::size_t kind);
  const replica::MemoryStore::Stored& stored(const ConversationId& id) const;
  bool passes(replica::ServerFrame& frame);
  void deliver_later(std::int64_t by_ms, replica::ServerFrame frame);

  Scenario& scenario_;
  SimDevice& device_;
  std::vector<Rule> rules_;
  std::vector<Rule> asked_rules_;
  bool delivering_ = false;  // a frame that has met the network before
  std::vector<replica::Answer> got_;
  std::vector<replica::Operation> asked_;
  std::vector<replica::Event> saw_;
};

/// A client without memory that asks by hand.
class Wire {
 public:
  Wire(Scenario& scenario, const std::string& name, const replica::Hello& hello, Dialect dialect);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  const replica::Welcome& welcome() const { return welcome_; }
  /// Asks, and does not wait.
  std::uint64_t sends(replica::Operation operation);
  /// The answer to what was sent under this id; throws when none comes.
  replica::Answer answer(std::uint64_t id);
  replica::Answer ask(replica::Operation operation) { return answer(sends(std::move(operation))); }
  /// The answer, which has to be one of this kind.
  template <typename Frame>
  Frame ask(replica::Operation operation) {
    return std::get<Frame>(ask(std::move(operation)));
  }
  /// The last request once more, byte for byte.
  replica::Answer ask_again();
  /// The last answer, as it stood in its WebSocket message.
  const std::string& bytes() const { return bytes_; }

 private:
  struct Arrived {
    replica::ServerFrame frame;
    std::string bytes;
  };
  Scenario& scenario_;
  HelloExtras extras_;
  std::shared_ptr<Connection> connection_;
  const Dialect dialect_;
  std::uint64_t last_id_ = 0;
  std::string last_request_;
  std::map<std::uint64_t, Arrived> arrived_;
  replica::Welcome welcome_;
  std::string bytes_;
};

namespace scenario_detail {
struct OwnRun {
  explicit OwnRun(const std::function<void(Plan&)>& change);
  RunContext own_run{7};
};
}  // namespace scenario_detail

class Scenario : private scenario_detail::OwnRun, public JudgedWorld {
 public:
  using ChangePlan = std::function<void(Plan&)>;
  explicit Scenario(const ChangePlan& change = nullptr);
  /// The general invariants on the final state.
  ~Scenario() override;

  /// It starts, and everybody comes into step.
  Phone& phone(const std::string& name, const replica::Options& options = {});
  /// A phone that has not been started yet; with the store of another one, from a backup of that.
  Phone& new_phone(const std::string& name);
  Phone& new_phone(const std::string& name, replica::MemoryStore store);
  /// It is thrown away: nobody waits for it.
  void throw_away(Phone& phone);
  /// With very many users: new devices and bots are tried for so many of them.
  void judge_users(std::size_t count) { users_.resize(count); }
  Wire& wire(const std::string& name, const replica::Hello& hello = {}, Dialect dialect = Dialect::binary);

  // What backends do.
  void post(const std::string& sender, const std::string& to, const std::string& text);
  void post_in(const std::string& sender, const ConversationId& id, const std::string& text);
  /// "m 1" to "m <count>", all at once.
  void posts(const std::string& sender, const std::string& to, int count);
  ConversationId group(const std::string& creator, const std::vector<std::string>& members);
  Result<Reply> command(Command command);
  Result<SentReply> send(SendCommand command);
  /// One that the server takes.
  SendCommand message(const std::string& sender, const std::string& to, const std::string& text);
  /// A client_msg_id with this time.
  std::string fresh_id(std::int64_t time_ms);

  // What time brings.
  void pass(std::int64_t ms);
  /// Until everybody that is online is in step and has nothing to do.
  void quiet();
  bool until(const std::function<bool()>& done, std::int64_t at_most_ms = 60'000);
  void at(std::int64_t delay_ms, std::function<void()> act) { run_.timeline.after(delay_ms, std::move(act)); }
  std::int64_t now_ms() const { return run_.timeline.now_ms(); }

  // What the server is, and what befalls it.
  SimServer& server() { return server_; }
  void server_dies(SimDisk::Fate unsynced = SimDisk::Fate::lost) { server_.crash(unsynced); }
  void server_starts() { server_.start(); }
  /// How often it has started.
  int starts() const { return starts_; }
  using JudgedWorld::back_up_server;
  using JudgedWorld::check_devices;
  using JudgedWorld::restore_server;
  const LogBook::Log& log(const ConversationId& id);
  std::vector<std::string> texts_of(const ConversationId& id);
  /// As the server lists it to a new device.
  std::map<ConversationId, Change> listed(const std::string& user);
  Change listed(const std::string& user, const ConversationId& id) { return listed(user).at(id); }
  Dice& dice() { return run_.dice; }
  RunContext& run() { return run_; }

  void on_storing(SimDevice& device, const replica::StoreBatch& batch) override;
  void on_event(SimDevice& device, const replica::Event& event) override;
  bool on_request(SimDevice& device, const replica::Request& request) override;
  bool on_answer(SimDevice& device, replica::ServerFrame& frame) override;
  void on_telling(const Outcome& outcome) override;
  void on_started() override;
  // Told of each round before anything of it leaves, of each input of a phone before it is stored, and of all it asks.
  std::function<void(const Outcome&)> telling;
  std::function<void(const SimDevice&, const replica::StoreBatch&)> storing;
  std::function<void(const SimDevice&, const replica::Operation&)> asking;

 private:
  void end();
  void await_fresh_devices() override { quiet(); }
  Phone* phone_of(const SimDevice& device);

  std::map<const SimDevice*, std::unique_ptr<Phone>> phones_;
  std::list<Wire> wires_;
  int starts_ = 0;
};

/// From the first to the last, both included.
std::vector<Seq> seqs(std::uint64_t first, std::uint64_t last);
/// "m 1" to "m <count>".
std::vector<std::string> numbered(int first, int last);

}  // namespace tidemark::sim
