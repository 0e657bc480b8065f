#include "processes/frame_meter.h"

#include <algorithm>

namespace tidemark::testing {
namespace {

/// RFC 6455: flags, length, longer length, mask. 0 while the header has not come so far.
std::size_t header_size(std::string_view header) {
  if (header.size() < 2) return 0;
  const auto second = static_cast<unsigned char>(header[1]);
  const std::size_t length = second & 0x7fU;
  const std::size_t longer = length == 126 ? 2 : length == 127 ? 8 : 0;
  return 2 + longer + ((second & 0x80U) != 0 ? 4 : 0);
}

std::uint64_t payload_size(std::string_view header) {
  const std::uint64_t length = static_cast<unsigned char>(header[1]) & 0x7fU;
  if (length < 126) return length;
  std::uint64_t size = 0;
  for (const char byte : header.substr(2, length == 126 ? 2 : 8)) size = size << 8 | static_cast<unsigned char>(byte);
  return size;
}

}  // namespace

void FrameMeter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (payload_left_ > 0) {
      const std::uint64_t size = std::min<std::uint64_t>(payload_left_, bytes.size());
      bytes.remove_prefix(size);
      payload_left_ -= size;
      continue;
    }
    header_ += bytes.front();
    bytes.remove_prefix(1);
    if (!upgraded_) {
      if (header_.size() > 4) header_.erase(0, 1);
      if (header_ != "\r\n\r\n") continue;
      upgraded_ = true;
      header_.clear();
    } else if (header_.size() == header_size(header_)) {
      payload_left_ = payload_size(header_);
      header_.clear();
    }
  }
}

}  // namespace tidemark::testing
