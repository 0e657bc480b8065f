#include "base/localhost.h"

namespace tidemark {

std::expected<Addresses, std::string> look_up(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int status = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (status != 0 && is_localhost(host)) status = ::getaddrinfo(kLoopback, port.c_str(), &hints, &found);
  if (status != 0) return std::unexpected(std::string(::gai_strerror(status)));
  return Addresses(found, ::freeaddrinfo);
}

}  // namespace tidemark
