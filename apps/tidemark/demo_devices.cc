#include "apps/tidemark/demo_devices.h"

#include <fmt/core.h>

#include <thread>
#include <utility>

#include "base/check.h"
#include "base/ports.h"
#include "client/terminal/entry_text.h"

namespace tidemark {
namespace {

constexpr std::int64_t kPatienceMs = 30'000;
constexpr std::size_t kAllRows = 100'000;
constexpr std::size_t kLastMessages = 1;

std::string capital(std::string name) {
  if (!name.empty() && name.front() >= 'a' && name.front() <= 'z') name.front() = static_cast<char>(name.front() - 32);
  return name;
}

std::string in_list(const Change& conversation) {
  const std::string unread = terminal::unread_text(conversation.unread, conversation.unread_flag);
  return terminal::conversation_name(conversation) + (unread.empty() ? "" : " (" + unread + ")");
}

std::string line_of(const Entry& entry) {
  return entry.countable() ? entry.sender.value + ": " + terminal::entry_text(entry) : terminal::entry_text(entry);
}

}  // namespace

DemoDevice::DemoDevice(const DemoServer& server, std::string user, std::string device)
    : server_(server), user_(std::move(user)), device_(std::move(device)), store_(make_memory_store()) {}

std::string DemoDevice::name() const {
  return capital(user_) + "'s " + device_;
}

Result<void> DemoDevice::switch_on() {
  TM_ASSIGN(std::string token, server_.token(user_));
  ClientOptions options;
  options.url = "ws://" + server_.url().authority() + "/v1/ws";
  options.user = user_;
  options.token = [token = std::move(token)] { return token; };
  options.device = device_;
  options.platform = device_;
  options.store = store_;
  TM_ASSIGN(client_, Client::start(std::move(options)));
  return {};
}

void DemoDevice::switch_off() {
  last_shown_ = shown();
  last_shown_.line = "off";
  client_.reset();
}

DemoDevice::Shown DemoDevice::shown() const {
  if (!is_on()) return last_shown_;
  Shown shown;
  shown.line = client_->link() == LinkState::in_step ? "online" : "no server";
  const auto conversations = client_->conversations();
  for (const Change& conversation : conversations)
    shown.conversations += (shown.conversations.empty() ? "" : ", ") + in_list(conversation);
  if (conversations.empty()) return shown;
  const Timeline timeline = client_->timeline(conversations.front().conversation, {}, kLastMessages);
  for (const TimelineRow& row : timeline.rows) shown.last += (shown.last.empty() ? "" : " / ") + line_of(*row.entry);
  for (const OutboxItem& item : timeline.outbox) shown.last += " / " + item.body.text + " (waits)";
  return shown;
}

std::vector<std::string> DemoDevice::texts(const ConversationId& conversation) const {
  std::vector<std::string> texts;
  for (const TimelineRow& row : client_->timeline(conversation, {}, kAllRows).rows)
    if (row.entry->countable()) texts.push_back(terminal::entry_text(*row.entry));
  return texts;
}

std::string DemoDevice::unread(const ConversationId& conversation) const {
  const auto held = client_->conversation(conversation);
  if (!held) return "nothing at all";
  return std::to_string(held->unread.count) + (held->unread.exact ? "" : "+");
}

std::size_t DemoDevice::waiting() const {
  return client_->outbox().size();
}

bool DemoDevice::read_to_the_beginning(const ConversationId& conversation) const {
  client_->open(conversation);
  return comes_true([&] {
    const auto rows = client_->timeline(conversation, {}, kAllRows).rows;
    bool gap = rows.empty();
    for (const TimelineRow& row : rows) gap = gap || row.gap_before;
    if (!gap) return true;
    client_->scroll_back(conversation);
    while (const auto event = client_->next_event(500))
      if (std::holds_alternative<HistoryEvent>(*event)) break;
    return false;
  });
}

DemoDevice& DemoDevices::add(const DemoServer& server, const std::string& user, const std::string& device) {
  devices_.push_back(std::make_unique<DemoDevice>(server, user, device));
  return *devices_.back();
}

DemoDevice& DemoDevices::at(const std::string& user, const std::string& device) {
  for (const auto& each : devices_)
    if (each->user() == user && each->device() == device) return *each;
  check_failed("a device of the story", __FILE__, __LINE__, "the story names devices that it has added");
}

std::vector<DemoDevice*> DemoDevices::of(const std::string& user) const {
  std::vector<DemoDevice*> found;
  for (const auto& each : devices_)
    if (each->user() == user) found.push_back(each.get());
  return found;
}

std::string DemoDevices::table(terminal::Paint paint, int width) {
  using namespace terminal;
  TextTable table({{"device"}, {"line"}, {"conversations (unread)", Align::left, 44}, {"last message"}});
  for (const auto& device : devices_) {
    const DemoDevice::Shown shown = device->shown();
    const DemoDevice::Shown before = std::exchange(before_[device->name()], shown);
    const auto cell = [](const std::string& text, const std::string& was, Colour colour) {
      return Cell(text, text == was ? Style{} : Style{.colour = colour, .bold = true});
    };
    const Colour line_colour = shown.line == "online" ? Colour::green : Colour::red;
    table.add({{device->name(), {.bold = true}},
               cell(shown.line, before.line, line_colour),
               cell(shown.conversations, before.conversations, Colour::yellow),
               cell(shown.last, before.last, Colour::cyan)});
  }
  return table.text(paint, width);
}

bool comes_true(const std::function<bool()>& holds) {
  const SystemClock clock;
  const std::int64_t deadline_ms = clock.steady_ms() + kPatienceMs;
  while (!holds()) {
    if (clock.steady_ms() > deadline_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace tidemark
