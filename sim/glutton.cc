#include "sim/glutton.h"

#include "wire/convert_client.h"

namespace tidemark::sim {

void Glutton::start(const UserId& user) {
  if (connection_) return;
  user_ = user;
  connection_ =
      server_.connect(run_.dice.chance(300) ? Dialect::json : Dialect::binary, {.on_data = [](std::string_view) {},
                                                                                .on_closed =
                                                                                    [this, life = life_] {
                                                                                      if (life == life_) leave();
                                                                                    },
                                                                                .on_unblocked = {}});
  if (!connection_) return;
  run_.hit(Counter::gluttons);
  left_ = static_cast<int>(run_.dice.between(20, 400));
  ask();
}

void Glutton::ask() {
  if (!connection_) return;
  if (left_-- == 0 || run_.calm) return leave();
  const bool greets = questions_ == 0;
  const replica::Request request{
      ++questions_, greets ? replica::Hello{DeviceId("glutton"), InstallId("glutton"), {}, 0, 1} : any_question()};
  connection_->device_send(encode_request(connection_->dialect(), request, {user_.value, "sim", "1"}));
  // From the welcome on it takes nothing.
  if (questions_ == 5) connection_->device_takes(false);
  run_.timeline.after(run_.dice.skewed(0, 200), [this, life = life_] {
    if (life == life_) ask();
  });
}

replica::Operation Glutton::any_question() {
  if (run_.dice.chance(20)) return replica::Heartbeat{};
  if (run_.dice.chance(300)) {
    replica::Sync sync;
    sync.bodies = Bodies::recent;
    sync.recent = 5;
    return sync;
  }
  replica::History history;
  history.conversation = ConversationId(run_.dice.chance(500) ? "group_1" : "10_9");
  return history;
}

void Glutton::leave() {
  ++life_;
  questions_ = 0;
  if (connection_) connection_->device_close();
  connection_.reset();
}

}  // namespace tidemark::sim
