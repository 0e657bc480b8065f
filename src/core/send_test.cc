#include <gtest/gtest.h>

#include "core/decide.h"
#include "core/test_view.h"
#include "core/uuid7.h"

namespace tidemark {
namespace {

constexpr std::int64_t kNow = 1'790'000'000'000;

SendCommand under_id_of(std::int64_t time_ms, std::uint8_t further) {
  SendCommand command;
  command.sender = UserId("alice");
  command.device = DeviceId("phone");
  command.to = UserId("bob");
  command.client_msg_id = make_uuid_v7(time_ms, Uuid7Random{0, further});
  command.body.text = "hello";
  return command;
}

TEST(Send, an_id_above_all_that_its_sender_has_used_is_looked_up_nowhere) {
  TestView view;
  const CoreParams params;
  const Context context{kNow, params};
  const UserId alice("alice");
  const auto first = decide(view, under_id_of(kNow, 5), context);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(view.lookups(), 0U);
  for (const auto& [user, head] : first->writes.users) view.put_user(user, head);
  EXPECT_EQ(view.user(alice).newest_id, uuid7_high(under_id_of(kNow, 5).client_msg_id));

  ASSERT_TRUE(decide(view, under_id_of(kNow, 6), context).has_value());
  ASSERT_TRUE(decide(view, under_id_of(kNow + 1, 0), context).has_value());
  EXPECT_EQ(view.lookups(), 0U);
  // Of what is not above it the store alone knows.
  ASSERT_TRUE(decide(view, under_id_of(kNow, 5), context).has_value());
  ASSERT_TRUE(decide(view, under_id_of(kNow, 4), context).has_value());
  const auto older = decide(view, under_id_of(kNow - 1, 9), context);
  ASSERT_TRUE(older.has_value());
  EXPECT_EQ(view.lookups(), 3U);
  for (const auto& [user, head] : older->writes.users)
    if (user == alice) EXPECT_EQ(head.newest_id, view.user(alice).newest_id) << "it does not go back";
}

}  // namespace
}  // namespace tidemark
