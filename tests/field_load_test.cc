// Field faults 37 and 39: everybody comes back at once, and devices that take nothing. Small enough for every day; the
// benchmark has the same with thousands of devices.
#include <algorithm>
#include <list>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

class LoadFaults : public OwnServer {
 protected:
  std::string create(WsClient& owner, int first, int last) {
    pb::ClientFrame frame;
    frame.mutable_create_group()->set_title("G");
    for (int i = first; i <= last; ++i) frame.mutable_create_group()->add_members(member(i));
    const pb::ServerFrame made = owner.call(frame);
    EXPECT_TRUE(made.has_group()) << made.ShortDebugString();
    return made.group().conversation_id();
  }
  std::string member(int i) const { return user(name(i)); }
  static std::string name(int i) { return "m" + std::to_string(i); }
  /// What was said in the group, by its members' reading of the whole log.
  static std::vector<std::string> said(WsClient& client, const std::string& group) {
    std::vector<std::string> texts;
    for (const pb::Message& row : whole_history(client, group))
      if (row.kind() == pb::KIND_MESSAGE) texts.push_back(row.body().text());
    return texts;
  }
  std::uint64_t resident_kib() const { return server().memory_kib(MemoryOf::now); }
};
TM_IN_BOTH_DIALECTS(LoadFaults);

TEST_P(LoadFaults, F37_EverybodyComesBackAtOnce) {
  constexpr int kGroups = 6;
  constexpr int kOfGroup = 10;
  serve();
  std::vector<std::string> groups;
  std::vector<std::vector<std::string>> expected(kGroups);
  std::vector<pb::Cursor> cursors(kGroups * kOfGroup);
  std::list<WsClient> online;
  const auto group_of = [](int i) { return static_cast<std::size_t>(i / kOfGroup); };
  for (int g = 0; g < kGroups; ++g) {
    WsClient owner = device(name(g * kOfGroup));
    groups.push_back(create(owner, g * kOfGroup + 1, g * kOfGroup + kOfGroup - 1));
  }
  for (int i = 0; i < kGroups * kOfGroup; ++i) online.push_back(device(name(i)));

  int number = 0;
  const auto say = [&](WsClient& sender, int i) {
    const std::string text = "message " + std::to_string(++number);
    const std::string id = new_id();
    pb::ClientFrame frame = send_frame("", text, id);
    frame.mutable_send()->set_conversation_id(groups[group_of(i)]);
    for (const std::int64_t deadline = steady_ms() + patience_ms();;) {
      const pb::ServerFrame answered = sender.call(frame);
      if (answered.has_sent()) break;
      ASSERT_TRUE(answered.error().retryable()) << answered.ShortDebugString();
      ASSERT_LT(steady_ms(), deadline);
      sleep_ms(20);
    }
    expected[group_of(i)].push_back(text);
  };
  std::uint64_t memory_before = 0;
  for (int storm = 0; storm < 4; ++storm) {
    int i = 0;
    for (WsClient& client : online) {
      cursors[static_cast<std::size_t>(i)] = client.cursor();
      if (++i % 5 == 0) say(client, i - 1);
      client.stream().abort();
    }
    online.clear();
    if (storm == 1) memory_before = resident_kib();
    if (storm == 3) server().restart_hard();
    // All connect before the first of them is answered; those who are back go on sending meanwhile.
    std::vector<std::uint64_t> asked;
    for (i = 0; i < kGroups * kOfGroup; ++i) online.push_back(connect());
    i = 0;
    for (WsClient& client : online) {
      Hello hello;
      hello.device = "d1";
      hello.cursor = cursors[static_cast<std::size_t>(i)];
      client.login(token(name(i)), hello);
      if (i % 7 == 0) say(client, i);
      ++i;
    }
    i = 0;
    for (WsClient& client : online) {
      const std::string& group = groups[group_of(i)];
      EXPECT_THAT(said(client, group), ElementsAreArray(expected[group_of(i)])) << name(i) << " after storm " << storm;
      const auto last = client.conversation(group);
      EXPECT_TRUE(client.wait_until([&] { return client.cursor().mark() >= last.mark(); }));
      EXPECT_THAT(client.kicks, IsEmpty());
      ++i;
    }
  }
  EXPECT_LT(resident_kib(), 2 * memory_before + 32 * 1024) << "and memory is what it was";
}

TEST_P(LoadFaults, F39_DevicesThatTakeNothing) {
  constexpr int kReading = 8;
  constexpr int kStuck = 4;
  constexpr int kMessages = 600;
  serve();
  WsClient sender = device("sender");
  const std::string group = create(sender, 0, kReading + kStuck - 1);
  std::list<WsClient> reading;
  std::list<WsClient> stuck;
  for (int i = 0; i < kReading; ++i) reading.push_back(device(name(i)));
  for (int i = kReading; i < kReading + kStuck; ++i) stuck.push_back(device(name(i)));
  sender.sent_in(group, "warm");
  const std::uint64_t memory_before = resident_kib();

  std::vector<std::string> texts = {"warm"};
  for (int i = 0; i < kMessages; ++i) {
    texts.push_back(std::to_string(i) + std::string(10'240, 'x'));
    sender.sent_in(group, texts.back());
    if (i % 20 == 19)
      for (WsClient& client : reading) {
        client.ack(client.cursor().mark());
        client.listen_for(0);
      }
  }
  for (WsClient& client : reading) {
    const pb::Change last = client.conversation(group);
    EXPECT_TRUE(client.wait_until([&] { return client.cursor().mark() >= last.mark(); }));
    EXPECT_THAT(client.kicks, IsEmpty());
  }
  // What is written and not yet sorted stays in memory too: that does not count for each of those who take nothing.
  EXPECT_LT(resident_kib(), memory_before + 64 * 1024);

  int i = kReading;
  for (WsClient& client : stuck) {
    client.listen_for(50);
    if (client.closed()) {
      Hello hello;
      hello.device = "d1";
      hello.cursor = client.cursor();
      client = device(name(i), hello);
    } else {
      client.sync();
    }
    EXPECT_EQ(said(client, group), texts);
    std::vector<std::uint64_t> seqs;
    for (const pb::PushItem& item : client.pushed)
      if (item.conversation_id() == group && item.has_entry()) seqs.push_back(item.entry().seq());
    EXPECT_TRUE(std::ranges::is_sorted(seqs)) << "in order, whatever was pushed";
    // And it is in step again.
    sender.sent_in(group, "after " + std::to_string(i));
    texts.push_back("after " + std::to_string(i));
    EXPECT_TRUE(client.wait_until(
        [&] { return client.conversation(group).head_seq() == client.entries(group).rbegin()->first; }));
    ++i;
  }
}

}  // namespace
}  // namespace tidemark::testing
