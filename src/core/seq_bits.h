// A set of seqs within one block of 1,024: (block * 1,024, (block + 1) * 1,024].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "core/intervals.h"

namespace tidemark {

inline constexpr std::uint64_t kBlockSeqs = 1'024;

/// The block that a seq lies in.
inline std::uint64_t block_of(Seq seq) {
  return (seq.value - 1) / kBlockSeqs;
}

class SeqBits {
 public:
  bool test(Seq seq) const { return (words_[word_of(seq)] >> (place_of(seq) % 64) & 1) != 0; }
  void set(Seq seq) { words_[word_of(seq)] |= std::uint64_t{1} << (place_of(seq) % 64); }
  bool empty() const { return words_ == decltype(words_){}; }
  /// How many of the block's seqs above `after` are in the set.
  std::uint64_t count_above(std::uint64_t block, Seq after) const;
  /// The set as intervals of seqs.
  Intervals intervals(std::uint64_t block) const;
  SeqBits& operator|=(const SeqBits& other);
  bool operator==(const SeqBits&) const = default;

  /// 128 bytes, those at the end left out that are 0; the bit of the lowest seq is the lowest of the first byte.
  std::string bytes() const;
  /// What `bytes` made; nothing is read beyond 128 of them.
  static SeqBits from_bytes(std::string_view bytes);

 private:
  static std::uint64_t place_of(Seq seq) { return (seq.value - 1) % kBlockSeqs; }
  static std::size_t word_of(Seq seq) { return static_cast<std::size_t>(place_of(seq) / 64); }

  std::array<std::uint64_t, kBlockSeqs / 64> words_{};
};

}  // namespace tidemark
