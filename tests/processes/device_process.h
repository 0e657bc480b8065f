// A device as a process: started, told what its user does, paused, killed, started again on the same store.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/ids.h"
#include "processes/device_log.h"
#include "wire/dialect.h"

namespace tidemark::testing {

struct DeviceSpec {
  UserId user;
  DeviceId device;
  std::string token;
  int port = 0;           // of the proxy
  std::string directory;  // of its store, its log and what it says on stderr
  Dialect dialect = Dialect::binary;
  std::uint32_t recent = 20;
  std::uint32_t page_limit = 50;

  std::string shown() const { return user.value + "/" + device.value; }
  std::string path(const char* ending) const { return directory + "/" + user.value + "-" + device.value + ending; }
};

/// Used by one thread.
class DeviceProcess {
 public:
  explicit DeviceProcess(DeviceSpec spec);
  /// kill -9.
  ~DeviceProcess();
  DeviceProcess(const DeviceProcess&) = delete;
  DeviceProcess& operator=(const DeviceProcess&) = delete;

  void start();
  bool up() const { return pid_ > 0; }
  void kill_hard();
  /// Asks it to end; whether it did so by itself and well.
  bool stop();
  /// Whether it ended though nobody asked it to; its streams say why.
  bool ended_by_itself();
  void pause();
  void go_on();
  bool paused() const { return paused_; }
  /// A line for its stdin; nothing happens while it is down or takes nothing.
  void tell(const std::string& command);
  /// What it has written since the last call.
  std::vector<LogLine> new_lines() { return log_.read_on(); }

  const DeviceSpec& spec() const { return spec_; }
  std::string shown() const { return spec_.shown(); }
  std::string store_path() const { return spec_.path(".db"); }

 private:
  void close_input();

  const DeviceSpec spec_;
  DeviceLog log_;
  pid_t pid_ = -1;
  int input_ = -1;
  bool paused_ = false;
};

}  // namespace tidemark::testing
