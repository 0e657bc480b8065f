// tidemark demo: a story of six devices, told and checked step by step, with a server that is killed in the middle.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "apps/tidemark/demo_devices.h"
#include "apps/tidemark/demo_server.h"
#include "apps/tidemark/settings_flags.h"
#include "apps/tidemark/terminal_mode.h"
#include "base/ports.h"
#include "core/conversation_id.h"
#include "core/uuid7.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

using terminal::Paint;

constexpr const char* kGroupTitle = "周末去爬山";
constexpr int kWhileAway = 40;
constexpr int kPause_ms = 1'800;

enum class Pace : std::uint8_t { for_people, fast };

/// What is wrong, in a sentence; nothing: the step shows what it should.
using Wrong = std::optional<std::string>;

/// The story. Every step does something, waits for what must come of it, and shows all devices.
class Story {
 public:
  Story(DemoServer& server, Pace pace) : server_(server), pace_(pace) {}
  /// Plays it; false when a device showed something else, after saying what.
  bool play();

 private:
  // The steps, in their order.
  Wrong six_devices();
  Wrong a_message();
  Wrong read_on_one_device();
  Wrong a_group();
  Wrong chen_is_away();
  Wrong server_killed();
  Wrong server_back();
  Wrong a_retry();
  Wrong chen_is_back();
  Wrong read_on_the_desktop();
  Wrong a_new_device();
  Wrong nothing_lost();

  Wrong say(DemoDevice& device, const ConversationId& conversation, const std::string& text);
  Wrong shows_last(DemoDevice& device, const ConversationId& conversation, const std::string& text) const;
  Wrong shows_unread(DemoDevice& device, const ConversationId& conversation, const std::string& unread) const;
  Wrong all_online() const;
  Called<std::string> call_as(const std::string& user, const CallOptions& options) const;
  Wrong same_as_log(DemoDevice& device, const ConversationId& conversation, std::size_t& compared) const;

  DemoServer& server_;
  const Pace pace_;
  DemoDevices devices_;
  const ConversationId ann_ben_ = single_conversation(UserId("ann"), UserId("ben"));
  const ConversationId ann_chen_ = single_conversation(UserId("ann"), UserId("chen"));
  ConversationId group_;
  std::map<ConversationId, std::vector<std::string>> said_;  // every text that its sender was told is sent
};

#define TM_STEP(expression)                              \
  do {                                                   \
    if (Wrong wrong = (expression); wrong) return wrong; \
  } while (false)

Wrong Story::six_devices() {
  for (const auto& [user, device] : {std::pair("ann", "phone"),
                                     {"ann", "laptop"},
                                     {"ben", "phone"},
                                     {"ben", "tablet"},
                                     {"chen", "phone"},
                                     {"chen", "desktop"}})
    if (const auto on = devices_.add(server_, user, device).switch_on(); !on) return on.error().message();
  return all_online();
}

Wrong Story::a_message() {
  TM_STEP(say(devices_.at("ann", "phone"), ann_ben_, "Are you free on Saturday?"));
  TM_STEP(shows_last(devices_.at("ann", "laptop"), ann_ben_, "Are you free on Saturday?"));
  TM_STEP(shows_unread(devices_.at("ann", "laptop"), ann_ben_, "0"));
  for (DemoDevice* device : devices_.of("ben")) {
    TM_STEP(shows_last(*device, ann_ben_, "Are you free on Saturday?"));
    TM_STEP(shows_unread(*device, ann_ben_, "1"));
  }
  return {};
}

Wrong Story::read_on_one_device() {
  if (const auto read = devices_.at("ben", "phone").client().mark_read(ann_ben_, Seq(1)); !read)
    return read.error().message();
  TM_STEP(shows_unread(devices_.at("ben", "phone"), ann_ben_, "0"));
  return shows_unread(devices_.at("ben", "tablet"), ann_ben_, "0");
}

Wrong Story::a_group() {
  std::string body = "{\"title\":";
  write_json_string(kGroupTitle, body);
  const auto made =
      call_as("ann", {.method = "POST", .target = "/v1/groups", .body = body + ",\"members\":[\"ben\",\"chen\"]}"});
  v1::Group group;
  if (!made) return made.error().sentence;
  if (!read_answer(*made, group)) return "the server's answer to a new group cannot be read";
  group_ = ConversationId(group.conversation_id());
  if (!comes_true([&] { return devices_.at("ann", "phone").client().conversation(group_).has_value(); }))
    return "Ann's phone does not show the group she has made";
  TM_STEP(say(devices_.at("ann", "phone"), group_, "大家周六早上七点出发 🏔️"));
  for (const auto& device : devices_.all()) {
    TM_STEP(shows_last(*device, group_, "大家周六早上七点出发 🏔️"));
    TM_STEP(shows_unread(*device, group_, device->user() == "ann" ? "0" : "1"));
  }
  return {};
}

Wrong Story::chen_is_away() {
  for (DemoDevice* device : devices_.of("chen")) device->switch_off();
  for (int i = 1; i <= kWhileAway; ++i) {
    DemoDevice& sender = i % 2 == 1 ? devices_.at("ann", "laptop") : devices_.at("ben", "tablet");
    TM_STEP(say(sender, group_, fmt::format("Plan, part {} of {}", i, kWhileAway)));
  }
  TM_STEP(say(devices_.at("ann", "phone"), ann_chen_, "Chen, can you drive?"));
  TM_STEP(say(devices_.at("ann", "phone"), ann_chen_, "Call me when you have landed"));
  const std::string last = fmt::format("Plan, part {} of {}", kWhileAway, kWhileAway);
  for (const auto& device : devices_.all())
    if (device->is_on()) TM_STEP(shows_last(*device, group_, last));
  return {};
}

Wrong Story::server_killed() {
  server_.kill();
  DemoDevice& phone = devices_.at("ben", "phone");
  for (const char* text : {"I bring the tea", "and the rope"}) {
    if (const auto queued = phone.client().send_text(group_, text); !queued) return queued.error().message();
    said_[group_].push_back(text);
  }
  for (const auto& device : devices_.all())
    if (device->is_on() && !comes_true([&] { return device->client().link() == LinkState::offline; }))
      return device->name() + " still believes in its connection";
  if (phone.waiting() != 2) return fmt::format("Ben's phone keeps {} messages instead of 2", phone.waiting());
  return {};
}

Wrong Story::server_back() {
  if (const auto started = server_.start(); !started) return started.error().message();
  for (const auto& device : devices_.all())
    if (device->is_on()) device->client().reconnect();
  TM_STEP(all_online());
  DemoDevice& phone = devices_.at("ben", "phone");
  if (!comes_true([&] { return phone.waiting() == 0; })) return "Ben's phone does not get its waiting messages out";
  for (const auto& device : devices_.all())
    if (device->is_on()) TM_STEP(shows_last(*device, group_, "and the rope"));
  return {};
}

Wrong Story::a_retry() {
  const SystemClock clock;
  SystemRandom random;
  Uuid7Random dice;
  random.fill(dice);
  const std::string body =
      fmt::format(R"({{"to":"ben","client_msg_id":"{}","body":{{"text":"Ticket 4711 is booked"}}}})",
                  make_uuid_v7(clock.wall_ms(), dice));
  v1::Sent first;
  v1::Sent again;
  for (v1::Sent* sent : {&first, &again}) {
    const auto answer = call_as("ann", {.method = "POST", .target = "/v1/messages", .body = body});
    if (!answer) return answer.error().sentence;
    if (!read_answer(*answer, *sent)) return "the server's answer to a message cannot be read";
  }
  said_[ann_ben_].push_back("Ticket 4711 is booked");
  if (first.duplicate() || !again.duplicate() || first.seq() != again.seq())
    return fmt::format("the retry became message {} beside {}", again.seq(), first.seq());
  for (const char* user : {"ann", "ben"})
    for (DemoDevice* device : devices_.of(user)) {
      TM_STEP(shows_last(*device, ann_ben_, "Ticket 4711 is booked"));
      const auto texts = device->texts(ann_ben_);
      if (std::ranges::count(texts, "Ticket 4711 is booked") != 1) return device->name() + " shows the message twice";
    }
  return {};
}

Wrong Story::chen_is_back() {
  for (DemoDevice* device : devices_.of("chen")) {
    if (const auto on = device->switch_on(); !on) return on.error().message();
    TM_STEP(shows_last(*device, group_, "and the rope"));
    TM_STEP(shows_unread(*device, group_, std::to_string(1 + kWhileAway + 2)));
    TM_STEP(shows_last(*device, ann_chen_, "Call me when you have landed"));
    TM_STEP(shows_unread(*device, ann_chen_, "2"));
  }
  return all_online();
}

Wrong Story::read_on_the_desktop() {
  Client& desktop = devices_.at("chen", "desktop").client();
  for (const ConversationId& id : {group_, ann_chen_}) {
    const auto held = desktop.conversation(id);
    if (!held) return "Chen's desktop has lost a conversation";
    if (const auto read = desktop.mark_read(id, held->head_seq); !read) return read.error().message();
    for (DemoDevice* device : devices_.of("chen")) TM_STEP(shows_unread(*device, id, "0"));
  }
  TM_STEP(say(devices_.at("chen", "phone"), ann_chen_, "Landed! Yes, I drive 🚗"));
  for (DemoDevice* device : devices_.of("ann")) {
    TM_STEP(shows_last(*device, ann_chen_, "Landed! Yes, I drive 🚗"));
    TM_STEP(shows_unread(*device, ann_chen_, "1"));
  }
  return {};
}

Wrong Story::a_new_device() {
  DemoDevice& tablet = devices_.add(server_, "ann", "new tablet");
  if (const auto on = tablet.switch_on(); !on) return on.error().message();
  TM_STEP(all_online());
  for (const ConversationId& id : {group_, ann_ben_, ann_chen_}) {
    TM_STEP(shows_last(tablet, id, said_[id].back()));
    TM_STEP(shows_unread(tablet, id, devices_.at("ann", "laptop").unread(id)));
    if (!tablet.read_to_the_beginning(id)) return "Ann's new tablet does not come to the beginning of " + id.value;
  }
  return {};
}

Wrong Story::nothing_lost() {
  std::size_t compared = 0;
  for (const auto& device : devices_.all())
    for (const ConversationId& id : {group_, ann_ben_, ann_chen_}) {
      if (!device->client().conversation(id)) continue;
      if (!device->read_to_the_beginning(id)) return device->name() + " does not come to the beginning of " + id.value;
      TM_STEP(same_as_log(*device, id, compared));
    }
  std::size_t said = 0;
  for (const auto& [id, texts] : said_) said += texts.size();
  fmt::print("{} messages were sent; {} devices hold {} copies of them, each once and in the same order.\n", said,
             devices_.all().size(), compared);
  return {};
}

/// Sends and waits until the sender is told that it is sent.
Wrong Story::say(DemoDevice& device, const ConversationId& conversation, const std::string& text) {
  const auto parsed = parse_conversation(conversation);
  Draft draft;
  draft.body.text = text;
  if (parsed && parsed->kind == ConversationKind::single)
    draft.to = parsed->peer_of(UserId(device.user()));
  else
    draft.conversation = conversation;
  if (const auto queued = device.client().send(draft); !queued) return queued.error().message();
  if (!comes_true([&] { return device.waiting() == 0; })) return device.name() + " does not get \"" + text + "\" out";
  said_[conversation].push_back(text);
  return {};
}

Wrong Story::shows_last(DemoDevice& device, const ConversationId& conversation, const std::string& text) const {
  std::string last;
  const bool shown = comes_true([&] {
    const auto texts = device.texts(conversation);
    last = texts.empty() ? "nothing" : texts.back();
    return last == text;
  });
  if (shown) return {};
  return fmt::format("{} should show \"{}\" in {}, but shows \"{}\"", device.name(), text, conversation.value, last);
}

Wrong Story::shows_unread(DemoDevice& device, const ConversationId& conversation, const std::string& unread) const {
  if (comes_true([&] { return device.unread(conversation) == unread; })) return {};
  return fmt::format("{} should show {} unread in {}, but shows {}", device.name(), unread, conversation.value,
                     device.unread(conversation));
}

Wrong Story::all_online() const {
  for (const auto& device : devices_.all())
    if (device->is_on() && !comes_true([&] { return device->client().link() == LinkState::in_step; }))
      return device->name() + " does not come online: " + device->client().link_trouble();
  return {};
}

Called<std::string> Story::call_as(const std::string& user, const CallOptions& options) const {
  const auto token = server_.token(user);
  if (!token) return std::unexpected(CallError{.code = "BAD_TOKEN", .sentence = token.error().message()});
  const auto calls = HttpCalls::open(server_.url(), *token);
  if (!calls) return std::unexpected(CallError{.code = "NO_SERVER", .sentence = calls.error().message()});
  return calls->call(options);
}

/// A device holds exactly what was said, in the order of the log.
Wrong Story::same_as_log(DemoDevice& device, const ConversationId& conversation, std::size_t& compared) const {
  const auto texts = device.texts(conversation);
  const auto& said = said_.at(conversation);
  compared += texts.size();
  if (texts == said) return {};
  const auto differ = std::ranges::mismatch(texts, said);
  const std::string held = differ.in1 == texts.end() ? "nothing" : *differ.in1;
  const std::string meant = differ.in2 == said.end() ? "nothing" : *differ.in2;
  return fmt::format("{} shows \"{}\" in {} where \"{}\" was said ({} of {} messages)", device.name(), held,
                     conversation.value, meant, texts.size(), said.size());
}

bool Story::play() {
  struct Step {
    Wrong (Story::*run)();
    std::string told;
  };
  const Step steps[] = {
      {&Story::six_devices, "Six devices of three people come online. Nobody has written yet."},
      {&Story::a_message,
       "Ann writes to Ben on her phone. Both of Ben's devices get it; Ann's laptop shows it as her own."},
      {&Story::read_on_one_device, "Ben reads it on his phone. His tablet's unread number goes, too."},
      {&Story::a_group, "Ann makes a group with Ben and Chen and greets them."},
      {&Story::chen_is_away,
       fmt::format(
           "Chen boards a plane: both devices off. {} messages go through the group, and Ann writes to Chen twice.",
           kWhileAway)},
      {&Story::server_killed, "kill -9: the server dies. Ben goes on writing; his phone keeps what it cannot send."},
      {&Story::server_back,
       "The server starts again on the same data. The devices come back by themselves, and Ben's messages go out."},
      {&Story::a_retry,
       "A script books a ticket for Ann, gets no answer and tries again: the same client_msg_id, so still one "
       "message."},
      {&Story::chen_is_back, "Chen lands and switches on. Everything is there, with its unread numbers."},
      {&Story::read_on_the_desktop,
       "Chen reads on the desktop, which clears the phone as well, and answers from the phone."},
      {&Story::a_new_device,
       "Ann buys a tablet. It begins with nothing and gets the list, the unread numbers and the history to the first "
       "message."},
      {&Story::nothing_lost,
       "All seven devices read everything back to the beginning, and it is compared with what was said."},
  };
  const Paint paint = stdout_is_coloured() ? Paint::coloured : Paint::plain;
  int number = 0;
  for (const Step& step : steps) {
    fmt::print("{}\n", paint == Paint::coloured
                           ? terminal::styled(fmt::format("{}. {}", ++number, step.told), {.bold = true})
                           : fmt::format("{}. {}", ++number, step.told));
    std::fflush(stdout);
    if (const Wrong wrong = (this->*step.run)(); wrong) {
      fmt::print("{}", devices_.table(paint, stdout_columns()));
      std::fflush(stdout);
      fmt::print(stderr, "tidemark demo: {}.\n", *wrong);
      return false;
    }
    fmt::print("\n{}\n", devices_.table(paint, stdout_columns()));
    std::fflush(stdout);
    if (pace_ == Pace::for_people) std::this_thread::sleep_for(std::chrono::milliseconds(kPause_ms));
  }
  fmt::print("Nothing was lost.\n");
  return true;
}

/// On Ctrl-C and the like: no server and no directory stay behind.
[[noreturn]] void clean_up_and_go(const DemoServer& server) {
  if (server.pid() > 0) ::kill(server.pid(), SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(server.directory(), ignored);
  ::_exit(130);
}

int run_demo(Pace pace) {
  SignalQueue signals;
  auto server = DemoServer::make();
  if (!server) {
    tell_error(server.error());
    return 1;
  }
  const std::jthread watch([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd wait{signals.descriptor(), POLLIN, 0};
      ::poll(&wait, 1, 100);
      for (int signal = signals.take(); signal != 0; signal = signals.take())
        if (signal != SIGWINCH) clean_up_and_go(**server);
    }
  });
  if (const auto started = (*server)->start(); !started) {
    tell_error(started.error());
    return 1;
  }
  return Story(**server, pace).play() ? 0 : 1;
}

}  // namespace

void add_demo(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("demo", "Play a story of six devices with an outage in between");
  auto fast = std::make_shared<bool>(false);
  command->add_flag("--fast", *fast, "Without pauses between the steps");
  command->callback([fast, &chosen] { chosen = [fast] { return run_demo(*fast ? Pace::fast : Pace::for_people); }; });
}

}  // namespace tidemark
