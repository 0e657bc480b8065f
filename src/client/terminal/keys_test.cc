#include "client/terminal/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace tidemark::terminal {
namespace {

using testing::ElementsAre;

std::vector<Key> keys_of(std::string_view bytes) {
  KeyDecoder decoder;
  return decoder.feed(bytes);
}

TEST(Keys, KnowsTheSequencesOfXtermTmuxAndTheConsole) {
  const std::pair<const char*, KeyKind> cases[] = {
      {"\x1b[A", KeyKind::up},       {"\x1bOA", KeyKind::up},         {"\x1b[B", KeyKind::down},
      {"\x1b[C", KeyKind::right},    {"\x1b[D", KeyKind::left},       {"\x1b[H", KeyKind::home},
      {"\x1b[1~", KeyKind::home},    {"\x1bOF", KeyKind::end},        {"\x1b[4~", KeyKind::end},
      {"\x1b[3~", KeyKind::erase},   {"\x1b[5~", KeyKind::page_up},   {"\x1b[6~", KeyKind::page_down},
      {"\x1b[1;5C", KeyKind::right}, {"\x1b[Z", KeyKind::back_tab},   {"\t", KeyKind::tab},
      {"\r", KeyKind::enter},        {"\x7f", KeyKind::backspace},    {"\b", KeyKind::backspace},
      {"\x15", KeyKind::kill_line},  {"\x17", KeyKind::kill_word},    {"\x0b", KeyKind::kill_rest},
      {"\x03", KeyKind::interrupt},  {"\x04", KeyKind::end_of_input},
  };
  for (const auto& [bytes, kind] : cases) EXPECT_THAT(keys_of(bytes), ElementsAre(Key{kind})) << bytes;
}

TEST(Keys, TextIsWholeCharactersHoweverItArrives) {
  KeyDecoder decoder;
  EXPECT_TRUE(decoder.feed("\xe4").empty());
  EXPECT_TRUE(decoder.feed("\xbd").empty());
  EXPECT_TRUE(decoder.waiting());
  EXPECT_THAT(decoder.feed("\xa0好"), ElementsAre(Key{KeyKind::text, "你好"}));
  EXPECT_FALSE(decoder.waiting());
}

TEST(Keys, ASequenceMayBeCutAnywhere) {
  for (std::size_t cut = 1; cut < 4; ++cut) {
    KeyDecoder decoder;
    const std::string_view bytes = "\x1b[5~";
    EXPECT_TRUE(decoder.feed(bytes.substr(0, cut)).empty());
    EXPECT_THAT(decoder.feed(bytes.substr(cut)), ElementsAre(Key{KeyKind::page_up}));
  }
}

TEST(Keys, AnEscapeThatNothingFollowsIsTheKey) {
  KeyDecoder decoder;
  EXPECT_TRUE(decoder.feed("\x1b").empty());
  EXPECT_THAT(decoder.pause(), ElementsAre(Key{KeyKind::escape}));
  EXPECT_FALSE(decoder.waiting());
}

TEST(Keys, UnknownSequencesLeaveNothingBehind) {
  EXPECT_THAT(keys_of("\x1b[99;12~x\x1b[?1;2cy"), ElementsAre(Key{KeyKind::text, "xy"}));
}

TEST(Keys, APasteIsTextEvenWithLineBreaksAndCommandsInIt) {
  KeyDecoder decoder;
  EXPECT_TRUE(decoder.feed("\x1b[200~one\r\ntw").empty());
  EXPECT_FALSE(decoder.waiting()) << "a paste may be slow";
  EXPECT_THAT(decoder.feed("o\x1b[31m\x03\x1b[201~!"), ElementsAre(Key{KeyKind::text, "one\ntwo[31m!"}));
}

RC_GTEST_PROP(Keys, AnyBytesGiveValidTextAndNothingHangs, (const std::string& bytes)) {
  KeyDecoder decoder;
  std::vector<Key> keys = decoder.feed(bytes);
  for (Key& key : decoder.pause()) keys.push_back(std::move(key));
  for (const Key& key : keys) {
    RC_ASSERT(valid_utf8(key.text));
    RC_ASSERT((key.kind == KeyKind::text) == !key.text.empty());
  }
  RC_ASSERT(!decoder.waiting());
}

}  // namespace
}  // namespace tidemark::terminal
