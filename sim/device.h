// A device of a run: the real client engine over a store that survives its crashes, speaking real frames.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "client/reconnect_waits.h"
#include "core/replica/memory_store.h"
#include "core/replica/replica.h"
#include "sim/old_version.h"
#include "sim/server.h"

namespace tidemark::sim {

class SimDevice;

/// Told of what a device stores and shows.
class DeviceWatch {
 public:
  virtual ~DeviceWatch() = default;
  /// The batch is about to be applied to the device's store.
  virtual void on_storing(SimDevice& device, const replica::StoreBatch& batch) = 0;
  /// An input was carried out.
  virtual void on_acted(SimDevice&) {}
  virtual void on_event(SimDevice& device, const replica::Event& event) = 0;
  /// A request is about to leave. False: it is lost on its first step.
  virtual bool on_request(SimDevice& device, const replica::Request& request) = 0;
  /// A frame is about to be taken. False: it was lost on its last step.
  virtual bool on_answer(SimDevice& device, replica::ServerFrame& frame) = 0;
  /// The device runs from a copy of what its store was once; or a second one runs from a copy of its store.
  virtual void on_restored(SimDevice& device) = 0;
  virtual void on_cloned(SimDevice& device) = 0;
};

class SimDevice {
 public:
  struct Name {
    UserId user;
    DeviceId device;
    std::string shown;  // in traces
  };
  SimDevice(RunContext& run, SimServer& server, DeviceWatch& watch, Name name, replica::MemoryStore store);
  ~SimDevice();

  /// The process starts and connects, behaving as `options` say (their seed aside), or as it did before, or the first
  /// time as chance has it.
  void start();
  void start(const replica::Options& options);
  /// As the other device does, once it starts.
  void behave_like(const SimDevice& other) {
    options_ = other.options_;
    old_version_ = other.old_version_;
  }
  /// From now on.
  void become_old_version() { old_version_.emplace(name_.user, run_.dice.next()); }
  const std::optional<OldVersion>& old_version() const { return old_version_; }
  void crash();
  /// Where in its work on an input a device dies.
  enum class Death : std::uint8_t { before_storing, half_sent, before_showing };
  /// The next input that changes what is stored is its last.
  void die_at(Death death) { dies_at_ = death; }
  void set_offline(bool offline);
  /// Whether it takes what comes on its present link.
  void set_taking(bool takes) {
    if (connection_) connection_->device_takes(takes);
  }
  /// After a kick for good or a refusal: the user opens the app again.
  void wake_up();
  /// Its user logs out; if he `comes_back` at once, on a new link, what he said on the old one may be late. False: it
  /// has no session to end.
  bool log_out(bool comes_back);
  bool up() const { return replica_ != nullptr; }
  bool offline() const { return offline_; }
  bool connected() const { return connection_ != nullptr; }
  /// It stands at the head, nothing waits to be sent or told.
  bool settled() const;
  /// It has messages or changes that are not answered for good.
  bool unsent() const { return !store_.outbox().empty() || !store_.mutations().empty(); }
  /// What keeps it from that, in words.
  std::string waits_for() const;

  // The user acts; nothing happens while the process is down.
  struct Meant {
    std::vector<UserId> users;
    bool everybody = false;
    Priority priority = Priority::normal;
  };
  void send(const UserId& to, const ConversationId& conversation, const std::string& text, Seq reply_to,
            const Meant& meant);
  void send(const UserId& to, const ConversationId& conversation, const std::string& text, Seq reply_to) {
    send(to, conversation, text, reply_to, Meant());
  }
  void recall(const ConversationId& conversation, Seq seq);
  void edit(const ConversationId& conversation, Seq seq, const std::string& text, std::optional<Seq> base_revision);
  void react(const ConversationId& conversation, Seq seq, const std::string& reaction, bool on);
  void mark_read(const ConversationId& conversation, Seq seq);
  void mark_unread(const ConversationId& conversation);
  void clear(const ConversationId& conversation, Seq seq);
  void remove(const ConversationId& conversation);
  void delete_for_me(const ConversationId& conversation, const std::vector<Interval>& ranges);
  void mute(const ConversationId& conversation, std::int64_t until);
  void pin(const ConversationId& conversation, bool pinned);
  void set_object(UserObject wish);
  /// Asks for all of the bodies that it holds cut.
  void fetch_bodies(const ConversationId& conversation);
  void open(const ConversationId& conversation);
  void close(const ConversationId& conversation);
  void scroll_back(const ConversationId& conversation, Seq before);
  void scroll_forward(const ConversationId& conversation, Seq after);
  void watch_receipts(const std::vector<ConversationId>& conversations);
  const std::vector<ConversationId>& watches_receipts_of() const { return receipts_of_; }
  void settle_outbox();  // undecided messages are sent again, failed ones dropped

  /// A frame reaches it, by whatever way it came.
  void deliver(replica::ServerFrame frame);

  /// Counts its starts.
  std::uint64_t life() const { return life_; }
  const Name& name() const { return name_; }
  const UserId& user() const { return name_.user; }
  const replica::MemoryStore& store() const { return store_; }
  const replica::Replica& engine() const { return *replica_; }
  /// REQUIRES: it was started once.
  const replica::Options& options() const { return *options_; }
  /// What it has asked on the present connection and not been answered, by the number of the request.
  struct Asked {
    std::size_t kind = 0;  // index in replica::Operation
    std::string client_msg_id;
  };
  const std::map<std::uint64_t, Asked>& asked() const { return asked_; }
  SimClock& clock() { return clock_; }
  void tell(const std::string& what) { run_.tell(name_.shown + " " + what); }
  void show(const std::string& what) const { run_.show(name_.shown + " " + what); }

 private:
  replica::Options any_options();
  template <typename Input>
  void act(Input input);
  void carry_out();
  std::uint64_t bodies_asked_ = 0;  // questions that are answered by their number
  std::optional<Death> death(const replica::Outputs& outputs);
  void note_asked(const replica::Request& request);
  void trace_requests(const std::vector<replica::Request>& requests);
  void later(std::int64_t delay_ms, std::function<void()> act);
  void connect();
  bool may_connect() const;
  void connect_again();
  void connect_at_once();
  void connect_in(std::int64_t wait_ms);
  void lose_connection();
  void on_data(std::string_view message);
  void set_alarm();
  std::vector<Attachment> any_files(const std::string& text) const;
  replica::Now now() const { return {clock_.steady_ms(), clock_.wall_ms()}; }

  RunContext& run_;
  SimServer& server_;
  DeviceWatch& watch_;
  const Name name_;
  const Dialect dialect_;
  SimClock clock_;
  replica::MemoryStore store_;
  replica::MemoryStore backup_;
  std::optional<replica::Options> options_;
  std::optional<OldVersion> old_version_;
  std::vector<ConversationId> receipts_of_;  // watched since it started
  std::optional<Death> dies_at_;
  ReconnectWaits waits_;
  std::unique_ptr<replica::Replica> replica_;
  std::shared_ptr<Connection> connection_;
  std::map<std::uint64_t, Asked> asked_;
  std::uint64_t life_ = 0;
  std::uint64_t alarms_ = 0;
  std::uint64_t connections_ = 0;
  bool offline_ = false;
  bool retired_ = false;  // kicked for good
  bool connecting_ = false;
  bool crashing_ = false;
};

}  // namespace tidemark::sim
