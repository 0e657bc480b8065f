// The devices of a demonstration: real clients, what they show, and whether it is what they should.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/tidemark/demo_server.h"
#include "client/client.h"
#include "client/terminal/text_table.h"

namespace tidemark {

/// A device that can be switched off and on; what it holds stays.
class DemoDevice {
 public:
  DemoDevice(const DemoServer& server, std::string user, std::string device);

  const std::string& user() const { return user_; }
  const std::string& device() const { return device_; }
  /// "Ann's phone".
  std::string name() const;

  Result<void> switch_on();
  void switch_off();
  bool is_on() const { return client_ != nullptr; }
  /// REQUIRES is_on().
  Client& client() const { return *client_; }

  /// What it shows now, or showed when it was switched off.
  struct Shown {
    std::string line;           // "online" ...
    std::string conversations;  // with unread numbers, newest first
    std::string last;           // the last message of the newest conversation, and what waits there
    bool operator==(const Shown&) const = default;
  };
  Shown shown() const;
  /// The texts of a conversation as far as they are held, oldest first.
  std::vector<std::string> texts(const ConversationId& conversation) const;
  std::string unread(const ConversationId& conversation) const;
  /// How many messages wait to be sent.
  std::size_t waiting() const;
  /// Fetches history until its beginning; whether it came to that in time.
  bool read_to_the_beginning(const ConversationId& conversation) const;

 private:
  const DemoServer& server_;
  std::string user_;
  std::string device_;
  std::shared_ptr<ReplicaStore> store_;
  std::unique_ptr<Client> client_;
  Shown last_shown_;
};

/// All devices, with the table of what they show.
class DemoDevices {
 public:
  DemoDevice& add(const DemoServer& server, const std::string& user, const std::string& device);
  DemoDevice& at(const std::string& user, const std::string& device);
  std::vector<DemoDevice*> of(const std::string& user) const;
  const std::vector<std::unique_ptr<DemoDevice>>& all() const { return devices_; }

  /// The table; what differs from the call before is bold and coloured.
  std::string table(terminal::Paint paint, int width);

 private:
  std::vector<std::unique_ptr<DemoDevice>> devices_;
  std::map<std::string, DemoDevice::Shown> before_;
};

/// Waits until `holds` (30 s at most); whether it came to that.
bool comes_true(const std::function<bool()>& holds);

}  // namespace tidemark
