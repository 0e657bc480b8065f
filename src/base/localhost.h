// This machine's own name.
#pragma once

#include <string_view>

namespace tidemark {

inline constexpr const char* kLoopback = "127.0.0.1";

/// "localhost" is this machine also where no hosts file says so, and no name server is asked (RFC 6761, section 6.3):
/// where looking it up fails it is kLoopback.
inline bool is_localhost(std::string_view host) {
  return host == "localhost";
}

}  // namespace tidemark
