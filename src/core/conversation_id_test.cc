#include "core/conversation_id.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <iterator>
#include <set>
#include <string>

namespace tidemark {
namespace {

UserId u(std::string_view text) {
  return UserId(text);
}

ErrorCode code_of(std::string_view id) {
  const auto parsed = parse_conversation(ConversationId(id));
  return parsed ? ErrorCode(0) : parsed.error().code;
}

std::string right_one(std::string_view id) {
  const auto parsed = parse_conversation(ConversationId(id));
  if (parsed || parsed.error().code != ErrorCode::NON_CANONICAL_ID) return "?";
  EXPECT_EQ(parsed.error().field, "conversation_id");
  return parsed.error().detail;
}

TEST(Conformance, S99_single_chat_ids_never_meet) {
  EXPECT_EQ(single_conversation(u("a_b"), u("c")).value, "a%5Fb_c");
  EXPECT_EQ(single_conversation(u("a"), u("b_c")).value, "a_b%5Fc");
  EXPECT_EQ(single_conversation(u("group_1"), u("x")).value, "group%5F1_x");
  EXPECT_EQ(single_conversation(u("10"), u("9")).value, "9_10");
  EXPECT_EQ(single_conversation(u("7"), u("7")).value, "7_7");
  std::set<ConversationId> ids;
  const std::pair<UserId, UserId> pairs[] = {
      {u("a_b"), u("c")}, {u("a"), u("b_c")}, {u("group_1"), u("a")}, {u("9"), u("10")}, {u("7"), u("7")}};
  for (const auto& [a, b] : pairs) {
    EXPECT_EQ(single_conversation(a, b), single_conversation(b, a));
    ids.insert(single_conversation(a, b));
    const auto parsed = parse_conversation(single_conversation(a, b));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->kind, ConversationKind::single);
    EXPECT_TRUE(parsed->has(a) && parsed->has(b));
    EXPECT_EQ(parsed->peer_of(a), b);
    EXPECT_EQ(parsed->self(), a == b);
  }
  EXPECT_EQ(ids.size(), 5u);
}

TEST(ConversationId, decimal_users_come_first_and_by_length) {
  const char* order[] = {"0", "9", "10", "1001", "18446744073709551616", "007", "-1", "1a", "Z", "a", "é"};
  for (std::size_t i = 0; i < std::size(order); ++i)
    for (std::size_t j = 0; j < std::size(order); ++j) {
      const bool i_decimal = i < 5, j_decimal = j < 5;
      const bool before = i_decimal != j_decimal ? i_decimal
                          : i_decimal            ? i < j
                                                 : std::string_view(order[i]) < std::string_view(order[j]);
      EXPECT_EQ(user_before(u(order[i]), u(order[j])), before) << order[i] << " " << order[j];
    }
}

TEST(ConversationId, groups_are_canonical_numbers) {
  const auto group = parse_conversation(ConversationId("group_5001"));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->kind, ConversationKind::group);
  EXPECT_EQ(group->group, 5001u);
  EXPECT_FALSE(group->self());
  EXPECT_FALSE(group->has(UserId()));
  EXPECT_EQ(group_conversation(5001).value, "group_5001");
  EXPECT_TRUE(parse_conversation(ConversationId("group_18446744073709551615")));
  for (const char* bad : {"group_", "group_0", "group_00", "group_+5", "group_5x", "group_18446744073709551616",
                          "group_1_2", "group_-1", "group_ 1", "group_0x1"})
    EXPECT_EQ(code_of(bad), ErrorCode::MALFORMED) << bad;
  EXPECT_EQ(right_one("group_05"), "group_5");
  EXPECT_EQ(right_one("group_00018446744073709551615"), "group_18446744073709551615");
  EXPECT_EQ(code_of("a_group"), ErrorCode::MALFORMED);  // nobody is called group
  EXPECT_EQ(code_of("groups_x"), ErrorCode(0));
}

TEST(ConversationId, what_is_no_id_is_malformed) {
  for (const std::string_view bad : {"", "_", "a", "a_", "_b", "a_b_c", "a%_b", "a%5_b", "a%5G_b", "a_b%", "a\n_b",
                                     "\xff_b", "a_\xed\xa0\x80", "a%00_b", "a%FF_b", "group"})
    EXPECT_EQ(code_of(bad), ErrorCode::MALFORMED) << bad;
  EXPECT_EQ(code_of(std::string(65, 'a') + "_b"), ErrorCode::MALFORMED);
  EXPECT_EQ(code_of(std::string(100'000, '_')), ErrorCode::MALFORMED);
}

TEST(ConversationId, a_wrong_form_is_refused_with_the_right_one) {
  EXPECT_EQ(right_one("b_a"), "a_b");
  EXPECT_EQ(right_one("10_9"), "9_10");
  EXPECT_EQ(right_one("a_1001"), "1001_a");
  EXPECT_EQ(right_one("a%5fb_c"), "a%5Fb_c");
  EXPECT_EQ(right_one("%61_b"), "a_b");
  EXPECT_EQ(right_one("%C3%A9_a"), "a_é");
  EXPECT_EQ(code_of("a%25_b"), ErrorCode(0));
}

TEST(ConversationId, user_ids_are_checked) {
  for (const char* good : {"a", "1001", "张三", "user@example.com", "a b", "Group", "group1", "a:b", "\xe2\x80\xa8"})
    EXPECT_TRUE(check_user_id(u(good), "user")) << good;
  EXPECT_TRUE(check_user_id(u(std::string(64, 'x')), "user"));
  const std::string nul("a\0b", 3);
  for (const std::string& bad : {std::string(), std::string(65, 'x'), std::string("group"), nul, std::string("a\tb"),
                                 std::string("\x7f"), std::string("\xc2\x85"), std::string("\xc2\x9f"),
                                 std::string("\xed\xa0\x80"), std::string("\xc3"), std::string("\xc0\x80")}) {
    const auto checked = check_user_id(UserId(bad), "to");
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, ErrorCode::MALFORMED);
    EXPECT_EQ(checked.error().field, "to");
  }
  EXPECT_TRUE(check_user_id(u("\xc2\xa0"), "user"));  // the first character after C1
}

TEST(ConversationId, what_names_a_group_is_nobody_to_write_to) {
  for (const char* good : {"a", "group1", "group_", "group_x", "group_0", "group_1_2", "Group_1", "groups_1", "_1"})
    EXPECT_TRUE(check_addressee(u(good), "to")) << good;
  for (const char* bad : {"group_1", "group_01", "group_18446744073709551615", "group", ""}) {
    const auto checked = check_addressee(u(bad), "to");
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, ErrorCode::MALFORMED);
    EXPECT_EQ(checked.error().field, "to");
  }
}

TEST(ConversationId, message_ids_split_at_the_last_colon) {
  EXPECT_EQ(message_id(ConversationId("1001_2002"), Seq(57)), "1001_2002:57");
  const auto name = parse_message_id("a:1_b:2:57");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->conversation.value, "a:1_b:2");
  EXPECT_EQ(name->seq, Seq(57));
  EXPECT_TRUE(parse_message_id("group_5001:18446744073709551615"));
  for (const char* bad :
       {"", ":", "1_2", "1_2:", "1_2:0", "1_2:00", "1_2:-1", "1_2:x", ":5", "1_2:18446744073709551616"}) {
    const auto refused = parse_message_id(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::MALFORMED) << bad;
    EXPECT_EQ(refused.error().field, "message_id");
  }
  for (const auto& [wrong, right] : {std::pair("1_2:05", "1_2:5"), std::pair("2_1:05", "1_2:5")}) {
    const auto refused = parse_message_id(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::NON_CANONICAL_ID);
    EXPECT_EQ(refused.error().detail, right);
  }
  const auto turned = parse_message_id("b_a:57");
  ASSERT_FALSE(turned);
  EXPECT_EQ(turned.error().code, ErrorCode::NON_CANONICAL_ID);
  EXPECT_EQ(turned.error().detail, "a_b:57");
}

rc::Gen<std::string> user_text() {
  return rc::gen::suchThat(rc::gen::container<std::string>(rc::gen::element('a', 'b', '_', '%', '1', '0', ':', 'G')),
                           [](const std::string& text) { return !text.empty() && text.size() <= 64; });
}

TEST(ConversationId, any_two_users_have_one_id_that_tells_them) {
  EXPECT_TRUE(rc::check([] {
    const UserId a(*user_text()), b(*user_text()), c(*user_text());
    const ConversationId id = single_conversation(a, b);
    RC_ASSERT(id == single_conversation(b, a));
    const auto parsed = parse_conversation(id);
    RC_ASSERT(parsed.has_value());
    RC_ASSERT((parsed->a == a && parsed->b == b) || (parsed->a == b && parsed->b == a));
    RC_ASSERT((single_conversation(a, c) == id) == (c == b));
  }));
}

TEST(ConversationId, any_bytes_are_parsed_or_refused) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    const auto parsed = parse_conversation(ConversationId(bytes));
    if (parsed && parsed->kind == ConversationKind::single)
      RC_ASSERT(single_conversation(parsed->a, parsed->b).value == bytes);
    if (const auto name = parse_message_id(bytes)) RC_ASSERT(message_id(name->conversation, name->seq) == bytes);
  }));
}

TEST(ConversationId, the_order_of_users_is_a_strict_order) {
  EXPECT_TRUE(rc::check([] {
    const UserId a(*user_text()), b(*user_text()), c(*user_text());
    RC_ASSERT(!user_before(a, a));
    RC_ASSERT(int(user_before(a, b)) + int(user_before(b, a)) + int(a == b) == 1);
    if (user_before(a, b) && user_before(b, c)) RC_ASSERT(user_before(a, c));
  }));
}

}  // namespace
}  // namespace tidemark
