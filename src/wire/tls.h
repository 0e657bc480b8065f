// TLS 1.2 and 1.3 without I/O, over OpenSSL: cipher bytes in, plain bytes out, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// PEM files of a server, as named by the settings tls.certificate and tls.key.
struct TlsServerFiles {
  std::string certificate;  // the server's own certificate first, then those that lead to the root
  std::string key;          // not encrypted
};

struct TlsClientOptions {
  /// Whether the server must prove its name. Without it anybody in between can read and change everything.
  enum class Verify : std::uint8_t { on, off };
  std::string ca_file = {};  // PEM; "" for the system's certificates
  Verify verify = Verify::on;
};

/// Certificates and keys, loaded once and shared by many filters. Thread-safe.
class TlsContext {
 public:
  /// Errors are MALFORMED with the field "tls.certificate" or "tls.key" and say what to do.
  static Result<std::unique_ptr<TlsContext>> server(TlsServerFiles files);
  /// Errors are MALFORMED with the field "tls.ca_file".
  static Result<std::unique_ptr<TlsContext>> client(TlsClientOptions options = {});
  ~TlsContext();

  /// Reads the files anew. New filters use the new ones, old filters keep theirs; on an error nothing changes.
  Result<void> reload();

 private:
  friend class TlsFilter;
  struct Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The field of the error of a client that refuses a certificate.
inline constexpr std::string_view kCertificateField = "tls.certificate";

/// One side of one connection. Not thread-safe. Output is always appended. Holds no bytes between the calls but those
/// of a record that has not fully arrived.
class TlsFilter {
 public:
  /// For a server's context.
  explicit TlsFilter(const TlsContext& context);
  /// For a client's context: the host (a name or an address, without port) is told to the server and checked against
  /// its certificate.
  TlsFilter(const TlsContext& context, const std::string& host);
  ~TlsFilter();
  TlsFilter(TlsFilter&&) noexcept;
  TlsFilter& operator=(TlsFilter&&) noexcept;

  /// Begins the handshake: a client's first bytes; nothing for a server. Call it once, before feed.
  Result<void> start(std::string& cipher_out);

  /// Takes everything the peer sent. `cipher_out` is to be sent even after an error, for it may hold the alert that
  /// tells the peer. An error (MALFORMED; field "tls", or kCertificateField when a client
  /// refuses the server's certificate) is final: send what there is, then close.
  Result<void> feed(std::string_view cipher_in, std::string& plain_out, std::string& cipher_out);

  /// INTERNAL before the handshake is done and after close(); nothing is sent then, and the filter stays as it is.
  Result<void> encrypt(std::string_view plain, std::string& cipher_out);

  /// Says that nothing more will be sent. Harmless before the handshake is done, after an error, or when repeated.
  void close(std::string& cipher_out);

  bool handshake_done() const;
  /// The peer said that it sends nothing more. An end of the stream without this may have been forged.
  bool peer_closed() const;
  /// "TLSv1.2" or "TLSv1.3", "" before the handshake is done.
  std::string version() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark
