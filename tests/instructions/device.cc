#include "tests/instructions/device.h"

#include <cstdio>
#include <span>
#include <utility>

#include "base/check.h"
#include "gateway/limits.h"
#include "tidemark.pb.h"

namespace tidemark::instructions {
namespace {
constexpr WebSocketMask kMask = {'\x5a', '\x17', '\x6c', '\x21'};
}  // namespace

Device::Device(World& world, std::string user, std::string name, Dialect dialect)
    : world_(world), id_(world.next_link()), dialect_(dialect), cursor_(std::make_unique<pb::Cursor>()) {
  link_ = world_.links().make(*this, dialect_, "");
  pb::ClientFrame hello;
  hello.mutable_hello()->set_token(std::move(user));
  hello.mutable_hello()->set_device(std::move(name));
  TM_CHECK(call(hello).has_welcome(), "a hello is answered by a welcome");
  catch_up();
}

Device::~Device() {
  link_->on_closed();
}

void Device::finish() {
  TM_CHECK(false, "no script makes the server end a link");
}

void Device::close() {
  finish();
}

const pb::Cursor& Device::cursor() const {
  return *cursor_;
}

void Device::say(pb::ClientFrame& frame) {
  if (!frame.has_ack()) frame.set_id(next_request_++);
  std::string payload;
  encode_client_frame(dialect_, frame, payload);
  std::string bytes;
  encode_frame(bytes, dialect_ == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary, payload, kMask);
  const Counted counted(world_.meter());
  link_->on_bytes(bytes);
}

void Device::send_to(const std::string& user) {
  pb::ClientFrame frame;
  frame.mutable_send()->set_to(user);
  send_message(frame);
}

void Device::send_into(const std::string& conversation) {
  pb::ClientFrame frame;
  frame.mutable_send()->set_conversation_id(conversation);
  send_message(frame);
}

void Device::send_message(pb::ClientFrame& frame) {
  frame.mutable_send()->set_client_msg_id(world_.message_id());
  frame.mutable_send()->mutable_body()->set_text(World::text());
  say(frame);
}

pb::ServerFrame Device::call(pb::ClientFrame& frame) {
  waits_for_ = next_request_;
  say(frame);
  world_.round();
  read();
  TM_CHECK(answer_ != nullptr, "a request is answered once its round is done");
  return *std::exchange(answer_, nullptr);
}

void Device::catch_up() {
  pb::ServerFrame page;
  do {
    pb::ClientFrame sync;
    sync.mutable_sync()->set_bodies(pb::BODIES_ALL);
    sync.mutable_sync()->set_page_token(page.sync().page_token());
    page = call(sync);
    if (page.sync().has_next()) *cursor_ = page.sync().next();
  } while (!page.sync().page_token().empty());
}

void Device::read() {
  if (written_.empty()) return;
  std::string bytes = std::exchange(written_, {});
  std::span<char> rest(bytes);
  while (const WebSocketEvent event = codec_.next(rest)) {
    const auto frame = decode_server_frame(dialect_, event.data);
    TM_CHECK(frame.has_value(), "what the server says can be read");
    take(*frame);
  }
  // The room is used again, as a connection's is.
  bytes.clear();
  if (written_.empty()) written_ = std::move(bytes);
  if (unacknowledged_ < static_cast<std::uint64_t>(Limits().ack_entries)) return;
  unacknowledged_ = 0;
  pb::ClientFrame ack;
  ack.mutable_ack()->set_mark(mark_);
  say(ack);
}

void Device::take(const pb::ServerFrame& frame) {
  if (frame.has_error()) {
    std::fprintf(stderr, "tidemark-instructions: %s: %s\n", frame.error().code().c_str(),
                 frame.error().message().c_str());
    TM_CHECK(false, "no script is refused anything");
  }
  if (frame.id() != 0 && frame.id() == waits_for_) answer_ = std::make_unique<pb::ServerFrame>(frame);
  if (frame.has_sent()) ++sent_;
  for (const pb::PushItem& item : frame.push().items()) {
    if (item.has_entry()) ++pushed_;
    if (item.index_to() == 0) continue;
    mark_ = item.index_to();
    ++unacknowledged_;
  }
}

}  // namespace tidemark::instructions
