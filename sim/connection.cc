#include "sim/connection.h"

#include <algorithm>
#include <utility>

namespace tidemark::sim {

void Connection::open(End device, End server) {
  device_ = std::move(device);
  server_ = std::move(server);
}

void Connection::schedule(std::int64_t at_ms, std::function<void()> act) {
  run_.timeline.after(at_ms - run_.timeline.now_ms(), [self = shared_from_this(), act = std::move(act)] { act(); });
}

void Connection::carry(Lane& lane, std::string frame, Deliver deliver) {
  if (lane.cut) return;
  const std::int64_t now = run_.timeline.now_ms();
  if (run_.strikes(run_.plan.cut)) {
    run_.hit(Counter::cuts);
    lane.cut = true;
    frame.resize(run_.dice.below(frame.size()));
    return schedule(std::max(now, lane.last_at_ms), [this, frame = std::move(frame), deliver] {
      (this->*deliver)(frame);
      dead_ = true;  // nothing comes behind a part of a frame, not even what was on its way
      end_both();
    });
  }
  if (run_.strikes(run_.plan.drop)) {
    if (&lane == &down_) in_flight_bytes_ -= std::min(in_flight_bytes_, frame.size());
    return run_.hit(Counter::frames_dropped);
  }
  if (run_.strikes(run_.plan.stall)) {
    run_.hit(Counter::one_way);
    lane.silent_until_ms = now + run_.dice.skewed(1'000, 200'000);
  }
  if (run_.calm) lane.silent_until_ms = 0;
  const std::int64_t at = std::max(now + run_.dice.skewed(0, run_.plan.latency_max_ms), lane.silent_until_ms);
  if (run_.strikes(run_.plan.twice)) {
    run_.hit(Counter::frames_doubled);
    schedule(at + run_.dice.skewed(0, 2'000), [this, frame, deliver] { (this->*deliver)(frame); });
  }
  if (run_.strikes(run_.plan.reorder)) {
    run_.hit(Counter::frames_reordered);
    return schedule(at + run_.dice.skewed(0, 1'000),
                    [this, frame = std::move(frame), deliver] { (this->*deliver)(frame); });
  }
  lane.last_at_ms = std::max(at, lane.last_at_ms);
  lane.frames.push_back(std::move(frame));
  schedule(lane.last_at_ms, [this, &lane, deliver] {
    std::string next = std::move(lane.frames.front());
    lane.frames.pop_front();
    (this->*deliver)(std::move(next));
  });
}

// ------------------------------------------------------------------------------------------------ the device's end

void Connection::device_send(std::string_view message) {
  if (!device_open_) return;
  WebSocketMask mask;
  for (char& byte : mask) byte = static_cast<char>(run_.dice.below(256));
  std::string frame;
  encode_frame(frame, dialect_ == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary, message, mask);
  carry(up_, std::move(frame), &Connection::to_server);
}

void Connection::to_device(std::string frame) {
  if (!device_takes_) return untaken_.push_back(std::move(frame));
  in_flight_bytes_ -= std::min(in_flight_bytes_, frame.size());
  if (server_open_ && !blocked() && server_.on_unblocked) server_.on_unblocked();
  if (!device_open_ || dead_) return;
  std::span<char> bytes(frame);
  while (device_open_) {
    const WebSocketEvent event = reader_.next(bytes);
    if (event.kind == WebSocketEvent::Kind::none) return;
    if (event.kind == WebSocketEvent::Kind::text || event.kind == WebSocketEvent::Kind::binary) {
      device_.on_data(event.data);
    } else if (event.kind == WebSocketEvent::Kind::close || event.kind == WebSocketEvent::Kind::error) {
      tell_device();
    }
  }
}

void Connection::device_takes(bool takes) {
  device_takes_ = takes;
  while (device_takes_ && !untaken_.empty()) {
    std::string frame = std::move(untaken_.front());
    untaken_.pop_front();
    to_device(std::move(frame));
  }
}

void Connection::device_close() {
  if (!std::exchange(device_open_, false)) return;
  if (!run_.strikes(run_.plan.half_open))
    return schedule(run_.timeline.now_ms() + run_.dice.skewed(0, run_.plan.latency_max_ms), [this] { tell_server(); });
  run_.hit(Counter::half_open);
}

void Connection::tell_device() {
  if (std::exchange(device_open_, false)) device_.on_closed();
}

// ------------------------------------------------------------------------------------------------ the server's end

void Connection::send(std::string_view bytes) {
  if (!server_open_ || finishing_) return;
  run_.leaving(bytes);
  out_.append(bytes);
  if (!std::exchange(flush_queued_, true)) schedule(run_.timeline.now_ms(), [this] { flush(); });
}

void Connection::flush() {
  flush_queued_ = false;
  if (!server_open_) return;
  std::string written = std::exchange(out_, {});
  std::span<char> bytes(written);
  while (const WebSocketEvent event = splitter_.next(bytes)) {
    std::string frame;
    switch (event.kind) {
      case WebSocketEvent::Kind::text:
        encode_frame(frame, WebSocketOpcode::text, event.data);
        break;
      case WebSocketEvent::Kind::binary:
        encode_frame(frame, WebSocketOpcode::binary, event.data);
        break;
      default:
        encode_close(frame, kCloseNormal);
    }
    in_flight_bytes_ += frame.size();
    carry(down_, std::move(frame), &Connection::to_device);
  }
  if (blocked()) run_.hit(Counter::slow_consumers);
  if (!finishing_) return;
  tell_server();
  schedule(std::max(run_.timeline.now_ms(), down_.last_at_ms) + 1, [this] { tell_device(); });
}

void Connection::finish() {
  if (std::exchange(finishing_, true)) return;
  if (!std::exchange(flush_queued_, true)) schedule(run_.timeline.now_ms(), [this] { flush(); });
}

void Connection::pause(bool paused) {
  if (paused) run_.hit(Counter::full_links);
  paused_ = paused;
  while (!paused_ && !held_.empty()) {
    std::string frame = std::move(held_.front());
    held_.pop_front();
    to_server(std::move(frame));
  }
}

void Connection::to_server(std::string frame) {
  if (!server_open_ || finishing_ || dead_) return;
  if (paused_) return held_.push_back(std::move(frame));
  server_.on_data(frame);
}

void Connection::close() {
  if (!server_open_) return;
  tell_server();
  schedule(run_.timeline.now_ms() + run_.dice.skewed(0, run_.plan.latency_max_ms), [this] { tell_device(); });
}

void Connection::server_dies() {
  server_open_ = false;
  if (run_.strikes(run_.plan.half_open)) return run_.hit(Counter::half_open);
  schedule(run_.timeline.now_ms() + run_.dice.skewed(0, run_.plan.latency_max_ms), [this] { tell_device(); });
}

void Connection::tell_server() {
  if (std::exchange(server_open_, false)) server_.on_closed();
}

void Connection::end_both() {
  tell_server();
  if (run_.strikes(run_.plan.half_open)) return run_.hit(Counter::half_open);
  tell_device();
}

}  // namespace tidemark::sim
