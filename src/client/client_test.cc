// The client library over real sockets: two dialects, lost connections, lost answers, kicks.
#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <filesystem>

#include "client/testing_server.h"

namespace tidemark {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kPatienceMs = 20'000;  // a bound for hangs; nothing here takes so long
const ConversationId kChat("1001_1002");

ClientOptions options_for(const std::string& url, const std::string& user) {
  ClientOptions options;
  options.url = url;
  options.user = user;
  options.token = [user] { return user; };  // the testing server takes the token for the user
  options.retry_min_ms = 5;
  options.retry_max_ms = 50;
  return options;
}

std::unique_ptr<Client> start(const ClientOptions& options) {
  auto client = Client::start(options);
  EXPECT_TRUE(client.has_value()) << (client ? "" : client.error().message());
  return client ? std::move(*client) : nullptr;
}

/// The next event of this type that `wanted` takes.
template <typename Event, typename Wanted>
std::optional<Event> await(Client& client, Wanted wanted) {
  while (auto event = client.next_event(kPatienceMs))
    if (const auto* one = std::get_if<Event>(&*event); one && wanted(*one)) return *one;
  return std::nullopt;
}

template <typename Event>
std::optional<Event> await(Client& client) {
  return await<Event>(client, [](const Event&) { return true; });
}

std::vector<std::string> texts(const Client& client, const ConversationId& id) {
  std::vector<std::string> texts;
  for (const TimelineRow& row : client.timeline(id).rows) texts.push_back(row.entry->body.text);
  return texts;
}

class ClientDialects : public ::testing::TestWithParam<Dialect> {};
INSTANTIATE_TEST_SUITE_P(BothDialects, ClientDialects, ::testing::Values(Dialect::binary, Dialect::json),
                         [](const auto& instance) { return instance.param == Dialect::binary ? "binary" : "json"; });

TEST_P(ClientDialects, TwoUsersTalk) {
  TestingServer server;
  ClientOptions first = options_for(server.url(), "1001");
  ClientOptions second = options_for(server.url(), "1002");
  first.dialect = second.dialect = GetParam();
  const auto anna = start(first);
  const auto ben = start(second);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  ASSERT_TRUE(ben->wait_settled(kPatienceMs));
  EXPECT_EQ(anna->link(), LinkState::in_step);
  EXPECT_EQ(anna->link_trouble(), "");

  const auto local_id = anna->send_text("1002", "早上好");
  ASSERT_TRUE(local_id.has_value());
  const auto sent = await<OutboxEvent>(*anna, [](const auto& event) { return event.outcome == OutboxOutcome::sent; });
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->local_id, *local_id);
  EXPECT_EQ(sent->seq, Seq(1));

  const auto message = await<MessageEvent>(*ben);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->entry->body.text, "早上好");
  EXPECT_TRUE(message->notify);
  ASSERT_EQ(ben->conversations().size(), 1u);
  EXPECT_EQ(ben->conversations()[0].unread, (Unread{1, true}));
  EXPECT_EQ(ben->conversations()[0].peer, UserId("1001"));

  ASSERT_TRUE(ben->mark_read(kChat, Seq(1)).has_value());
  ASSERT_TRUE(ben->send_text(kChat, "早").has_value());
  ASSERT_TRUE(ben->wait_settled(kPatienceMs));
  EXPECT_EQ(ben->conversation(kChat)->unread, Unread{});
  ASSERT_TRUE(await<MessageEvent>(*anna, [](const auto& event) { return event.entry->body.text == "早"; }));
  EXPECT_THAT(texts(*anna, kChat), ElementsAre("早上好", "早"));
  EXPECT_THAT(texts(*ben, kChat), ElementsAre("早上好", "早"));
}

/// The answer to what was asked about a group.
Result<GroupReply> answer_of(Client& client, const Result<std::uint64_t>& call) {
  if (!call) return std::unexpected(call.error());
  const auto told = await<GroupEvent>(client, [&](const GroupEvent& event) { return event.call == *call; });
  if (!told) return fail(ErrorCode::INTERNAL, "", "no answer came");
  return told->group;
}

Role role_of(const Client& client, const ConversationId& id) {
  const auto held = client.conversation(id);
  return held ? held->role : Role::member;
}

TEST_P(ClientDialects, GroupsAreMadeRunAndEnded) {
  TestingServer server;
  ClientOptions first = options_for(server.url(), "1001");
  ClientOptions second = options_for(server.url(), "1002");
  first.dialect = second.dialect = GetParam();
  const auto anna = start(first);
  const auto ben = start(second);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  ASSERT_TRUE(ben->wait_settled(kPatienceMs));

  const auto made = answer_of(*anna, anna->create_group({"lunch", {"1002", "1003"}}));
  ASSERT_TRUE(made.has_value()) << made.error().message();
  const ConversationId id = made->group.id;
  ASSERT_EQ(made->group.members.size(), 3u);
  EXPECT_EQ(made->group.members[0].role, Role::owner);
  EXPECT_EQ(answer_of(*ben, ben->add_members(id, {"1004"})).error().code, ErrorCode::FORBIDDEN);

  GroupChange change;
  change.title = "Tuesday lunch";
  change.data = R"({"topic": "noodles"})";
  change.who_may_add = Allowed::members;
  change.join = JoinPolicy::open;
  change.history_for_newcomers = HistoryForNewcomers::last;
  change.history_last = 2;
  const auto changed = answer_of(*anna, anna->change_group(id, change));
  ASSERT_TRUE(changed.has_value()) << changed.error().message();
  EXPECT_EQ(changed->group.policy,
            (GroupPolicy{Allowed::members, Allowed::members, JoinPolicy::open, HistoryForNewcomers::last, 2}));
  EXPECT_EQ(changed->group.data, change.data);
  EXPECT_EQ(answer_of(*ben, ben->add_members(id, {"1004"}))->group.members.size(), 4u);
  EXPECT_EQ(answer_of(*anna, anna->remove_member(id, "1004"))->group.members.size(), 3u);

  EXPECT_EQ(answer_of(*anna, anna->mute_member(id, "1002", std::int64_t{1} << 50))->group.mutes,
            (std::vector<Mute>{{UserId("1002"), std::int64_t{1} << 50}}));
  ASSERT_TRUE(ben->send_text(id, "am I heard?").has_value());
  const auto refused = await<OutboxEvent>(*ben, [](const auto& event) { return event.error.has_value(); });
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->error->code, ErrorCode::MEMBER_MUTED);
  EXPECT_TRUE(answer_of(*anna, anna->mute_member(id, "1002", 0))->group.mutes.empty());

  EXPECT_TRUE(answer_of(*anna, anna->set_role(id, "1002", Role::owner)).has_value());
  EXPECT_TRUE(answer_of(*anna, anna->leave_group(id)).has_value());
  EXPECT_EQ(answer_of(*anna, anna->ask_group(id)).error().code, ErrorCode::NOT_MEMBER);
  EXPECT_TRUE(answer_of(*anna, anna->join_group(id)).has_value());
  // It may be in step with what was before.
  while (role_of(*ben, id) != Role::owner && ben->next_event(kPatienceMs)) {
  }
  EXPECT_EQ(role_of(*ben, id), Role::owner);
  EXPECT_EQ(ben->conversation(id)->title, "Tuesday lunch");
  // What happened is in the timeline, policies and all.
  bool seen = false;
  for (const TimelineRow& row : ben->timeline(id).rows)
    seen = seen || (row.entry->config && row.entry->config->policy == changed->group.policy &&
                    row.entry->config->data == change.data && row.entry->config->title == change.title);
  EXPECT_TRUE(seen);

  const auto ended = answer_of(*ben, ben->dissolve_group(id));
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->group.dissolved);
  ASSERT_TRUE(await<MessageEvent>(
      *anna, [](const auto& event) { return event.entry->config && event.entry->config->dissolved; }));
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_FALSE(anna->conversation(id)->member);
  EXPECT_EQ(anna->conversation(id)->title, "Tuesday lunch");
  EXPECT_EQ(answer_of(*anna, anna->join_group(id)).error().code, ErrorCode::CONVERSATION_CLOSED);
}

TEST_P(ClientDialects, DevicesAndMembersAreAskedForByNumber) {
  TestingServer server;
  ClientOptions first = options_for(server.url(), "1001");
  ClientOptions second = options_for(server.url(), "1001");
  second.device = "phone";
  first.dialect = second.dialect = GetParam();
  const auto desktop = start(first);
  const auto phone = start(second);
  ASSERT_TRUE(desktop->wait_settled(kPatienceMs));
  ASSERT_TRUE(phone->wait_settled(kPatienceMs));
  const auto devices = [](Client& client,
                          const Result<std::uint64_t>& call) -> Result<std::vector<replica::UserDevice>> {
    if (!call) return std::unexpected(call.error());
    const auto told = await<DevicesEvent>(client, [&](const auto& event) { return event.call == *call; });
    if (!told) return fail(ErrorCode::INTERNAL, "", "no answer came");
    return told->devices;
  };
  const auto listed = devices(*desktop, desktop->ask_devices());
  ASSERT_TRUE(listed.has_value());
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_TRUE((*listed)[0].current);
  const auto named = devices(*phone, phone->change_device({.name = "Anna's phone", .push_token = "t"}));
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ((*named)[0].name, "Anna's phone");
  EXPECT_TRUE((*named)[0].push);
  EXPECT_EQ(devices(*phone, phone->change_device({.name = "?"}, "tablet")).error().code, ErrorCode::DEVICE_NOT_FOUND);

  const auto made = answer_of(*desktop, desktop->create_group({"lunch", {"1002", "1003"}}));
  ASSERT_TRUE(made.has_value());
  std::vector<std::string> users;
  std::string page_token;
  do {
    const auto call = desktop->ask_members(made->group.id, page_token, 2);
    ASSERT_TRUE(call.has_value());
    const auto page = await<MembersEvent>(*desktop, [&](const auto& event) { return event.call == *call; });
    ASSERT_TRUE(page.has_value() && page->members.has_value());
    for (const auto& each : page->members->members) users.push_back(each.member.user.value);
    page_token = page->members->page_token;
  } while (!page_token.empty());
  EXPECT_THAT(users, ElementsAre("1001", "1002", "1003"));

  ASSERT_TRUE(devices(*desktop, desktop->logout_others()).has_value());
  ASSERT_TRUE(await<LinkEvent>(*phone, [](const auto& event) { return event.kick == "LOGGED_OUT"; }));
  EXPECT_EQ(devices(*desktop, desktop->remove_device("phone"))->size(), 1u);
  EXPECT_TRUE(devices(*desktop, desktop->logout())->empty());
  ASSERT_TRUE(await<LinkEvent>(*desktop, [](const auto& event) { return event.state == LinkState::refused; }));
  EXPECT_EQ(desktop->ask_devices().error().code, ErrorCode::RETRY_LATER);
}

TEST(Client, AChangeOfAGroupThatWasCutOffIsAskedAgainUnderItsKey) {
  TestingServer server;
  const auto anna = start(options_for(server.url(), "1001"));
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  const auto made = answer_of(*anna, anna->create_group({"lunch", {"1002"}}));
  ASSERT_TRUE(made.has_value());
  std::vector<std::string> keys;
  server.with([&](auto&) {
    server.fate = [&](const pb::ClientFrame& frame) {
      if (!frame.has_add_members()) return TestingServer::Fate::answer;
      keys.push_back(frame.idempotency_key());
      return keys.size() == 1 ? TestingServer::Fate::cut_after : TestingServer::Fate::answer;
    };
    return true;
  });
  const auto add = anna->add_members(made->group.id, {"1003"});
  EXPECT_EQ(answer_of(*anna, add).error().code, ErrorCode::RETRY_LATER);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_TRUE(answer_of(*anna, anna->ask_again(*add)).has_value());
  EXPECT_EQ(anna->ask_again(*add).error().code, ErrorCode::MALFORMED);
  server.with([&](auto&) {
    EXPECT_EQ(keys.size(), 2u);
    EXPECT_EQ(keys.front(), keys.back());
    EXPECT_FALSE(keys.front().empty());
    return true;
  });
}

TEST(Client, AGroupsCallThatIsCutOffIsToldAndMayBeAskedAgain) {
  const auto alone = start(options_for("ws://127.0.0.1:1/v1/ws", "1001"));
  const auto unasked = alone->create_group({"lunch", {"1002"}});
  ASSERT_FALSE(unasked.has_value());
  EXPECT_EQ(unasked.error().code, ErrorCode::RETRY_LATER);

  TestingServer server;
  const auto anna = start(options_for(server.url(), "1001"));
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  server.with([&](auto&) {
    server.fate = [cut = false](const pb::ClientFrame& frame) mutable {
      return frame.has_create_group() && !std::exchange(cut, true) ? TestingServer::Fate::cut_after
                                                                   : TestingServer::Fate::answer;
    };
    return true;
  });
  const NewGroup group{"lunch", {"1002"}, HistoryForNewcomers::none, 0, "key-1"};
  EXPECT_EQ(answer_of(*anna, anna->create_group(group)).error().code, ErrorCode::RETRY_LATER);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  const auto again = answer_of(*anna, anna->create_group(group));
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->group.id, ConversationId("group_1"));
}

TEST(Client, EditsAndRecallsShowOnEveryDeviceAndInTheStore) {
  TestingServer server;
  const auto anna = start(options_for(server.url(), "1001"));
  const auto ben = start(options_for(server.url(), "1002"));
  ASSERT_TRUE(anna->send_text("1002", "see you at seven").has_value());
  ASSERT_TRUE(await<MessageEvent>(*ben));
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));

  ASSERT_TRUE(anna->edit_text(kChat, Seq(1), "see you at eight").has_value());
  ASSERT_TRUE(await<ChangeEvent>(*anna, [](const auto& event) { return event.outcome == ChangeOutcome::done; }));
  const auto edited = await<MessageEvent>(*ben);
  ASSERT_TRUE(edited.has_value());
  EXPECT_FALSE(edited->appeared);
  EXPECT_FALSE(edited->notify);
  EXPECT_EQ(edited->entry->state, MessageState::edited);
  EXPECT_THAT(texts(*ben, kChat), ElementsAre("see you at eight")) << "the edit itself is no row";

  ASSERT_TRUE(anna->recall(kChat, Seq(1)).has_value());
  const auto recalled = await<MessageEvent>(*ben);
  ASSERT_TRUE(recalled.has_value());
  EXPECT_TRUE(recalled->entry->dead());
  EXPECT_THAT(texts(*ben, kChat), ElementsAre(""));
  EXPECT_EQ(ben->conversation(kChat)->unread, Unread{});
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_THAT(texts(*anna, kChat), ElementsAre(""));
  EXPECT_FALSE(ben->timeline(kChat).rows[0].gap_before);
  EXPECT_EQ(anna->edit_text(kChat, Seq(1), "too late").error().code, ErrorCode::MESSAGE_DELETED);
  EXPECT_EQ(ben->recall(kChat, Seq(1)).error().code, ErrorCode::FORBIDDEN);
}

TEST(Client, ReactsAndIsToldWhoDoesAndWhoHasRead) {
  TestingServer server;
  server.with([](replica::TestServer& rules) { return rules.send(UserId("1002"), UserId("1001"), "lunch?"); });
  const auto anna = start(options_for(server.url(), "1001"));
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  ASSERT_TRUE(anna->react(kChat, Seq(1), "yes").has_value());
  const auto reacted = await<MessageEvent>(*anna, [](const auto& event) { return !event.entry->reactions.empty(); });
  ASSERT_TRUE(reacted.has_value());
  EXPECT_EQ(reacted->entry->reactions[0], (Reaction{"yes", 1, true}));
  const auto call = anna->ask_reactions(kChat, Seq(1));
  ASSERT_TRUE(call.has_value());
  const auto who = await<ReactionsEvent>(*anna, [&](const auto& event) { return event.call == *call; });
  ASSERT_TRUE(who.has_value() && who->reactions.has_value());
  EXPECT_EQ(who->reactions->users[0].user.value, "1001");
  ASSERT_TRUE(anna->watch_receipts({kChat}).has_value());
  const auto receipts = await<ReceiptsEvent>(*anna);
  ASSERT_TRUE(receipts.has_value());
  EXPECT_EQ(anna->receipts(kChat).size(), 1u);
  EXPECT_EQ(anna->totals().unread, 1u);
}

TEST(Client, WhatWasMissedIsThereAfterTheLineComesBack) {
  TestingServer server;
  const auto anna = start(options_for(server.url(), "1001"));
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  for (int round = 0; round < 5; ++round) {
    server.cut_all();
    const auto text = "round " + std::to_string(round);
    server.with([&](replica::TestServer& rules) { return rules.send(UserId("1002"), UserId("1001"), text); });
    ASSERT_TRUE(await<MessageEvent>(*anna, [&](const auto& event) { return event.entry->body.text == text; }));
  }
  EXPECT_THAT(texts(*anna, kChat), ElementsAre("round 0", "round 1", "round 2", "round 3", "round 4"));
  EXPECT_GE(server.accepted, 2);
}

TEST(Client, ALostAnswerDoublesNothing) {
  TestingServer server;
  int sends = 0;
  server.fate = [&](const pb::ClientFrame& frame) {
    if (!frame.has_send()) return TestingServer::Fate::answer;
    // Each message: once lost before it is taken, once after, then through.
    switch (sends++ % 3) {
      case 0:
        return TestingServer::Fate::cut_before;
      case 1:
        return TestingServer::Fate::cut_after;
      default:
        return TestingServer::Fate::answer;
    }
  };
  const auto anna = start(options_for(server.url(), "1001"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(anna->send_text("1002", std::to_string(i)).has_value());
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_TRUE(anna->outbox().empty());
  EXPECT_THAT(texts(*anna, kChat), ElementsAre("0", "1", "2"));
  EXPECT_EQ(server.with([](replica::TestServer& rules) { return rules.view.line(kChat).seq; }), Seq(3));
}

TEST(Client, WritesOfflineAndSendsWhenAServerIsThere) {
  std::uint16_t port = 0;
  {
    const TestingServer gone;
    port = gone.port();
  }
  const auto anna = start(options_for("ws://127.0.0.1:" + std::to_string(port) + "/v1/ws", "1001"));
  ASSERT_TRUE(anna->send_text("1002", "hello").has_value());
  EXPECT_FALSE(anna->wait_settled(50));
  EXPECT_EQ(anna->timeline(kChat).outbox.size(), 1u);
  EXPECT_NE(anna->link_trouble(), "");
  TestingServer server(port);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_THAT(texts(*anna, kChat), ElementsAre("hello"));
  EXPECT_TRUE(anna->timeline(kChat).outbox.empty());
}

TEST(Client, ScrollsBackThroughWhatItDoesNotHold) {
  TestingServer server;
  server.with([](replica::TestServer& rules) {
    for (int i = 1; i <= 130; ++i) rules.send(UserId("1002"), UserId("1001"), std::to_string(i));
    return 0;
  });
  ClientOptions options = options_for(server.url(), "1001");
  options.recent = 10;
  const auto anna = start(options);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_EQ(texts(*anna, kChat).size(), 10u);
  EXPECT_TRUE(anna->timeline(kChat).rows.front().gap_before);
  bool end = false;
  for (int pages = 0; !end && pages < 10; ++pages) {
    anna->scroll_back(kChat);
    const auto told = await<HistoryEvent>(*anna);
    ASSERT_TRUE(told.has_value());
    end = told->end;
  }
  const Timeline all = anna->timeline(kChat, {}, 1'000);
  ASSERT_EQ(all.rows.size(), 130u);
  EXPECT_EQ(all.rows.front().entry->body.text, "1");
  for (const TimelineRow& row : all.rows) EXPECT_FALSE(row.gap_before);
}

/// A self-signed certificate for 127.0.0.1 in files that go with the object.
class Certificate {
 public:
  Certificate() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tidemark_client_XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_EXTENSION* name = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate, name, -1);
    X509_sign(certificate, key, EVP_sha256());
    save("certificate.pem", [&](FILE* file) { PEM_write_X509(file, certificate); });
    save("key.pem", [&](FILE* file) { PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr); });
    X509_EXTENSION_free(name);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~Certificate() { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

 private:
  template <typename Write>
  void save(const std::string& name, Write write) const {
    FILE* file = std::fopen(path(name).c_str(), "w");
    write(file);
    std::fclose(file);
  }
  std::filesystem::path directory_;
};

TEST(Client, TalksThroughTlsToAServerThatProvesItsName) {
  const Certificate certificate;
  auto context = TlsContext::server({certificate.path("certificate.pem"), certificate.path("key.pem")});
  ASSERT_TRUE(context.has_value());
  TestingServer server(0, std::move(*context));
  ClientOptions options = options_for(server.url(), "1001");
  options.ca_file = certificate.path("certificate.pem");
  const auto anna = start(options);
  const std::string big(60'000, 'x');
  ASSERT_TRUE(anna->send_text("1002", big).has_value());
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_THAT(texts(*anna, kChat), ElementsAre(big));
  server.cut_all();
  ASSERT_TRUE(anna->send_text("1002", "again").has_value());
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));

  options.ca_file.clear();  // nobody vouches for it now
  options.user = "1003";
  options.token = [] { return "1003"; };
  const auto stranger = start(options);
  EXPECT_FALSE(stranger->wait_settled(300));
  EXPECT_NE(stranger->link_trouble(), "");
}

TEST(Client, AKickForGoodIsNotFollowedByAReconnect) {
  TestingServer server;
  const auto anna = start(options_for(server.url(), "1001"));
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  server.kick_all("REPLACED", true);
  const auto refused = await<LinkEvent>(*anna, [](const auto& event) { return event.state == LinkState::refused; });
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->kick, "REPLACED");
  EXPECT_FALSE(anna->wait_settled(300)) << "six times the longest wait between connections";
  EXPECT_EQ(server.accepted, 1);
  EXPECT_NE(anna->link_trouble().find("REPLACED"), std::string::npos);
  anna->reconnect();
  EXPECT_TRUE(anna->wait_settled(kPatienceMs));
}

TEST(Client, CallsBackInsteadOfQueueing) {
  TestingServer server;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<OutboxOutcome> outcomes;
  ClientOptions options = options_for(server.url(), "1001");
  options.on_event = [&](const ClientEvent& event) {
    const std::lock_guard lock(mutex);
    if (const auto* outbox = std::get_if<OutboxEvent>(&event)) outcomes.push_back(outbox->outcome);
    changed.notify_all();
  };
  const auto anna = start(options);
  ASSERT_TRUE(anna->send_text("1002", "hello").has_value());
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return outcomes.size() == 2; }));
  EXPECT_THAT(outcomes, ElementsAre(OutboxOutcome::queued, OutboxOutcome::sent));
}

TEST(Client, AFullQueueSaysSo) {
  TestingServer server;
  ClientOptions options = options_for(server.url(), "1001");
  options.events_max = 3;
  const auto anna = start(options);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(anna->send_text("1002", "hello").has_value());
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  const auto first = anna->next_event(kPatienceMs);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(std::holds_alternative<EventsLost>(*first));
  EXPECT_EQ(texts(*anna, kChat).size(), 5u);
}

TEST(Client, AStoreOutlivesItsClient) {
  TestingServer server;
  const std::shared_ptr<ReplicaStore> store = make_memory_store();
  ClientOptions options = options_for(server.url(), "1001");
  options.store = store;
  {
    const auto anna = start(options);
    ASSERT_TRUE(anna->send_text("1002", "hello").has_value());
    ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  }
  const std::size_t syncs = server.with([](replica::TestServer& rules) { return rules.syncs; });
  const auto again = start(options);
  EXPECT_THAT(texts(*again, kChat), ElementsAre("hello")) << "before any connection";
  ASSERT_TRUE(again->wait_settled(kPatienceMs));
  EXPECT_EQ(server.with([](replica::TestServer& rules) { return rules.syncs; }), syncs) << "nothing had changed";

  options.device = "phone";
  const auto device = Client::start(options);
  ASSERT_FALSE(device.has_value());
  EXPECT_NE(device.error().detail.find("the device desktop"), std::string::npos);
  options.user = "1002";
  const auto other = Client::start(options);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().field, "store");
}

TEST(Client, AFileOutlivesTheProcessAndWhatWaitedInItIsSent) {
  std::string pattern = (std::filesystem::temp_directory_path() / "tidemark_client_XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::string path = pattern + "/anna.db";
  std::uint16_t port = 0;
  {
    TestingServer server;
    port = server.port();
    ClientOptions options = options_for(server.url(), "1001");
    options.store = std::move(*open_sqlite_store(path));
    const auto anna = start(options);
    ASSERT_TRUE(anna->send_text("1002", "hello").has_value());
    ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  }
  ClientOptions options = options_for("ws://127.0.0.1:" + std::to_string(port) + "/v1/ws", "1001");
  {
    options.store = std::move(*open_sqlite_store(path));
    const auto anna = start(options);
    EXPECT_THAT(texts(*anna, kChat), ElementsAre("hello"));
    ASSERT_TRUE(anna->send_text("1002", "nobody is there").has_value());
  }
  options.store = nullptr;  // with it the lock goes
  TestingServer server;
  options.url = server.url();
  options.store = std::move(*open_sqlite_store(path));
  const auto anna = start(options);
  ASSERT_EQ(anna->outbox().size(), 1u);
  EXPECT_EQ(anna->outbox()[0].local_id, 2u);
  EXPECT_EQ(anna->next_local_id(), 3u);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_TRUE(anna->outbox().empty());
  EXPECT_EQ(server.with([](replica::TestServer& rules) { return rules.view.line(kChat).seq; }), Seq(1));
  std::filesystem::remove_all(pattern);
}

TEST(Client, TheReasonOfTheFirstRefusedConnectionIsTold) {
  std::uint16_t port = 0;
  {
    const TestingServer gone;
    port = gone.port();
  }
  const auto anna = start(options_for("ws://127.0.0.1:" + std::to_string(port) + "/v1/ws", "1001"));
  const auto told = await<LinkEvent>(*anna);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->state, LinkState::offline);
  EXPECT_EQ(anna->link_trouble(), "Connection refused");
  EXPECT_FALSE(anna->next_event(200).has_value()) << "the same reason is told once";
  // A better one later takes its place.
  TestingServer server(port);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_EQ(anna->link_trouble(), "");
}

/// A store on a disk that fails when it is told to.
class FailingStore final : public ReplicaStore {
 public:
  std::atomic<bool> full = false;
  std::atomic<bool> unreadable = false;
  Result<void> apply(const replica::StoreBatch& batch) override {
    if (full) return fail(ErrorCode::RETRY_LATER, "store", "There is no room.");
    return store_->apply(batch);
  }
  Result<replica::StoreImage> load() override {
    if (unreadable) return fail(ErrorCode::RETRY_LATER, "store", "The disk is gone.");
    return store_->load();
  }
  Result<std::vector<TimelineRow>> rows(const ConversationId& conversation, Seq before, std::size_t limit) override {
    return store_->rows(conversation, before, limit);
  }

 private:
  std::unique_ptr<ReplicaStore> store_ = make_memory_store();
};

TEST(Client, WhatCouldNotBeStoredIsRefusedAndNothingElseIsLost) {
  TestingServer server;
  const auto store = std::make_shared<FailingStore>();
  ClientOptions options = options_for(server.url(), "1001");
  options.store = store;
  const auto anna = start(options);
  ASSERT_TRUE(anna->send_text("1002", "before").has_value());
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  store->full = true;
  const auto refused = anna->send_text("1002", "on a full disk");
  ASSERT_FALSE(refused.has_value()) << "it would be gone with the process";
  EXPECT_EQ(refused.error().detail, "There is no room.");
  EXPECT_TRUE(anna->outbox().empty());
  server.with([](replica::TestServer& rules) { return rules.send(UserId("1002"), UserId("1001"), "meanwhile"); });
  ASSERT_TRUE(await<LinkEvent>(*anna, [](const auto& event) { return event.state == LinkState::offline; }));
  EXPECT_EQ(anna->link_trouble(), "the local store: There is no room.");
  EXPECT_THAT(texts(*anna, kChat), ElementsAre("before"));
  store->full = false;
  ASSERT_TRUE(anna->send_text("1002", "after").has_value());
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_THAT(texts(*anna, kChat), ElementsAre("before", "meanwhile", "after"));
}

TEST(Client, WhatIsAheadOfItsStoreStoresNothingMore) {
  TestingServer server;
  const auto store = std::make_shared<FailingStore>();
  ClientOptions options = options_for(server.url(), "1001");
  options.store = store;
  const auto anna = start(options);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  store->full = store->unreadable = true;
  ASSERT_FALSE(anna->send_text("1002", "one").has_value());
  EXPECT_EQ(anna->link_trouble(), "the local store: The disk is gone.");
  store->full = false;
  ASSERT_FALSE(anna->send_text("1002", "two").has_value()) << "it would be stored behind what is missing";
  store->unreadable = false;
  anna->reconnect();
  int refused = 0;  // once, unless the new connection was the first to read it again
  while (!anna->send_text("1002", "three")) ASSERT_LT(++refused, 2);
  ASSERT_TRUE(anna->wait_settled(kPatienceMs));
  EXPECT_THAT(texts(*anna, kChat), ElementsAre("three"));
}

TEST(Client, WrongOptionsAreNamed) {
  const auto refused = [](auto change) {
    ClientOptions options = options_for("ws://127.0.0.1:1/v1/ws", "1001");
    change(options);
    const auto client = Client::start(options);
    return client ? std::string("none") : client.error().field;
  };
  EXPECT_EQ(refused([](ClientOptions& o) { o.url = "http://x/"; }), "url");
  EXPECT_EQ(refused([](ClientOptions& o) { o.user = ""; }), "user");
  EXPECT_EQ(refused([](ClientOptions& o) { o.token = nullptr; }), "token");
  EXPECT_EQ(refused([](ClientOptions& o) { o.device = ""; }), "device");
  EXPECT_EQ(refused([](ClientOptions& o) { o.recent = 51; }), "recent");
  EXPECT_EQ(refused([](ClientOptions& o) { o.page_limit = 0; }), "page_limit");
  EXPECT_EQ(refused([](ClientOptions& o) { o.url = "wss://127.0.0.1:1/", o.ca_file = "/nowhere"; }), "tls.ca_file");
}

}  // namespace
}  // namespace tidemark
