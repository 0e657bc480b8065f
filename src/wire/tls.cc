#include "wire/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"

namespace tidemark {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using ContextPtr = std::unique_ptr<SSL_CTX, Free>;
using SslPtr = std::unique_ptr<SSL, Free>;

/// What OpenSSL says about the latest failure on this thread; empties its queue.
std::string openssl_reason() {
  const unsigned long code = ERR_peek_error();
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  std::string text = reason ? reason : code && ERR_SYSTEM_ERROR(code) ? std::strerror(ERR_GET_REASON(code)) : "";
  ERR_clear_error();
  return text.empty() ? "unknown reason" : text;
}

std::unexpected<Error> file_failure(std::string_view setting, const std::string& path, std::string_view advice) {
  return fail(ErrorCode::MALFORMED, std::string(setting),
              "cannot use the file '" + path + "' (" + openssl_reason() + "); " + std::string(advice));
}

/// Without this OpenSSL would ask on the terminal.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

/// What is chosen points into it, and is sent after the callback has returned.
constexpr unsigned char kHttp11[] = "\x08http/1.1";

int choose_http_1_1(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
                    void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kHttp11, sizeof(kHttp11) - 1, in, in_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

ContextPtr new_context(const SSL_METHOD* method) {
  ERR_clear_error();
  ContextPtr context(SSL_CTX_new(method));
  TM_CHECK(context, "OpenSSL has no memory");
  SSL_CTX* const c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  // Only ciphers with forward secrecy and authenticated encryption; TLS 1.3 has no others.
  TM_CHECK(SSL_CTX_set_cipher_list(c, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1, "OpenSSL lacks the usual ciphers");
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);  // sessions resume by tickets, which clients keep
  SSL_CTX_set_default_passwd_cb(c, no_passphrase);
  return context;
}

Result<ContextPtr> load_server(const TlsServerFiles& files) {
  ContextPtr context = new_context(TLS_server_method());
  SSL_CTX* const c = context.get();
  if (SSL_CTX_use_certificate_chain_file(c, files.certificate.c_str()) != 1)
    return file_failure("tls.certificate", files.certificate,
                        "give a PEM file that holds the server's certificate, then the chain above it");
  if (SSL_CTX_use_PrivateKey_file(c, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
      return file_failure("tls.key", files.key, "it is not the key of the certificate in tls.certificate");
    return file_failure("tls.key", files.key, "give a PEM file that holds the private key, not encrypted");
  }
  if (SSL_CTX_check_private_key(c) != 1)
    return file_failure("tls.key", files.key, "it is not the key of the certificate in tls.certificate");
  SSL_CTX_set_alpn_select_cb(c, choose_http_1_1, nullptr);
  return context;
}

Result<ContextPtr> load_client(const TlsClientOptions& options) {
  ContextPtr context = new_context(TLS_client_method());
  SSL_CTX* const c = context.get();
  TM_CHECK(SSL_CTX_set_alpn_protos(c, kHttp11, sizeof(kHttp11) - 1) == 0, "the list of protocols is well formed");
  if (options.verify == TlsClientOptions::Verify::off) return context;
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(c);
  } else if (SSL_CTX_load_verify_locations(c, options.ca_file.c_str(), nullptr) != 1) {
    return file_failure("tls.ca_file", options.ca_file, "give a PEM file that holds the certificates to trust");
  }
  return context;
}

}  // namespace

struct TlsContext::Impl {
  bool is_server = false;
  TlsServerFiles files = {};
  TlsClientOptions options = {};
  mutable std::mutex mutex = {};
  ContextPtr context = {};  // guarded by mutex

  Result<ContextPtr> load() const { return is_server ? load_server(files) : load_client(options); }
  SslPtr new_ssl() const {
    const std::lock_guard lock(mutex);
    SslPtr ssl(SSL_new(context.get()));
    TM_CHECK(ssl, "OpenSSL has no memory");
    return ssl;
  }
};

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::server(TlsServerFiles files) {
  auto impl = std::make_unique<Impl>();
  impl->is_server = true;
  impl->files = std::move(files);
  std::unique_ptr<TlsContext> context(new TlsContext(std::move(impl)));
  TM_TRY(context->reload());
  return context;
}

Result<std::unique_ptr<TlsContext>> TlsContext::client(TlsClientOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  std::unique_ptr<TlsContext> context(new TlsContext(std::move(impl)));
  TM_TRY(context->reload());
  return context;
}

Result<void> TlsContext::reload() {
  TM_ASSIGN(ContextPtr fresh, impl_->load());
  const std::lock_guard lock(impl_->mutex);
  impl_->context.swap(fresh);
  return {};
}

namespace {

/// What OpenSSL reads and writes during one call. Unlike its memory BIOs this keeps nothing while idle and copies once
/// less.
struct Window {
  std::string_view in = {};
  std::string* out = nullptr;
};

int window_read(BIO* bio, char* to, int size) {
  auto* window = static_cast<Window*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const std::size_t taken = std::min(window->in.size(), static_cast<std::size_t>(std::max(size, 0)));
  if (taken == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(to, window->in.data(), taken);
  window->in.remove_prefix(taken);
  return static_cast<int>(taken);
}

int window_write(BIO* bio, const char* from, int size) {
  auto* window = static_cast<Window*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  TM_CHECK(window->out && size >= 0, "OpenSSL writes outside a call");
  window->out->append(from, static_cast<std::size_t>(size));
  return size;
}

long window_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* new_bio(Window& window) {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "window");
    TM_CHECK(m, "OpenSSL has no memory");
    BIO_meth_set_read(m, window_read);
    BIO_meth_set_write(m, window_write);
    BIO_meth_set_ctrl(m, window_control);
    return m;
  }();
  BIO* bio = BIO_new(method);
  TM_CHECK(bio, "OpenSSL has no memory");
  BIO_set_data(bio, &window);
  BIO_set_init(bio, 1);
  return bio;
}

/// Tells OpenSSL which host is meant; false when this cannot be the name of one.
bool set_host(SSL* ssl, const std::string& host) {
  if (host.empty() || host.find('\0') != std::string::npos) return false;
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) == 1) return true;  // addresses are not told to the server
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(param, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

struct TlsFilter::Impl {
  explicit Impl(SslPtr s) : ssl(std::move(s)) {
    BIO* bio = new_bio(window);
    SSL_set_bio(ssl.get(), bio, bio);
  }

  Window window;
  SslPtr ssl;
  std::optional<Error> error;  // final
  bool handshake_done = false;
  bool closed = false;
  bool peer_closed = false;

  Result<void> handshake();
  Result<void> read_all(std::string& plain_out);
  Result<void> broken();
};

/// Makes the failure of the latest OpenSSL call final.
Result<void> TlsFilter::Impl::broken() {
  const long verdict = SSL_get_verify_result(ssl.get());
  error = Error{ErrorCode::MALFORMED, "tls", openssl_reason()};
  if (!SSL_is_server(ssl.get()) && verdict != X509_V_OK && !handshake_done)
    error = Error{ErrorCode::MALFORMED, std::string(kCertificateField),
                  std::string("the server's certificate is refused: ") + X509_verify_cert_error_string(verdict)};
  return std::unexpected(*error);
}

Result<void> TlsFilter::Impl::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl.get());
  if (result == 1) {
    handshake_done = true;
    return {};
  }
  return SSL_get_error(ssl.get(), result) == SSL_ERROR_WANT_READ ? Result<void>{} : broken();
}

Result<void> TlsFilter::Impl::read_all(std::string& plain_out) {
  char record[SSL3_RT_MAX_PLAIN_LENGTH];
  while (!peer_closed) {
    ERR_clear_error();
    const int size = SSL_read(ssl.get(), record, sizeof(record));
    if (size > 0) {
      plain_out.append(record, static_cast<std::size_t>(size));
      continue;
    }
    const int reason = SSL_get_error(ssl.get(), size);
    if (reason == SSL_ERROR_WANT_READ) return {};
    if (reason != SSL_ERROR_ZERO_RETURN) return broken();
    peer_closed = true;
  }
  return {};
}

TlsFilter::TlsFilter(const TlsContext& context) : impl_(std::make_unique<Impl>(context.impl_->new_ssl())) {
  TM_CHECK(context.impl_->is_server, "a client must name its host");
  SSL_set_accept_state(impl_->ssl.get());
}

TlsFilter::TlsFilter(const TlsContext& context, const std::string& host)
    : impl_(std::make_unique<Impl>(context.impl_->new_ssl())) {
  TM_CHECK(!context.impl_->is_server, "a server has no host to check");
  SSL_set_connect_state(impl_->ssl.get());
  if (!set_host(impl_->ssl.get(), host))
    impl_->error = Error{ErrorCode::MALFORMED, "tls", "'" + host + "' is not the name of a host"};
  ERR_clear_error();
}

TlsFilter::~TlsFilter() = default;
TlsFilter::TlsFilter(TlsFilter&&) noexcept = default;
TlsFilter& TlsFilter::operator=(TlsFilter&&) noexcept = default;

Result<void> TlsFilter::start(std::string& cipher_out) {
  if (impl_->error) return std::unexpected(*impl_->error);
  if (SSL_is_server(impl_->ssl.get())) return {};
  impl_->window = {{}, &cipher_out};
  auto result = impl_->handshake();
  impl_->window = {};
  return result;
}

Result<void> TlsFilter::feed(std::string_view cipher_in, std::string& plain_out, std::string& cipher_out) {
  if (impl_->error) return std::unexpected(*impl_->error);
  impl_->window = {cipher_in, &cipher_out};
  Result<void> result;
  if (!impl_->handshake_done) result = impl_->handshake();
  if (result && impl_->handshake_done) result = impl_->read_all(plain_out);
  impl_->window = {};
  return result;
}

Result<void> TlsFilter::encrypt(std::string_view plain, std::string& cipher_out) {
  if (impl_->error) return std::unexpected(*impl_->error);
  if (!impl_->handshake_done || impl_->closed) return fail(ErrorCode::INTERNAL, "tls", "the session is not open");
  if (plain.empty()) return {};
  impl_->window = {{}, &cipher_out};
  ERR_clear_error();
  std::size_t written = 0;
  Result<void> result;
  if (SSL_write_ex(impl_->ssl.get(), plain.data(), plain.size(), &written) != 1) result = impl_->broken();
  impl_->window = {};
  return result;
}

void TlsFilter::close(std::string& cipher_out) {
  if (impl_->error || !impl_->handshake_done || impl_->closed) return;
  impl_->closed = true;
  impl_->window = {{}, &cipher_out};
  SSL_shutdown(impl_->ssl.get());
  ERR_clear_error();
  impl_->window = {};
}

bool TlsFilter::handshake_done() const {
  return impl_->handshake_done;
}
bool TlsFilter::peer_closed() const {
  return impl_->peer_closed;
}
std::string TlsFilter::version() const {
  return impl_->handshake_done ? SSL_get_version(impl_->ssl.get()) : "";
}

}  // namespace tidemark
