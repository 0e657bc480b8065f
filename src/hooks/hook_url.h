// The address of a hook: "https://app.example.org/tidemark?x=1".
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

struct HookUrl {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string target;  // path and query
  /// As in the Host field.
  std::string authority() const;
};

/// MALFORMED with the setting as its field, and a sentence that shows how an address looks.
Result<HookUrl> parse_hook_url(std::string_view text, std::string_view setting);

}  // namespace tidemark
