// Looking up hosts, this machine's own name among them.
#pragma once

#include <netdb.h>

#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace tidemark {

inline constexpr const char* kLoopback = "127.0.0.1";

/// "localhost" is this machine also where no hosts file says so, and no name server is asked (RFC 6761, section 6.3):
/// where looking it up fails it is kLoopback.
inline bool is_localhost(std::string_view host) {
  return host == "localhost";
}

/// A list of addresses for stream sockets.
using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;
/// Blocks while name servers are asked; at least one address, or getaddrinfo's sentence. Thread-safe.
std::expected<Addresses, std::string> look_up(const std::string& host, const std::string& port);

}  // namespace tidemark
