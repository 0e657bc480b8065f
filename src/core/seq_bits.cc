#include "core/seq_bits.h"

#include <bit>

namespace tidemark {

std::uint64_t SeqBits::count_above(std::uint64_t block, Seq after) const {
  const std::uint64_t first = block * kBlockSeqs;  // bit i is the seq first + 1 + i
  if (after.value >= first + kBlockSeqs) return 0;
  const std::uint64_t skipped = after.value > first ? after.value - first : 0;
  std::uint64_t count = 0;
  for (std::uint64_t word = skipped / 64; word < words_.size(); ++word) {
    std::uint64_t bits = words_[word];
    if (word == skipped / 64) bits &= ~std::uint64_t{0} << (skipped % 64);
    count += static_cast<std::uint64_t>(std::popcount(bits));
  }
  return count;
}

Intervals SeqBits::intervals(std::uint64_t block) const {
  Intervals found;
  for (std::uint64_t place = 0; place < kBlockSeqs; ++place) {
    const Seq seq(block * kBlockSeqs + 1 + place);
    if (!test(seq)) continue;
    if (!found.empty() && found.back().to == seq - 1)
      found.back().to = seq;
    else
      found.push_back({seq - 1, seq});
  }
  return found;
}

SeqBits& SeqBits::operator|=(const SeqBits& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

std::string SeqBits::bytes() const {
  std::string bytes;
  bytes.reserve(kBlockSeqs / 8);
  for (const std::uint64_t word : words_)
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(word >> shift & 0xff));
  bytes.resize(bytes.find_last_not_of('\0') + 1);
  return bytes;
}

SeqBits SeqBits::from_bytes(std::string_view bytes) {
  SeqBits made;
  for (std::size_t i = 0; i < bytes.size() && i < kBlockSeqs / 8; ++i)
    made.words_[i / 8] |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (i % 8 * 8);
  return made;
}

}  // namespace tidemark
