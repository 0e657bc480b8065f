#include "apps/bench/messages.h"

#include <algorithm>
#include <charconv>

#include "apps/bench/clock.h"
#include "core/uuid7.h"
#include "tidemark.pb.h"

namespace tidemark::bench {
namespace {

constexpr std::size_t kDigits = 8;
constexpr std::string_view kProse =
    " The tide comes in, the tide goes out, and every line it draws upon the sand is kept. ";

void write_hex(std::uint32_t number, char* out) {
  for (std::size_t i = kDigits; i > 0; --i, number >>= 4) out[i - 1] = "0123456789abcdef"[number & 15];
}

}  // namespace

MessageMaker::MessageMaker(int text_bytes) : random_(static_cast<std::uint64_t>(now_ns())) {
  const auto size = static_cast<std::size_t>(std::max(text_bytes, kTextBytesMin));
  text_.assign(kDigits, '0');
  while (text_.size() < size) text_ += kProse.substr(0, std::min(kProse.size(), size - text_.size()));
}

void MessageMaker::fill(pb::ClientFrame& frame, std::uint64_t id, const std::string& to, std::uint32_t index) {
  frame.set_id(id);
  v1::SendRequest& send = *frame.mutable_send();
  send.set_to(to);
  send.set_client_msg_id(new_id());
  send.mutable_body()->set_text(text(index));
}

const std::string& MessageMaker::text(std::uint32_t index) {
  write_hex(index, text_.data());
  return text_;
}

std::string MessageMaker::new_id() {
  Uuid7Random bytes;
  std::uint64_t drawn = random_();
  for (std::size_t i = 0; i < bytes.size(); ++i, drawn >>= 8) {
    if (i == sizeof drawn) drawn = random_();
    bytes[i] = static_cast<std::uint8_t>(drawn);
  }
  return make_uuid_v7(wall_ms(), bytes);
}

std::optional<std::uint32_t> index_of(std::string_view text) {
  std::uint32_t index = 0;
  if (text.size() < kDigits) return std::nullopt;
  text = text.substr(0, kDigits);
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), index, 16);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

}  // namespace tidemark::bench
