// The steps of the demonstration. Each does something and waits for what must come of it.
#include <fmt/core.h>

#include <algorithm>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/demo_story.h"
#include "base/ports.h"
#include "core/uuid7.h"
#include "tidemark.pb.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

constexpr const char* kGroupTitle = "周末去爬山";

}  // namespace

/// Returns what is wrong from a step, if anything is.
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
    said_[group_].emplace_back(text);
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
  said_[ann_ben_].emplace_back("Ticket 4711 is booked");
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

}  // namespace tidemark
