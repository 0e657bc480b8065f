#include "sim/scenario.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/reads.h"
#include "core/uuid7.h"
#include "store/store_view.h"

namespace tidemark::sim {
namespace {

constexpr std::int64_t kQuietMaxS = 1'200;

/// "A12" is A's.
std::string user_of(const std::string& name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- a phone

Phone::Rule* Phone::matching(std::vector<Rule>& rules, std::size_t kind) {
  for (Rule& rule : rules)
    if (rule.kind == kind && rule.times > 0) return &rule;
  return nullptr;
}

bool Phone::passes(replica::ServerFrame& frame) {
  if (delivering_) return true;
  if (meets && !meets(frame)) return false;
  Rule* rule = matching(rules_, frame.answer.index());
  if (rule == nullptr) return true;
  --rule->times;
  if (rule->what == Rule::late) {
    scenario_.reordered();
    deliver_later(rule->by_ms, frame);
  }
  if (rule->what == Rule::twice) deliver_later(0, frame);
  return rule->what == Rule::twice;
}

void Phone::deliver_later(std::int64_t by_ms, replica::ServerFrame frame) {
  scenario_.at(by_ms, [this, frame = std::move(frame)] {
    delivering_ = true;
    device_.deliver(frame);
    delivering_ = false;
  });
}

const replica::MemoryStore::Stored& Phone::stored(const ConversationId& id) const {
  const auto* found = store().conversation(id);
  if (found == nullptr) throw Violation("scenario", device_.name().shown + " does not hold " + id.value);
  return *found;
}

std::vector<Seq> Phone::rows(const ConversationId& id) const {
  std::vector<Seq> all;
  for (const auto& [seq, row] : stored(id).rows) all.push_back(seq);
  return all;
}

std::vector<std::string> Phone::texts(const ConversationId& id) const {
  std::vector<std::string> all;
  for (const auto& [seq, row] : stored(id).rows) all.push_back(row.entry->body.text);
  return all;
}

std::vector<Seq> Phone::notified(const ConversationId& id) const {
  std::vector<Seq> all;
  for (const auto& event : saw<replica::MessageEvent>())
    if (event.notify && event.conversation == id) all.push_back(event.entry->seq);
  return all;
}

// -------------------------------------------------------------------------------------------------------- a wire

Wire::Wire(Scenario& scenario, const std::string& name, const replica::Hello& hello, Dialect dialect)
    : scenario_(scenario), extras_{user_of(name), "wire", "1"}, dialect_(dialect) {
  connection_ = scenario.server().connect(dialect, {.on_data =
                                                        [this](std::string_view bytes) {
                                                          auto frame = decode_answer(dialect_, bytes);
                                                          if (!frame) throw Violation("wire", "cannot be read");
                                                          arrived_[frame->id] = {std::move(*frame), std::string(bytes)};
                                                        },
                                                    .on_closed = [] {},
                                                    .on_unblocked = {}});
  if (!connection_) throw Violation("scenario", "the server is down");
  replica::Hello greeting = hello;
  if (greeting.device.empty()) greeting.device = DeviceId(name);
  welcome_ = ask<replica::Welcome>(std::move(greeting));
}

Wire::~Wire() {
  connection_->device_close();
}

std::uint64_t Wire::sends(replica::Operation operation) {
  const std::uint64_t id = ++last_id_;
  last_request_ = encode_request(dialect_, {id, std::move(operation)}, extras_);
  connection_->device_send(last_request_);
  return id;
}

replica::Answer Wire::ask_again() {
  arrived_.erase(last_id_);
  connection_->device_send(last_request_);
  return answer(last_id_);
}

replica::Answer Wire::answer(std::uint64_t id) {
  if (!scenario_.until([&] { return arrived_.contains(id); })) throw Violation("scenario", "no answer to a wire");
  bytes_ = arrived_.at(id).bytes;
  return arrived_.at(id).frame.answer;
}

// ---------------------------------------------------------------------------------------------------- a scenario

scenario_detail::OwnRun::OwnRun(const std::function<void(Plan&)>& change) {
  own_run.tracing = std::getenv("TIDEMARK_SIM_TRACE") != nullptr;
  own_run.plan.bot_page_max = 200;  // logs are longer here
  own_run.plan.bot_bytes_max = 1'000'000;
  Limits& limits = own_run.plan.config.limits;
  limits.messages_per_second = limits.requests_per_second = limits.logins_per_minute = 0;
  if (change) change(own_run.plan);
}

Scenario::Scenario(const ChangePlan& change) : OwnRun(change), JudgedWorld(own_run) {
  server_.start();
}

Scenario::~Scenario() {
  if (std::uncaught_exceptions() > 0 || ::testing::Test::HasFailure()) return;
  try {
    end();
  } catch (const std::exception& violation) {
    ADD_FAILURE() << "at the end: " << violation.what();
  }
}

void Scenario::end() {
  run_.calm = true;
  if (!server_.up()) server_.start();
  for (auto& [device, phone] : phones_) {
    if (thrown_away_.contains(device)) continue;
    phone->network_heals();
    if (!phone->device().up()) phone->device().start();
    if (phone->device().offline()) phone->comes_online();
  }
  quiet();
  check_arrived();
}

Phone* Scenario::phone_of(const SimDevice& device) {
  const auto found = phones_.find(&device);
  return found == phones_.end() ? nullptr : found->second.get();
}

Phone& Scenario::phone(const std::string& name, const replica::Options& options) {
  Phone& made = new_phone(name);
  made.device().start(options);
  quiet();
  return made;
}

Phone& Scenario::new_phone(const std::string& name) {
  return new_phone(name, replica::MemoryStore(UserId(user_of(name)), DeviceId(name), InstallId("install of " + name)));
}

Phone& Scenario::new_phone(const std::string& name, replica::MemoryStore store) {
  const UserId user(user_of(name));
  if (std::ranges::find(users_, user) == users_.end()) users_.push_back(user);
  SimDevice& device =
      devices_.emplace_back(run_, server_, *this, SimDevice::Name{user, DeviceId(name), name}, std::move(store));
  return *phones_.emplace(&device, std::make_unique<Phone>(*this, device)).first->second;
}

void Scenario::throw_away(Phone& phone) {
  phone.goes_offline();
  thrown_away_.insert(&phone.device());
}

Wire& Scenario::wire(const std::string& name, const replica::Hello& hello, Dialect dialect) {
  return wires_.emplace_back(*this, name, hello, dialect);
}

// ------------------------------------------------------------------------------------------------------ backends

std::string Scenario::fresh_id(std::int64_t time_ms) {
  std::array<std::uint8_t, 10> random;
  run_.dice.fill(random);
  return make_uuid_v7(time_ms, random);
}

SendCommand Scenario::message(const std::string& sender, const std::string& to, const std::string& text) {
  SendCommand command;
  command.sender = UserId(sender);
  command.device = DeviceId("http");
  command.to = UserId(to);
  command.client_msg_id = fresh_id(server_.clock().wall_ms());
  command.body.text = text;
  return command;
}

void Scenario::post(const std::string& sender, const std::string& to, const std::string& text) {
  server_.submit(message(sender, to, text), [](Result<Reply> reply) { EXPECT_TRUE(reply.has_value()); });
}

void Scenario::post_in(const std::string& sender, const ConversationId& id, const std::string& text) {
  SendCommand command = message(sender, "", text);
  command.conversation = id;
  server_.submit(std::move(command), [](Result<Reply> reply) { EXPECT_TRUE(reply.has_value()); });
}

void Scenario::posts(const std::string& sender, const std::string& to, int count) {
  for (int i = 1; i <= count; ++i) post(sender, to, fmt::format("m {}", i));
}

Result<Reply> Scenario::command(Command command) {
  std::optional<Result<Reply>> answer;
  server_.submit(std::move(command), [&](Result<Reply> reply) { answer = std::move(reply); });
  if (!until([&] { return answer.has_value(); })) throw Violation("scenario", "no answer to a command");
  return std::move(*answer);
}

Result<SentReply> Scenario::send(SendCommand command) {
  auto reply = this->command(std::move(command));
  if (!reply) return std::unexpected(std::move(reply).error());
  return std::get<SentReply>(std::move(*reply));
}

ConversationId Scenario::group(const std::string& creator, const std::vector<std::string>& members) {
  CreateGroupCommand made;
  made.creator = UserId(creator);
  made.device = DeviceId("http");
  made.title = "G";
  for (const std::string& member : members) made.members.emplace_back(member);
  return std::get<GroupReply>(command(std::move(made)).value()).group.id;
}

// ---------------------------------------------------------------------------------------------------------- time

void Scenario::pass(std::int64_t ms) {
  const std::int64_t until = run_.timeline.now_ms() + ms;
  while (run_.timeline.step(until)) {
  }
}

bool Scenario::until(const std::function<bool()>& done, std::int64_t at_most_ms) {
  const std::int64_t end = run_.timeline.now_ms() + at_most_ms;
  while (!done())
    if (!run_.timeline.step(end)) return done();
  return true;
}

void Scenario::quiet() {
  constexpr int kAtLeastS = 3;  // what is on its way arrives and is acknowledged
  std::string waits;
  for (int second = 1; second <= kQuietMaxS; ++second) {
    pass(1'000);
    waits.clear();
    for (const SimDevice& device : devices_) {
      const bool refused = device.up() && device.engine().link() == replica::LinkState::refused;
      if (!device.settled() && !device.offline() && !refused) waits = device.name().shown + ": " + device.waits_for();
    }
    if (waits.empty() && second >= kAtLeastS) return;
  }
  throw Violation("I19", "it never becomes quiet: " + waits);
}

// ---------------------------------------------------------------------------------------------------- the server

const LogBook::Log& Scenario::log(const ConversationId& id) {
  look_at_log();
  return book_.log(id);
}

std::vector<std::string> Scenario::texts_of(const ConversationId& id) {
  std::vector<std::string> all;
  for (const auto& [seq, entry] : log(id)) all.push_back(entry.body.text);
  return all;
}

std::map<ConversationId, Change> Scenario::listed(const std::string& user) {
  std::map<ConversationId, Change> all;
  StoreView view(server_.snapshot());
  std::int64_t below_time = 0;
  ConversationId below;
  do {
    const auto page = read_conversations(view, server_.params(), UserId(user), 0, below_time, below);
    if (!page) throw Violation("scenario", page.error().message());
    for (const Change& change : page->conversations) all.emplace(change.conversation, change);
    below_time = page->next_sort_time;
    below = page->next_conversation;
  } while (below_time != 0);
  return all;
}

// ------------------------------------------------------------------------------------------------------ watching

void Scenario::on_storing(SimDevice& device, const replica::StoreBatch& batch) {
  if (storing) storing(device, batch);
  JudgedWorld::on_storing(device, batch);
}

void Scenario::on_event(SimDevice& device, const replica::Event& event) {
  if (Phone* phone = phone_of(device)) phone->saw_.push_back(event);
  JudgedWorld::on_event(device, event);
}

bool Scenario::on_request(SimDevice& device, const replica::Request& request) {
  if (asking) asking(device, request.operation);
  Phone* phone = phone_of(device);
  if (phone == nullptr) return true;
  phone->asked_.push_back(request.operation);
  Phone::Rule* rule = Phone::matching(phone->asked_rules_, request.operation.index());
  if (rule == nullptr) return true;
  --rule->times;
  return false;
}

bool Scenario::on_answer(SimDevice& device, replica::ServerFrame& frame) {
  if (Phone* phone = phone_of(device)) {
    if (!phone->passes(frame)) return false;
    phone->got_.push_back(frame.answer);
  }
  return JudgedWorld::on_answer(device, frame);
}

void Scenario::on_telling(const Outcome& outcome) {
  if (telling) telling(outcome);
  JudgedWorld::on_telling(outcome);
}

void Scenario::on_started() {
  ++starts_;
  JudgedWorld::on_started();
}

// --------------------------------------------------------------------------------------------------------- lists

std::vector<Seq> seqs(std::uint64_t first, std::uint64_t last) {
  std::vector<Seq> all;
  for (std::uint64_t seq = first; seq <= last; ++seq) all.emplace_back(seq);
  return all;
}

std::vector<std::string> numbered(int first, int last) {
  std::vector<std::string> all;
  for (int i = first; i <= last; ++i) all.push_back(fmt::format("m {}", i));
  return all;
}

}  // namespace tidemark::sim
