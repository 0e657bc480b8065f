#include "store/rocks/rocks_wal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/log.h"
#include "store/directory.h"

namespace tidemark {
namespace {

constexpr std::size_t kBlock = 32u << 10;
constexpr std::size_t kHeader = 7;
enum PieceType : std::uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
    table[i] = crc;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

/// CRC-32C (Castagnoli), masked as RocksDB stores it.
std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (char c : bytes) crc = kCrcTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::uint32_t little_endian(std::string_view bytes, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  return value;
}

struct Piece {
  std::uint8_t type;
  std::size_t bytes;  // header and payload
};

/// The piece at the front of what is left of a block, or nothing when none is whole and undamaged there.
std::optional<Piece> piece_at(std::string_view block_rest) {
  if (block_rest.size() < kHeader) return std::nullopt;
  const std::size_t payload = little_endian(block_rest.substr(4), 2);
  const auto type = static_cast<std::uint8_t>(block_rest[6]);
  if (type < kWhole || type > kLast || kHeader + payload > block_rest.size()) return std::nullopt;
  if (masked_crc(block_rest.substr(6, 1 + payload)) != little_endian(block_rest, 4)) return std::nullopt;
  return Piece{type, kHeader + payload};
}

std::string_view block_rest_at(std::string_view bytes, std::size_t offset) {
  return bytes.substr(offset, kBlock - offset % kBlock);
}

/// Whether a record begins anywhere at or after `offset`. The size of a damaged piece cannot be trusted, so every byte
/// may be the start of a piece.
bool record_begins_after(std::string_view bytes, std::size_t offset) {
  while (offset < bytes.size()) {
    const std::optional<Piece> piece = piece_at(block_rest_at(bytes, offset));
    if (piece && (piece->type == kWhole || piece->type == kFirst)) return true;
    offset += piece ? piece->bytes : 1;
  }
  return false;
}

}  // namespace

bool is_log_name(std::string_view name) {
  if (!name.ends_with(".log") || name.size() <= 4) return false;
  name.remove_suffix(4);
  return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

LogEnd judge_log(std::string_view bytes) {
  std::size_t offset = 0;
  std::size_t record = 0;  // where the present record began
  bool inside = false;
  while (offset < bytes.size()) {
    const std::string_view rest = block_rest_at(bytes, offset);
    if (rest.size() < kHeader && offset + rest.size() < bytes.size()) {  // a block's unused end
      offset += rest.size();
      continue;
    }
    const std::optional<Piece> piece = piece_at(rest);
    const bool begins = piece && (piece->type == kWhole || piece->type == kFirst);
    if (!inside) record = offset;
    if (!piece || begins == inside) {
      // Behind this piece, unless a record begins in the midst of another: that one is there already.
      const bool more = (piece && begins) || record_begins_after(bytes, offset + 1);
      return {more ? LogEnd::Kind::damaged : LogEnd::Kind::torn, record};
    }
    inside = piece->type == kFirst || piece->type == kMiddle;
    offset += piece->bytes;
  }
  if (inside) return {LogEnd::Kind::torn, record};
  return {LogEnd::Kind::clean, bytes.size()};
}

Result<bool> cut_torn_log(const std::string& directory) {
  TM_ASSIGN(std::vector<std::string> names, list_directory(directory));
  std::erase_if(names, [](const std::string& name) { return !is_log_name(name); });
  // The newest that holds anything; an empty one behind it was just begun.
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  });
  std::string path;
  std::string bytes;
  for (const std::string& name : names) {
    path = directory + "/" + name;
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    if (!in) return disk_error("read", path, EIO);
    if (!bytes.empty()) break;
  }
  if (bytes.empty()) return false;
  const LogEnd end = judge_log(bytes);
  if (end.kind != LogEnd::Kind::torn) return false;

  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return disk_error("open", path, errno);
  const bool cut = ::ftruncate(descriptor, static_cast<off_t>(end.good_bytes)) == 0 && ::fsync(descriptor) == 0;
  const int error_number = errno;
  ::close(descriptor);
  if (!cut) return disk_error("cut", path, error_number);
  log_warning("dropped a half-written record at the end of the log",
              {{"file", path}, {"kept_bytes", end.good_bytes}, {"dropped_bytes", bytes.size() - end.good_bytes}});
  return true;
}

}  // namespace tidemark
