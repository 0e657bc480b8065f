// The opaque strings that HTTP hands out: sync cursors and page tokens. Each is bound to its kind, user and device by
// a MAC under the server's own key, so that nobody can make one up or use another's.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"

namespace tidemark {

enum class PageKind : char {
  sync = 's',
  history = 'h',
  conversations = 'c',
  bodies = 'b',
  members = 'm',
  reactions = 'r',
  dead_events = 'e',
  drafts = 'd'
};

class PageTokens {
 public:
  /// A secret of 16 to 64 bytes, the same at every start.
  explicit PageTokens(std::string key) : key_(std::move(key)) {}

  std::string seal(PageKind kind, const UserId& user, const DeviceId& device, std::string_view content) const;
  /// What was sealed. BAD_TOKEN with `field` when this is not a token that was given to this user on this device.
  Result<std::string> open(PageKind kind, const UserId& user, const DeviceId& device, std::string_view token,
                           std::string_view field) const;

 private:
  std::string key_;
};

}  // namespace tidemark
