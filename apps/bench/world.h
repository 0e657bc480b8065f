// What a work runs in: a server (its own or a given one), users with tokens, links, and answers awaited one by one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/bench/link.h"
#include "apps/bench/loop.h"
#include "apps/bench/options.h"
#include "apps/bench/server_process.h"
#include "base/ports.h"
#include "gateway/auth.h"

namespace tidemark::bench {

using Links = std::vector<std::unique_ptr<Link>>;

class World {
 public:
  /// Starts the server unless the options name one.
  static Result<std::unique_ptr<World>> open(const Options& options);
  ~World();

  Loop& loop() { return loop_; }
  /// 0 when the server is not its own.
  pid_t server_pid() const { return server_ ? server_->pid() : 0; }
  /// Its own server dies without a word, and is started again on what it left; links are to be made anew.
  void kill_server();
  Result<void> start_again() { return start_server(); }
  /// A directory on the server's disk for data of the bench.
  const std::string& scratch() const { return directory_->path(); }
  Result<std::map<std::string, double>> metrics() const { return read_metrics(host_, port_); }

  /// A user id of this run alone: "bk3x9-sender12".
  std::string user(std::string_view role, int number) const;
  /// A link, not yet started; what differs from the usual is set in its plan first.
  Result<std::unique_ptr<Link>> make_link(const std::string& user, const std::string& device,
                                          const std::function<void(LinkPlan&)>& change = {});
  /// Starts links, a few hundred at a time, and waits until all are welcomed. `tell` hears how many are.
  Result<void> connect(std::span<const std::unique_ptr<Link>> links,
                       const std::function<void(std::int64_t)>& tell = {});
  /// Turns the loop until the server's process has next to nothing to do, a minute at most.
  Result<void> wait_until_idle();
  /// Sends a frame (its id is set here) and turns the loop until it is answered. A refusal is an error.
  Result<pb::ServerFrame> call(Link& link, pb::ClientFrame frame);

 private:
  explicit World(const Options& options) : options_(options) {}
  Result<void> start_server();
  Result<void> use_server();

  const Options options_;
  SystemRandom random_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Authenticator> authenticator_;
  std::string host_ = "127.0.0.1";
  int port_ = 0;
  std::string prefix_;
  std::uint64_t last_id_ = std::uint64_t{1} << 40;  // above all that works choose themselves
  Loop loop_;
};

/// What a failed request says.
Error refusal_of(const pb::ServerFrame& frame);

}  // namespace tidemark::bench
