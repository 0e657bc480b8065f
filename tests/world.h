// What most tests share: one server for all that neither stop it nor change its settings, and users of their own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http_client.h"
#include "server_process.h"
#include "ws_client.h"

namespace tidemark::testing {

/// The server that tests share; started when first asked for, stopped at the end of the program.
ServerProcess& shared_server();

/// A test with users that no other test has: user("a") is the same one throughout the test. Parameterised by dialect,
/// so that whatever is shown holds in both.
class BothDialects : public ::testing::TestWithParam<Dialect> {
 protected:
  BothDialects();
  std::string user(std::string_view name) const { return prefix_ + std::string(name); }
  /// The id of the single chat of two users of this test.
  std::string chat(std::string_view a, std::string_view b) const;
  std::string token(std::string_view name) const { return server().token(user(name)); }
  virtual ServerProcess& server() const { return shared_server(); }
  /// A connection without hello.
  WsClient connect() const { return WsClient(server().port(), GetParam()); }
  /// A device that is in step and gets pushes.
  WsClient device(std::string_view name, std::string_view device_name = "d1") const;
  WsClient device(std::string_view name, const Hello& hello) const;
  HttpClient http() const { return HttpClient(server().port()); }

 private:
  std::string prefix_;
};

/// With a server of its own, for tests that stop it, kill it or set it up otherwise.
class OwnServer : public BothDialects {
 protected:
  ServerProcess& server() const override { return *server_; }
  void serve(ServerOptions options = {}) { server_ = std::make_unique<ServerProcess>(std::move(options)); }

 private:
  std::unique_ptr<ServerProcess> server_;
};

/// Sends texts one behind the other without waiting, and waits for all answers, which must be acceptances.
std::vector<pb::Sent> send_all(WsClient& client, std::string_view to, const std::vector<std::string>& texts);
/// The texts "name1" to "nameN".
std::vector<std::string> numbered(std::string_view name, int count);
/// Every row of a conversation that the client may see, by pages of history from the newest back; ascending.
std::vector<pb::Message> whole_history(WsClient& client, std::string_view conversation, std::uint32_t limit = 200);
std::vector<std::string> texts_of(const std::vector<pb::Message>& rows);
/// Seqs first, first + 1 ... last.
std::vector<std::uint64_t> seqs_from(std::uint64_t first, std::uint64_t last);
std::vector<std::uint64_t> seqs_of(const std::vector<pb::Message>& rows);
template <typename Rows>
std::vector<std::uint64_t> seqs_in(const Rows& rows) {
  std::vector<std::uint64_t> seqs;
  for (const pb::Message& row : rows) seqs.push_back(row.seq());
  return seqs;
}

/// "binary" or "json", as the suffix of a test's name.
std::string dialect_name(const ::testing::TestParamInfo<Dialect>& info);

}  // namespace tidemark::testing

/// Runs the tests of a suite in both dialects.
#define TM_IN_BOTH_DIALECTS(suite)                                                                                 \
  INSTANTIATE_TEST_SUITE_P(Dialects, suite, ::testing::Values(tidemark::Dialect::binary, tidemark::Dialect::json), \
                           tidemark::testing::dialect_name)
