// Where the frames of one direction of a WebSocket connection end, seen from its bytes alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::testing {

class FrameMeter {
 public:
  void feed(std::string_view bytes);
  /// Neither inside the HTTP head nor inside a frame.
  bool between_frames() const { return upgraded_ && header_.empty() && payload_left_ == 0; }

 private:
  bool upgraded_ = false;  // the HTTP head is over
  std::string header_;     // the last bytes of the head; then a frame's header as far as it has come
  std::uint64_t payload_left_ = 0;
};

}  // namespace tidemark::testing
