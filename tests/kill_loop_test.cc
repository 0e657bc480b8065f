// The kill -9 loop: senders of every kind are at work, the server is killed at a random moment and started again, and
// what was not answered is sent again under the same ids. TIDEMARK_KILL_ROUNDS says how often (100); `./test --rounds N
// kill` sets it.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "core/conversation_id.h"
#include "wire/json_writer.h"
#include "world.h"

namespace tidemark::testing {
namespace {

constexpr int kSenders = 6;
constexpr std::uint64_t kUnreadExact = 999;

std::string name_of(int sender) {
  return "k" + std::to_string(sender);
}

/// A message that was posted and is not answered yet.
struct Open {
  std::string to;
  std::string conversation;
  std::string text;
  std::string id;
};

struct Acked {
  std::string conversation;
  std::string text;
  std::string sender;
  std::uint64_t seq = 0;
  std::int64_t server_time = 0;
};

/// One user at work. What he knows outlives the server.
class Sender {
 public:
  Sender(int number, std::string group) : number_(number), group_(std::move(group)) {}

  std::vector<Open> open;
  std::vector<Acked> acked;
  /// The highest read pointers that the server has acknowledged.
  std::map<std::string, std::uint64_t> read_acked;

  /// Sends until the server is gone.
  void run(int port, const std::string& token) {
    try {
      if (number_ % 3 == 2)
        by_http(port, token);
      else
        by_socket(port, token, number_ % 3 == 0 ? Dialect::binary : Dialect::json);
    } catch (const std::exception&) {
      // Its server was killed: this is how every round ends.
    }
  }

 private:
  Open fresh() {
    const int count = ++count_;
    const std::string text = name_of(number_) + " says " + std::to_string(count);
    if (count % 2 == 0) return {"", group_, text, new_id()};
    return {name_of((number_ + 1) % kSenders), "", text, new_id()};
  }

  static pb::ClientFrame frame_of(const Open& message) {
    pb::ClientFrame frame = send_frame(message.to, message.text, message.id);
    frame.mutable_send()->set_conversation_id(message.conversation);
    return frame;
  }

  void note(const Open& message, const pb::Sent& sent) {
    acked.push_back({sent.conversation_id(), message.text, name_of(number_), sent.seq(), sent.server_time()});
  }

  void by_socket(int port, const std::string& token, Dialect dialect) {
    WsClient client(port, dialect);
    client.hello(token, {.device = "phone"});
    for (;;) {
      while (open.size() < 8) open.push_back(fresh());
      std::vector<std::uint64_t> posted;
      try {
        for (const Open& message : open) posted.push_back(client.post(frame_of(message)));
        client.wait_until([&] { return client.arrived(posted.back()).has_value(); });
      } catch (const std::exception&) {
      }
      std::vector<Open> unanswered;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const auto answered = i < posted.size() ? client.arrived(posted[i]) : std::nullopt;
        if (answered && answered->has_sent())
          note(open[i], answered->sent());
        else
          unanswered.push_back(open[i]);
        if (answered && answered->has_error())
          EXPECT_TRUE(answered->error().retryable()) << answered->ShortDebugString();
      }
      open = std::move(unanswered);
      if (client.closed() || posted.empty()) return;
      const std::string& place = acked.empty() ? group_ : acked.back().conversation;
      const std::uint64_t seq = acked.empty() ? 1 : acked.back().seq;
      std::uint64_t& reached = read_acked[place];
      reached = std::max(reached, client.read(place, seq / 2).read_seq());
    }
  }

  void by_http(int port, const std::string& token) {
    HttpClient client(port);
    for (;;) {
      if (open.empty()) open.push_back(fresh());
      const Open message = open.front();
      std::string body = "{\"client_msg_id\":\"" + message.id + "\",\"body\":{\"text\":\"" + message.text + "\"},";
      body += message.to.empty() ? "\"conversation_id\":\"" + message.conversation + "\"}"
                                 : "\"to\":\"" + message.to + "\"}";
      const HttpResponse response = client.post("/v1/messages", token, body);
      if (response.status != 200 && response.status != 201) {
        EXPECT_EQ(response.status, 503) << response.body;
        return;
      }
      note(message, parsed<pb::Sent>(response));
      open.erase(open.begin());
      const Acked& last = acked.back();
      if (last.seq % 8 != 0) continue;
      const HttpResponse read = client.post("/v1/conversations/" + percent_encode(last.conversation) + "/read", token,
                                            "{\"seq\":" + std::to_string(last.seq / 2) + "}");
      if (read.status != 200) continue;
      std::uint64_t& reached = read_acked[last.conversation];
      reached = std::max(reached, parsed<pb::Mutated>(read).read_seq());
    }
  }

  const int number_;
  const std::string group_;
  int count_ = 0;
};

int rounds_wanted() {
  const char* given = std::getenv("TIDEMARK_KILL_ROUNDS");
  return given == nullptr ? 100 : std::max(1, std::atoi(given));
}

std::string make_group(ServerProcess& server) {
  WsClient first(server.port(), Dialect::binary);
  first.hello(server.token(name_of(0)));
  pb::ClientFrame create;
  create.mutable_create_group()->set_title("all");
  for (int i = 1; i < kSenders; ++i) create.mutable_create_group()->add_members(name_of(i));
  return first.call(create).group().conversation_id();
}

/// The numbers of one conversation as one user sees them, from its rows.
void check_summary(WsClient& client, const std::string& user, const std::string& conversation,
                   const std::vector<pb::Message>& rows) {
  const pb::Change change = client.conversation(conversation);
  std::uint64_t unread = 0;
  for (const pb::Message& row : rows)
    unread += row.kind() == pb::KIND_MESSAGE && row.sender() != user && row.seq() > change.read_seq() ? 1 : 0;
  EXPECT_EQ(change.head_seq(), rows.back().seq()) << user << " " << conversation;
  EXPECT_EQ(change.unread(), std::min(unread, kUnreadExact)) << user << " " << conversation;
  EXPECT_EQ(change.unread_exact(), unread <= kUnreadExact) << user << " " << conversation;
}

/// Numbers dense, ord counting the messages, times never back.
void check_rows(const std::string& conversation, const std::vector<pb::Message>& rows) {
  std::uint64_t ord = 0;
  std::int64_t time = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ord += rows[i].kind() == pb::KIND_MESSAGE ? 1 : 0;
    ASSERT_EQ(rows[i].seq(), i + 1) << conversation;
    ASSERT_EQ(rows[i].ord(), ord) << conversation << ":" << i + 1;
    ASSERT_GE(rows[i].server_time(), time) << conversation << ":" << i + 1;
    time = rows[i].server_time();
  }
}

void check_acked(const Acked& message, const std::vector<pb::Message>& rows) {
  ASSERT_LE(message.seq, rows.size()) << message.text << " was acknowledged and is gone";
  const pb::Message& row = rows[message.seq - 1];
  ASSERT_EQ(row.body().text(), message.text) << message.conversation << ":" << message.seq;
  ASSERT_EQ(row.sender(), message.sender);
  ASSERT_EQ(row.server_time(), message.server_time);
}

TEST(KillLoop, S15_S128_EveryAcknowledgedMessageIsThereOnce) {
  const int rounds = rounds_wanted();
  std::random_device seed_source;
  const unsigned seed = seed_source();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 dice(seed);
  ServerProcess server;
  const std::string group = make_group(server);
  std::vector<Sender> senders;
  std::vector<std::string> tokens;
  for (int i = 0; i < kSenders; ++i) {
    senders.emplace_back(i, group);
    tokens.push_back(server.token(name_of(i)));
  }
  const std::int64_t begin = steady_ms();
  for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    std::vector<std::thread> threads;
    threads.reserve(kSenders);
    for (int i = 0; i < kSenders; ++i)
      threads.emplace_back([&sender = senders[static_cast<std::size_t>(i)], port = server.port(),
                            &token = tokens[static_cast<std::size_t>(i)]] { sender.run(port, token); });
    // Mostly short, so that many kills fall into the first commits after a recovery.
    sleep_ms(std::uniform_int_distribution(0, 1)(dice) == 0 ? std::uniform_int_distribution(0, 15)(dice)
                                                            : std::uniform_int_distribution(15, 120)(dice));
    server.kill_hard();
    for (std::thread& each : threads) each.join();
    server.start();
  }
  std::cout << rounds << " rounds, " << (steady_ms() - begin) / rounds << " ms each\n";

  // What everybody sees at the end.
  std::map<std::string, std::vector<pb::Message>> rows;
  std::vector<WsClient> clients;
  for (int i = 0; i < kSenders; ++i) {
    WsClient& client = clients.emplace_back(server.port(), Dialect::binary);
    ASSERT_TRUE(client.hello(tokens[static_cast<std::size_t>(i)], {.device = "check"}).has_welcome());
    const std::string chat = single_conversation(UserId(name_of(i)), UserId(name_of((i + 1) % kSenders))).value;
    for (const std::string& id : {chat, group})
      if (!rows.contains(id)) rows[id] = whole_history(client, id);
  }
  std::size_t acknowledged = 0;
  std::map<std::string, int> copies;
  for (const auto& [id, all] : rows) {
    check_rows(id, all);
    for (const pb::Message& row : all)
      if (row.kind() == pb::KIND_MESSAGE) ++copies[row.body().text()];
  }
  for (const Sender& sender : senders) {
    acknowledged += sender.acked.size();
    for (const Acked& message : sender.acked) {
      check_acked(message, rows.at(message.conversation));
      ASSERT_EQ(copies[message.text], 1) << message.text;
    }
    for (const Open& message : sender.open) ASSERT_LE(copies[message.text], 1) << message.text;
  }
  for (int i = 0; i < kSenders; ++i) {
    WsClient& client = clients[static_cast<std::size_t>(i)];
    const Sender& sender = senders[static_cast<std::size_t>(i)];
    for (const auto& [id, all] : rows)
      if (id == group || ParsedConversation(*parse_conversation(ConversationId(id))).has(UserId(name_of(i))))
        check_summary(client, name_of(i), id, all);
    for (const auto& [id, seq] : sender.read_acked)
      EXPECT_GE(client.conversation(id).read_seq(), seq) << "a read pointer went down";
  }
  std::cout << acknowledged << " messages acknowledged\n";
  EXPECT_GT(acknowledged, static_cast<std::size_t>(rounds)) << "the loop did too little to show anything";
}

}  // namespace
}  // namespace tidemark::testing
