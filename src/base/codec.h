// Bytes in and out: varints, fixed big-endian numbers and length-prefixed strings. Readers never read past
// the end and never throw: the first failure makes ok() false and every later value zero or empty.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void varint(std::uint64_t v) {
    if (v < 0x80) return u8(static_cast<std::uint8_t>(v));
    std::array<char, 10> bytes;
    std::size_t size = 0;
    for (; v >= 0x80; v >>= 7) bytes[size++] = static_cast<char>(v | 0x80);
    bytes[size++] = static_cast<char>(v);
    out_.append(bytes.data(), size);
  }
  /// Signed numbers, small magnitudes short (zigzag).
  void svarint(std::int64_t v) { varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63)); }
  /// Big-endian, so that byte order is number order in keys.
  void be32(std::uint32_t v) { big_endian<sizeof v>(v); }
  void be64(std::uint64_t v) { big_endian<sizeof v>(v); }
  void raw(std::string_view bytes) { out_.append(bytes); }
  void string(std::string_view bytes) {
    varint(bytes.size());
    raw(bytes);
  }

 private:
  template <int kBytes>
  void big_endian(std::uint64_t v) {
    std::array<char, kBytes> bytes;
    for (int i = 0; i < kBytes; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(v >> 8 * (kBytes - 1 - i));
    out_.append(bytes.data(), kBytes);
  }

  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  /// Everything was read and nothing was wrong.
  bool done() const { return ok_ && in_.empty(); }
  std::size_t left() const { return in_.size(); }

  std::uint8_t u8() {
    if (in_.empty()) return broken();
    const auto byte = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return byte;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      if (!ok_) return 0;
      if (shift == 63 && byte > 1) return broken();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return broken();
  }
  std::int64_t svarint() {
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
  }
  std::uint32_t be32() { return static_cast<std::uint32_t>(big_endian(4)); }
  std::uint64_t be64() { return big_endian(8); }
  std::string_view raw(std::size_t size) {
    if (size > in_.size()) {
      broken();
      return {};
    }
    const std::string_view bytes = in_.substr(0, size);
    in_.remove_prefix(size);
    return bytes;
  }
  std::string_view string() { return raw(varint()); }
  std::string_view rest() { return raw(in_.size()); }

 private:
  std::uint8_t broken() {
    ok_ = false;
    in_ = {};
    return 0;
  }
  std::uint64_t big_endian(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | u8();
    return ok_ ? value : 0;
  }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace tidemark
