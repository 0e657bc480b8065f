// Sends every line of a file to a user, each exactly once and in order, however often it is killed and started again:
//
//     import ws://127.0.0.1:7700/v1/ws USER TOKEN import.db TO FILE
//
// The store is this import's own: its local ids are the numbers of the lines.
#include <cstdio>
#include <fstream>
#include <string>

#include "client/client.h"

using namespace tidemark;

namespace {

constexpr std::int64_t kPatienceMs = 60'000;

/// Hands line after line to the client. What it has taken is sent, now or after a restart.
bool hand_over(Client& client, const std::string& to, std::istream& lines) {
  std::uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || ++number < client.next_local_id()) continue;
    for (;;) {
      const auto sent = client.send_text(to, line);
      if (sent) break;
      if (sent.error().code != ErrorCode::LIMIT_REACHED) {
        std::fprintf(stderr, "import: line %llu: %s\n", static_cast<unsigned long long>(number),
                     sent.error().message().c_str());
        return false;
      }
      // The outbox is full until some of it is sent.
      if (!client.next_event(kPatienceMs)) return false;
    }
  }
  return true;
}

/// Tells what the server would not have, and how much waits.
int report(const Client& client) {
  const auto outbox = client.outbox();
  for (const OutboxItem& item : outbox)
    if (item.error)
      std::fprintf(stderr, "import: line %llu: %s\n", static_cast<unsigned long long>(item.local_id),
                   item.error->message().c_str());
  std::printf("%llu sent, %zu not\n", static_cast<unsigned long long>(client.next_local_id() - 1 - outbox.size()),
              outbox.size());
  return outbox.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: import URL USER TOKEN STORE TO FILE\n");
    return 2;
  }
  std::ifstream lines(argv[6]);
  if (!lines) {
    std::fprintf(stderr, "import: %s cannot be read\n", argv[6]);
    return 1;
  }
  auto store = open_sqlite_store(argv[4]);
  if (!store) {
    std::fprintf(stderr, "import: %s\n", store.error().detail.c_str());
    return 1;
  }
  ClientOptions options;
  options.url = argv[1];
  options.user = argv[2];
  options.token = [token = std::string(argv[3])] { return token; };
  options.device = "import";
  options.recent = 0;  // it does not read
  options.store = std::move(*store);
  auto client = Client::start(options);
  if (!client) {
    std::fprintf(stderr, "import: %s\n", client.error().message().c_str());
    return 1;
  }
  const bool all = hand_over(**client, argv[5], lines);
  const bool settled = (*client)->wait_settled(kPatienceMs);
  if (!settled) std::fprintf(stderr, "import: not in step (%s)\n", (*client)->link_trouble().c_str());
  const int status = report(**client);
  return all && settled ? status : 1;
}
