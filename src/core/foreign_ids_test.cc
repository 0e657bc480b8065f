// Ids from outside: what is no id, or not the canonical one, is refused by every read and change, and nothing else
// happens.
#include <gtest/gtest.h>

#include "core/decide.h"
#include "core/reads.h"
#include "core/test_view.h"

namespace tidemark {
namespace {

TEST(ForeignIds, every_read_and_change_refuses_what_is_no_canonical_id) {
  TestView view;
  const CoreParams params;
  const Context context{1'790'000'000'000, params};
  const UserId alice("alice");
  const std::pair<const char*, ErrorCode> cases[] = {{"nonsense", ErrorCode::MALFORMED},
                                                     {"", ErrorCode::MALFORMED},
                                                     {"_", ErrorCode::MALFORMED},
                                                     {"group_x", ErrorCode::MALFORMED},
                                                     {"group_0x7", ErrorCode::MALFORMED},
                                                     {"bob_alice", ErrorCode::NON_CANONICAL_ID},
                                                     {"alice_zoe", ErrorCode::CONVERSATION_NOT_FOUND},
                                                     {"bob_zoe", ErrorCode::CONVERSATION_NOT_FOUND},
                                                     {"group_7", ErrorCode::CONVERSATION_NOT_FOUND}};
  for (const auto& [text, code] : cases) {
    SCOPED_TRACE(text);
    const ConversationId id(text);
    HistoryQuery history;
    history.user = alice;
    history.conversation = id;
    EXPECT_EQ(read_history(view, params, history).error().code, code);
    ConversationSyncQuery sync;
    sync.user = alice;
    sync.conversation = id;
    EXPECT_EQ(read_conversation_sync(view, params, sync).error().code, code);
    EXPECT_EQ(read_change(view, params, alice, id).error().code, code);
    EXPECT_EQ(read_group(view, alice, id).error().code, code);
    MutateCommand read;
    read.user = alice;
    read.change = ReadCommand{alice, id, Seq(1)};
    EXPECT_EQ(decide(view, read, context).error().code, code);
    read.change = MarkUnreadCommand{alice, id};
    EXPECT_EQ(decide(view, read, context).error().code, code);
    for (const Command& command : std::initializer_list<Command>{AddMembersCommand{alice, {}, id, {UserId("bob")}},
                                                                 RemoveMemberCommand{alice, {}, id, UserId("bob")},
                                                                 ChangeGroupCommand{alice, {}, id, "title"}})
      EXPECT_EQ(decide(view, command, context).error().code, code);
    if (code == ErrorCode::NON_CANONICAL_ID)
      EXPECT_NE(read_change(view, params, alice, id).error().detail.find("alice_bob"), std::string::npos);
  }
}

}  // namespace
}  // namespace tidemark
