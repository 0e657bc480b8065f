#include "client/replica_codec.h"

#include <gtest/gtest.h>

#include "client/replica_store_conformance.h"

namespace tidemark {
namespace {

/// It comes back whole; nothing shorter and nothing longer is taken for it.
template <typename T>
void check_codec(const T& value) {
  const std::string bytes = encode_stored(value);
  T again;
  ASSERT_TRUE(decode_stored(bytes, again));
  EXPECT_EQ(encode_stored(again), bytes);
  if constexpr (std::equality_comparable<T>) EXPECT_TRUE(again == value);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    T cut;
    EXPECT_FALSE(decode_stored(std::string_view(bytes).substr(0, size), cut)) << size << " of " << bytes.size();
  }
  EXPECT_FALSE(decode_stored(bytes + '\0', again));
}

TEST(ReplicaCodec, ValuesComeBackWholeOrNotAtAll) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    BatchMaker maker(seed);
    check_codec(maker.device());
    check_codec(maker.conversation(ConversationId("1001_1002")));
    const replica::StoredRow row = maker.row(ConversationId("1001_1002"), Seq(seed));
    check_codec(*row.entry);
    check_codec(row.note);
    check_codec(maker.outbox(seed));
    check_codec(maker.mutation(seed));
  }
}

TEST(ReplicaCodec, AnyBytesAreReadWithoutHarm) {
  BatchMaker maker(5);
  const std::string bytes = encode_stored(maker.conversation(ConversationId("1001_1002")));
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    for (std::uint64_t hits = 1 + maker.below(3); hits > 0; --hits)
      damaged[maker.below(damaged.size())] = static_cast<char>(maker.below(256));
    replica::ConversationState state;
    Entry entry;
    (void)decode_stored(damaged, state);
    (void)decode_stored(damaged, entry);
  }
}

TEST(ReplicaCodec, AReasonThatThisVersionDoesNotKnowIsStillAReason) {
  replica::OutboxItem item;
  item.error = Error{ErrorCode::BLOCKED};
  std::string bytes = encode_stored(item);
  const std::size_t at = bytes.find("BLOCKED");
  ASSERT_NE(at, std::string::npos) << "by name: numbers of the program may change";
  bytes[at] = 'X';
  ASSERT_TRUE(decode_stored(bytes, item));
  EXPECT_EQ(item.error->code, ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace tidemark
