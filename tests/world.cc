#include "world.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/conversation_id.h"

namespace tidemark::testing {
namespace {

class SharedServer : public ::testing::Environment {
 public:
  ServerProcess& get() {
    if (!server_) server_ = std::make_unique<ServerProcess>();
    return *server_;
  }
  void TearDown() override { server_.reset(); }

 private:
  std::unique_ptr<ServerProcess> server_;
};

SharedServer* const shared = static_cast<SharedServer*>(::testing::AddGlobalTestEnvironment(new SharedServer));

}  // namespace

ServerProcess& shared_server() {
  return shared->get();
}

BothDialects::BothDialects() {
  static std::atomic<int> tests = 0;
  prefix_ = "t" + std::to_string(++tests) + "-";
}

std::string BothDialects::chat(std::string_view a, std::string_view b) const {
  return single_conversation(UserId(user(a)), UserId(user(b))).value;
}

WsClient BothDialects::device(std::string_view name, std::string_view device_name) const {
  return device(name, Hello{.device = std::string(device_name)});
}

WsClient BothDialects::device(std::string_view name, const Hello& hello) const {
  WsClient client = connect();
  client.login(token(name), hello);
  return client;
}

std::vector<pb::Sent> send_all(WsClient& client, std::string_view to, const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> ids;
  ids.reserve(texts.size());
  for (const std::string& text : texts) ids.push_back(client.post(send_frame(to, text, new_id())));
  std::vector<pb::Sent> sent;
  for (const std::uint64_t id : ids) {
    const pb::ServerFrame answered = client.answer(id);
    EXPECT_TRUE(answered.has_sent()) << answered.ShortDebugString();
    sent.push_back(answered.sent());
  }
  return sent;
}

std::vector<std::string> numbered(std::string_view name, int count) {
  std::vector<std::string> texts;
  for (int i = 1; i <= count; ++i) texts.push_back(std::string(name) + std::to_string(i));
  return texts;
}

namespace {
/// A page shows the front of a long body; the row by itself is whole.
pb::Message whole_row(WsClient& client, const pb::Message& row) {
  pb::ClientFrame frame;
  frame.mutable_message()->set_message_id(row.message_id());
  return client.call(frame).message();
}
}  // namespace

std::vector<pb::Message> whole_history(WsClient& client, std::string_view conversation, std::uint32_t limit) {
  std::vector<pb::Message> rows;
  pb::HistoryRequest request;
  request.set_conversation_id(std::string(conversation));
  request.set_limit(limit);
  for (int pages = 0; pages < 20'000; ++pages) {
    const pb::HistoryPage page = client.history(request);
    rows.insert(rows.begin(), page.messages().begin(), page.messages().end());
    for (int i = 0; i < page.messages_size(); ++i)
      if (page.messages(i).body().has_cut()) rows[static_cast<std::size_t>(i)] = whole_row(client, page.messages(i));
    if (page.end()) return rows;
    request.set_page_token(page.page_token());
    if (page.page_token().empty()) break;
  }
  ADD_FAILURE() << "history says neither that it ends nor how it goes on";
  return rows;
}

std::vector<std::string> texts_of(const std::vector<pb::Message>& rows) {
  std::vector<std::string> texts;
  for (const pb::Message& row : rows) texts.push_back(row.body().text());
  return texts;
}

std::vector<std::uint64_t> seqs_from(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> seqs;
  for (std::uint64_t seq = first; seq <= last; ++seq) seqs.push_back(seq);
  return seqs;
}

std::vector<std::uint64_t> seqs_of(const std::vector<pb::Message>& rows) {
  return seqs_in(rows);
}

std::string dialect_name(const ::testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::binary ? "binary" : "json";
}

}  // namespace tidemark::testing
