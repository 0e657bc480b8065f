#include "client/terminal/keys.h"

#include <optional>
#include <utility>

#include "base/json_text.h"

namespace tidemark::terminal {
namespace {

constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr std::size_t kSequenceMax = 32;  // longer ones are no keys
constexpr std::size_t kPasteMax = 256 * 1024;

std::optional<KeyKind> control_key(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return KeyKind::enter;
    case '\t':
      return KeyKind::tab;
    case 0x7f:
    case 0x08:
      return KeyKind::backspace;
    case 0x01:
      return KeyKind::home;
    case 0x02:
      return KeyKind::left;
    case 0x03:
      return KeyKind::interrupt;
    case 0x04:
      return KeyKind::end_of_input;
    case 0x05:
      return KeyKind::end;
    case 0x06:
      return KeyKind::right;
    case 0x0b:
      return KeyKind::kill_rest;
    case 0x0c:
      return KeyKind::redraw;
    case 0x0e:
      return KeyKind::down;
    case 0x10:
      return KeyKind::up;
    case 0x15:
      return KeyKind::kill_line;
    case 0x17:
      return KeyKind::kill_word;
    default:
      return std::nullopt;
  }
}

/// The key of "ESC [ parameters final" or "ESC O final".
std::optional<KeyKind> sequence_key(std::string_view parameters, char final) {
  switch (final) {
    case 'A':
      return KeyKind::up;
    case 'B':
      return KeyKind::down;
    case 'C':
      return KeyKind::right;
    case 'D':
      return KeyKind::left;
    case 'H':
      return KeyKind::home;
    case 'F':
      return KeyKind::end;
    case 'M':
      return KeyKind::enter;  // of the keypad
    case 'Z':
      return KeyKind::back_tab;
    case '~': {
      const std::string_view number = parameters.substr(0, parameters.find(';'));
      if (number == "1" || number == "7") return KeyKind::home;
      if (number == "4" || number == "8") return KeyKind::end;
      if (number == "3") return KeyKind::erase;
      if (number == "5") return KeyKind::page_up;
      if (number == "6") return KeyKind::page_down;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

/// How many bytes a character that begins with this byte has.
std::size_t utf8_length(char byte) {
  const auto first = static_cast<std::uint8_t>(byte);
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc2 ? 2 : 1;
}

}  // namespace

std::vector<Key> KeyDecoder::feed(std::string_view bytes) {
  pending_ += bytes;
  std::vector<Key> keys;
  while (!pending_.empty()) {
    const std::size_t taken = take_one(keys);
    if (taken == 0) break;
    pending_.erase(0, taken);
  }
  return keys;
}

std::vector<Key> KeyDecoder::pause() {
  std::vector<Key> keys;
  if (!waiting()) return keys;
  if (pending_ == "\x1b") keys.push_back({KeyKind::escape});
  pending_.clear();
  return keys;
}

/// Takes what stands at the front; 0 when more bytes are needed.
std::size_t KeyDecoder::take_one(std::vector<Key>& keys) {
  if (pasting_) {
    const std::size_t end = pending_.find(kPasteEnd);
    if (end == std::string::npos && pending_.size() < kPasteMax) return 0;
    pasting_ = false;
    add_text(std::string_view(pending_).substr(0, end), keys);
    return end == std::string::npos ? pending_.size() : end + kPasteEnd.size();
  }
  const char byte = pending_.front();
  if (byte == '\x1b') return take_escape(keys);
  if (const auto kind = control_key(byte)) {
    keys.push_back({*kind});
    return 1;
  }
  if (static_cast<std::uint8_t>(byte) < 0x20) return 1;
  const std::size_t length = utf8_length(byte);
  if (pending_.size() < length) {
    // Wait only for what can still become a character.
    for (std::size_t i = 1; i < pending_.size(); ++i)
      if ((static_cast<std::uint8_t>(pending_[i]) & 0xc0) != 0x80) return 1;
    return 0;
  }
  std::size_t end = 0;
  if (decode_utf8(pending_, end) != kNoCodePoint) add_text(std::string_view(pending_).substr(0, end), keys);
  return end;
}

std::size_t KeyDecoder::take_escape(std::vector<Key>& keys) {
  if (pending_.size() == 1) return 0;
  switch (pending_[1]) {
    case '[':
    case 'O':
      return take_sequence(2, keys);
    case '\x7f':
      keys.push_back({KeyKind::kill_word});  // Alt-Backspace
      return 2;
    case '\x1b':
      keys.push_back({KeyKind::escape});
      return 1;
    default:
      return 2;
  }
}

std::size_t KeyDecoder::take_sequence(std::size_t begin, std::vector<Key>& keys) {
  std::size_t end = begin;
  while (end < pending_.size() && pending_[end] >= 0x20 && pending_[end] < 0x40) ++end;
  if (end - begin > kSequenceMax) return end;
  if (end == pending_.size()) return 0;
  const std::string_view parameters = std::string_view(pending_).substr(begin, end - begin);
  if (pending_[end] == '~' && parameters == "200")
    pasting_ = true;
  else if (const auto kind = sequence_key(parameters, pending_[end]))
    keys.push_back({*kind});
  return end + 1;
}

/// Keeps what is text, with line breaks as '\n'.
void KeyDecoder::add_text(std::string_view text, std::vector<Key>& keys) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = decode_utf8(text, at);
    if (c == '\r' || c == '\n') {
      if (c == '\n' && start > 0 && text[start - 1] == '\r') continue;
      kept += '\n';
    } else if (c == '\t') {
      kept += ' ';
    } else if (c != kNoCodePoint && !is_control(c)) {
      kept += text.substr(start, at - start);
    }
  }
  if (kept.empty()) return;
  if (!keys.empty() && keys.back().kind == KeyKind::text)
    keys.back().text += kept;
  else
    keys.push_back({KeyKind::text, std::move(kept)});
}

}  // namespace tidemark::terminal
