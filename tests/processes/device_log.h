// What a device has written down: one line for each thing that it saw or did, "TIME WHAT WORD...", in order. Written by
// processes/device_main.cc, over all lives of the device.
//
//     start PID
//     took LOCAL TEXT                     send() returned this local id
//     refused TEXT CODE                   send() returned an error
//     outbox OUTCOME LOCAL CONVERSATION SEQ CLIENT_MSG_ID CODE
//     message CONVERSATION SEQ appeared|changed notify|quiet SENDER TEXT
//     conversation CONVERSATION listed|gone
//     unread CONVERSATION COUNT READ flagged|plain
//     change CONVERSATION SEQ recall|edit queued|done
//     change_refused CONVERSATION SEQ CODE
//     lost_rows CONVERSATION AFTER TO NOW a restore lost (AFTER, TO]; NOW is not 0: it is that message by now
//     lost                                events were dropped: does not happen here
//     history CONVERSATION end|more CODE
//     link STATE CODE KICK
//     state settled|busy LINK MARK OUTBOX LOADING   the answer to the command `state`
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tidemark::testing {

struct LogLine {
  std::string text;
  std::vector<std::string> words;  // without the time

  const std::string& what() const { return words.front(); }
  /// "" beyond the end.
  const std::string& word(std::size_t number) const;
  std::uint64_t number(std::size_t number) const;
};

LogLine parse_log_line(const std::string& text);

/// Reads a log that grows.
class DeviceLog {
 public:
  explicit DeviceLog(std::string path) : path_(std::move(path)) {}
  /// Whole lines that were written since the last call.
  std::vector<LogLine> read_on();

 private:
  std::string path_;
  std::ifstream in_;
  std::string rest_;  // a line whose end is not there yet
};

}  // namespace tidemark::testing
