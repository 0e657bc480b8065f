// A TCP connection to a server on this machine, with or without TLS. Everything that waits has a deadline; what goes
// wrong is a std::runtime_error, which fails the test that it leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/tls.h"

namespace tidemark::testing {

/// How long a test waits for what must come. TIDEMARK_TEST_PATIENCE multiplies it, for slow builds.
std::int64_t patience_ms();

/// Milliseconds by the monotonic clock.
std::int64_t steady_ms();
/// Milliseconds since 1970-01-01 UTC.
std::int64_t wall_ms();
void sleep_ms(std::int64_t time_ms);

struct TcpOptions {
  int receive_buffer_bytes = 0;     // 0: the system's; small ones make a client that stops reading felt sooner
  const TlsContext* tls = nullptr;  // for a TLS server
  std::string tls_name = "localhost";
};

class TcpStream {
 public:
  explicit TcpStream(int port, const TcpOptions& options = {});
  ~TcpStream();
  TcpStream(TcpStream&&) noexcept;
  TcpStream& operator=(TcpStream&&) noexcept;

  void write(std::string_view bytes);
  /// As much as the peer takes at once; the rest of the bytes is not sent. False when the connection is gone.
  bool write_some(std::string_view& bytes);
  /// Waits for bytes and appends them. False: none came within the time, or the peer has closed (see closed()).
  bool read(std::string& out, std::int64_t timeout_ms);
  /// The peer closed or reset the connection.
  bool closed() const { return closed_; }
  /// Reads and drops everything until the peer closes; whether it did.
  bool wait_closed(std::int64_t timeout_ms);
  /// Says that nothing more will be written, and goes on reading. Plain connections alone.
  void end_writing();
  /// Ends the connection at once with a reset, as a cut line looks from the server.
  void abort();

 private:
  bool wait_for(short events, std::int64_t deadline_ms) const;
  void write_plain(std::string_view bytes);

  int fd_ = -1;
  bool closed_ = false;
  std::unique_ptr<TlsFilter> tls_;
};

}  // namespace tidemark::testing
