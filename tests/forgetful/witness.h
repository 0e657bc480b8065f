// Users who write, read and take back, and remember what they were told: what a server has acknowledged it must show,
// whatever became of its disk.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server_process.h"
#include "ws_client.h"

namespace tidemark::testing {

/// What a user was told of his message. It may have been taken back since.
struct Witnessed {
  std::string conversation;
  std::string text;  // shortened
  std::string sender;
  std::uint64_t seq = 0;
  std::int64_t server_time = 0;
  enum class Recall : std::uint8_t { none, asked, acknowledged };
  Recall recall = Recall::none;
};

/// One user at work, in a thread of his own. What he knows outlives the server.
class WitnessUser {
 public:
  WitnessUser(int number, std::string group) : number_(number), group_(std::move(group)) {}

  /// A message that was posted and is not answered yet; it is sent again under its id.
  struct Open {
    std::string to;
    std::string conversation;
    std::string text;
    std::string id;
    bool again = false;  // sent in a former life of the server, which may have taken it
  };
  std::vector<Open> open;
  std::vector<Witnessed> told;
  /// The highest read pointers that the server has acknowledged.
  std::map<std::string, std::uint64_t> read_acked;
  /// Answers that nothing but a mistake of the server explains.
  std::vector<std::string> complaints;

  /// Works until the server is gone or takes nothing more.
  void work(int port, const std::string& token);

 private:
  Open fresh();
  bool exchange(WsClient& client);
  bool read_some(WsClient& client);
  bool take_back_one(WsClient& client);
  bool taken(const pb::ServerFrame& answer);

  const int number_;
  const std::string group_;
  std::vector<std::size_t> new_;  // those of `told` that are of this life of the server
  int count_ = 0;
};

/// All of them, and the judge.
class Witness {
 public:
  /// Makes the group; the users' tokens are those of this moment, for a power failure must not end them.
  explicit Witness(ServerProcess& server);
  /// All users at work, until the server is gone or takes nothing more.
  void work(int port);
  enum class Extent : std::uint8_t { news, everything };
  /// Compares what the server shows with what the users were told and with what it showed at the last check; with
  /// `news` only what is new since. A sentence for each thing that is wrong.
  std::vector<std::string> check(ServerProcess& server, Extent extent);
  std::size_t acknowledged() const;
  std::size_t recalled() const;

 private:
  struct Row {
    pb::Kind kind = {};
    std::string sender;
    std::string text;  // shortened
    std::uint64_t ord = 0;
    bool live = false;
    std::int64_t server_time = 0;
    bool operator==(const Row&) const = default;
  };
  using Rows = std::vector<Row>;  // the row of seq 1 first
  void check_rows(WsClient& client, const std::string& conversation, Extent extent);
  void count_copies(Extent extent);
  void check_told(const WitnessUser& user, std::size_t from);
  void check_numbers(WsClient& client, int user);
  void complain(const std::string& what);

  std::string group_;
  std::vector<WitnessUser> users_;
  std::vector<std::string> tokens_;
  std::map<std::string, Rows> rows_;
  std::map<std::string, std::size_t> counted_;  // how many rows of each are in copies_
  std::map<std::string, int> copies_;           // of each text, in all rows
  std::vector<std::size_t> checked_;            // of what each user was told
  std::vector<std::string> complaints_;
};

}  // namespace tidemark::testing
