#include "core/conversation_id.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/utf8.h"

namespace tidemark {
namespace {

constexpr std::size_t kUserBytesMax = 64;
constexpr std::string_view kGroupPrefix = "group_";
// Two user ids of which every byte is escaped, and the line between them.
constexpr std::size_t kIdBytesMax = 2 * 3 * kUserBytesMax + 1;

/// C0, DEL or C1 (U+0080 to U+009F: C2 80 to C2 9F).
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

/// A number as the decimal system writes it: no sign, no leading zero.
bool decimal(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// A number from 1 to 2^64 - 1 in its canonical form.
std::optional<std::uint64_t> counting_number(std::string_view text) {
  if (!decimal(text)) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

void append_escaped(std::string& out, std::string_view user) {
  if (user.find_first_of("_%") == std::string_view::npos) {
    out += user;
    return;
  }
  for (const char c : user) {
    if (c == '_') {
      out += "%5F";
    } else if (c == '%') {
      out += "%25";
    } else {
      out += c;
    }
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Takes any escape; whether it was needed shows when the id is made again.
std::optional<UserId> unescaped(std::string_view part) {
  if (!part.contains('%')) return UserId(part);
  UserId user;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      user.value += part[i];
      continue;
    }
    if (i + 2 >= part.size()) return std::nullopt;
    const int high = hex_digit(part[i + 1]);
    const int low = hex_digit(part[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    user.value += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return user;
}

std::unexpected<Error> no_id(std::string_view field) {
  return fail(ErrorCode::MALFORMED, std::string(field), "a conversation id is <user>_<user> or group_<number>");
}

std::string_view without_leading_zeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

Result<ParsedConversation> parse_group(std::string_view number, std::string_view field) {
  const std::optional<std::uint64_t> group = counting_number(without_leading_zeros(number));
  if (!group) return no_id(field);
  if (number.front() == '0')
    return fail(ErrorCode::NON_CANONICAL_ID, std::string(field), group_conversation(*group).value);
  return ParsedConversation{ConversationKind::group, UserId(), UserId(), *group};
}

}  // namespace

Result<void> check_user_id(const UserId& user, std::string_view field) {
  const std::string& value = user.value;
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::MALFORMED, std::string(field), std::string(why));
  };
  if (value.empty() || value.size() > kUserBytesMax) return refuse("a user id has 1 to 64 bytes");
  if (!valid_utf8(value)) return refuse("a user id is valid UTF-8");
  if (has_control(value)) return refuse("a user id has no control characters");
  if (value == "group") return refuse("\"group\" is no user id");
  return {};
}

Result<void> check_addressee(const UserId& user, std::string_view field) {
  TM_TRY(check_user_id(user, field));
  const std::string_view name = user.value;
  if (!name.starts_with(kGroupPrefix) || !counting_number(without_leading_zeros(name.substr(kGroupPrefix.size()))))
    return {};
  return fail(ErrorCode::MALFORMED, std::string(field),
              "This is the id of a group and names no user; give it as conversation_id.");
}

bool user_before(const UserId& a, const UserId& b) {
  const bool a_decimal = decimal(a.value);
  const bool b_decimal = decimal(b.value);
  if (a_decimal != b_decimal) return a_decimal;
  if (a_decimal && a.value.size() != b.value.size()) return a.value.size() < b.value.size();
  return a.value < b.value;
}

ConversationId single_conversation(const UserId& a, const UserId& b) {
  const bool swap = user_before(b, a);
  const UserId& first = swap ? b : a;
  const UserId& second = swap ? a : b;
  TM_CHECK(!first.empty() && !second.empty(), "users are checked before an id is made of them");
  ConversationId id;
  id.value.reserve(first.value.size() + second.value.size() + 1);
  append_escaped(id.value, first.value);
  id.value += '_';
  append_escaped(id.value, second.value);
  return id;
}

ParsedConversation parsed_single(const UserId& a, const UserId& b) {
  return user_before(b, a) ? ParsedConversation{ConversationKind::single, b, a, 0}
                           : ParsedConversation{ConversationKind::single, a, b, 0};
}

ConversationId group_conversation(std::uint64_t number) {
  TM_CHECK(number > 0, "groups are numbered from 1");
  return ConversationId(std::string(kGroupPrefix) + std::to_string(number));
}

Result<ParsedConversation> parse_conversation(const ConversationId& id, std::string_view field) {
  const std::string_view text = id.value;
  if (text.size() > kIdBytesMax) return no_id(field);
  if (text.starts_with(kGroupPrefix)) return parse_group(text.substr(kGroupPrefix.size()), field);
  const std::size_t line = text.find('_');
  if (line == std::string_view::npos || text.find('_', line + 1) != std::string_view::npos) return no_id(field);
  const std::optional<UserId> left = unescaped(text.substr(0, line));
  const std::optional<UserId> right = unescaped(text.substr(line + 1));
  if (!left || !right) return no_id(field);
  TM_TRY(check_user_id(*left, field));
  TM_TRY(check_user_id(*right, field));
  const ConversationId canonical = single_conversation(*left, *right);
  if (canonical != id) return fail(ErrorCode::NON_CANONICAL_ID, std::string(field), canonical.value);
  return ParsedConversation{ConversationKind::single, *left, *right, 0};
}

std::string message_id(const ConversationId& conversation, Seq seq) {
  return conversation.value + ":" + std::to_string(seq.value);
}

Result<MessageName> parse_message_id(std::string_view text, std::string_view field) {
  const std::size_t colon = text.rfind(':');
  const std::string_view number = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const std::optional<std::uint64_t> seq = counting_number(without_leading_zeros(number));
  if (!seq) return fail(ErrorCode::MALFORMED, std::string(field), "a message id is <conversation id>:<seq>");
  ConversationId conversation(text.substr(0, colon));
  if (Result<ParsedConversation> parsed = parse_conversation(conversation, field); !parsed) {
    Error error = std::move(parsed).error();
    if (error.code == ErrorCode::NON_CANONICAL_ID) error.detail = message_id(ConversationId(error.detail), Seq(*seq));
    return std::unexpected(std::move(error));
  }
  if (number.front() == '0')
    return fail(ErrorCode::NON_CANONICAL_ID, std::string(field), message_id(conversation, Seq(*seq)));
  return MessageName{std::move(conversation), Seq(*seq)};
}

}  // namespace tidemark
