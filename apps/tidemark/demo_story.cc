#include "apps/tidemark/demo_story.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "apps/tidemark/client_flags.h"

namespace tidemark {
namespace {

using terminal::Paint;

constexpr int kPauseMs = 1'800;

}  // namespace

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
    if (pace_ == Pace::for_people) std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
  }
  fmt::print("Nothing was lost.\n");
  return true;
}

}  // namespace tidemark
