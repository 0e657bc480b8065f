#include "core/seq_bits.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace tidemark {
namespace {

TEST(SeqBits, behave_as_sets_of_seqs) {
  EXPECT_TRUE(rc::check([] {
    const std::uint64_t block = *rc::gen::inRange<std::uint64_t>(0, 4);
    const Seq first(block * kBlockSeqs + 1);
    SeqBits bits;
    std::set<Seq> set;
    for (const auto place :
         *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::inRange<std::uint16_t>(0, kBlockSeqs))) {
      const Seq seq = first + place;
      RC_ASSERT(block_of(seq) == block);
      bits.set(seq);
      set.insert(seq);
    }
    const Seq after(*rc::gen::inRange<std::uint64_t>(0, 5 * kBlockSeqs));
    RC_ASSERT(bits.count_above(block, after) ==
              static_cast<std::uint64_t>(std::distance(set.upper_bound(after), set.end())));
    RC_ASSERT(bits.empty() == set.empty());
    const Intervals parts = bits.intervals(block);
    RC_ASSERT(length_of(parts) == set.size());
    for (const Seq seq : set) RC_ASSERT(bits.test(seq) && holds(parts, seq));
    RC_ASSERT(SeqBits::from_bytes(bits.bytes()) == bits);
    RC_ASSERT(bits.bytes().size() <= kBlockSeqs / 8);
    if (!bits.empty()) RC_ASSERT(bits.bytes().back() != 0);
  }));
}

TEST(SeqBits, the_lowest_bit_of_the_first_byte_is_the_first_seq) {
  SeqBits bits;
  bits.set(Seq(1));
  EXPECT_EQ(bits.bytes(), std::string("\x01"));
  bits.set(Seq(10));
  EXPECT_EQ(bits.bytes(), std::string("\x01\x02"));
  EXPECT_EQ(block_of(Seq(1'024)), 0u);
  EXPECT_EQ(block_of(Seq(1'025)), 1u);
}

}  // namespace
}  // namespace tidemark
