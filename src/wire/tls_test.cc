#include "wire/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tidemark {
namespace {

using testing::HasSubstr;
using Verify = TlsClientOptions::Verify;

/// A directory with a self-signed certificate for localhost and 127.0.0.1, gone at the end.
class TlsFiles {
 public:
  TlsFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tidemark_tls_XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    make("");
    make("other_");
  }
  ~TlsFiles() { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
    return path(name);
  }
  TlsServerFiles server() const { return {path("cert.pem"), path("key.pem")}; }

 private:
  void make(const std::string& prefix) const {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* cert = X509_new();
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME* name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(cert, key, EVP_sha256());
    FILE* file = std::fopen(path(prefix + "cert.pem").c_str(), "w");
    PEM_write_X509(file, cert);
    std::fclose(file);
    file = std::fopen(path(prefix + "key.pem").c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    file = std::fopen(path(prefix + "locked.pem").c_str(), "w");
    char passphrase[] = "secret";
    PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), nullptr, 0, nullptr, passphrase);
    std::fclose(file);
    X509_free(cert);
    EVP_PKEY_free(key);
  }
  std::filesystem::path directory_;
};

const TlsFiles& files() {
  static const TlsFiles all;
  return all;
}

std::unique_ptr<TlsContext> server_context() {
  auto context = TlsContext::server(files().server());
  EXPECT_TRUE(context) << context.error().message();
  return std::move(*context);
}
std::unique_ptr<TlsContext> client_context(const std::string& ca = "cert.pem", Verify verify = Verify::on) {
  auto context = TlsContext::client({.ca_file = files().path(ca), .verify = verify});
  EXPECT_TRUE(context) << context.error().message();
  return std::move(*context);
}

/// One side of a connection in memory.
struct Side {
  TlsFilter filter;
  std::string to_peer = {};
  std::string received = {};
  Result<void> result = {};

  /// Hands over everything that is on its way to the peer, in chunks of these sizes in turn.
  void deliver(Side& peer, const std::vector<std::size_t>& sizes) {
    const std::string bytes = std::exchange(to_peer, {});
    std::size_t turn = 0;
    for (std::size_t at = 0; at < bytes.size() && peer.result;) {
      const std::size_t size = sizes[turn++ % sizes.size()];
      peer.result = peer.filter.feed(std::string_view(bytes).substr(at, size), peer.received, peer.to_peer);
      at += size;
    }
  }
};

struct Pair {
  Side client;
  Side server;
  std::vector<std::size_t> sizes = {1 << 20};

  Pair(const TlsContext& c, const TlsContext& s, const std::string& host = "localhost",
       std::vector<std::size_t> cut = {1 << 20})
      : client{TlsFilter(c, host)}, server{TlsFilter(s)}, sizes(std::move(cut)) {
    client.result = client.filter.start(client.to_peer);
    EXPECT_TRUE(server.filter.start(server.to_peer));
    EXPECT_EQ(server.to_peer, "");
    exchange();
  }
  void exchange() {
    while (!client.to_peer.empty() || !server.to_peer.empty()) {
      client.deliver(server, sizes);
      server.deliver(client, sizes);
    }
  }
  bool open() const { return client.filter.handshake_done() && server.filter.handshake_done(); }
};

TEST(TlsFilter, ClientAndServerTalkBothWays) {
  const auto c = client_context(), s = server_context();
  Pair pair(*c, *s);
  ASSERT_TRUE(pair.open()) << pair.client.result.error().message();
  EXPECT_EQ(pair.client.filter.version(), "TLSv1.3");
  ASSERT_TRUE(pair.client.filter.encrypt("hello server", pair.client.to_peer));
  ASSERT_TRUE(pair.server.filter.encrypt("hello client", pair.server.to_peer));
  EXPECT_THAT(pair.client.to_peer, testing::Not(HasSubstr("hello")));
  pair.exchange();
  EXPECT_EQ(pair.server.received, "hello server");
  EXPECT_EQ(pair.client.received, "hello client");
}

RC_GTEST_PROP(TlsFilterProperty, AnyCutOfTheBytesCarriesTheSameData, ()) {
  static const auto c = client_context(), s = server_context();
  const auto sizes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::size_t>>(rc::gen::element<std::size_t>(1, 2, 5, 6, 100, 1500, 20000)));
  Pair pair(*c, *s, "localhost", sizes);
  RC_ASSERT(pair.open());
  std::string sent;
  for (std::size_t size :
       *rc::gen::container<std::vector<std::size_t>>(rc::gen::element<std::size_t>(0, 1, 300, 16384, 50000))) {
    const std::string part(size, static_cast<char>('a' + sent.size() % 26));
    RC_ASSERT(pair.server.filter.encrypt(part, pair.server.to_peer).has_value());
    sent += part;
  }
  pair.exchange();
  RC_ASSERT(pair.client.received == sent);
}

TEST(TlsFilter, CloseIsToldToThePeerOnceAndTheOtherDirectionStaysOpen) {
  const auto c = client_context(), s = server_context();
  Pair pair(*c, *s);
  EXPECT_FALSE(pair.server.filter.peer_closed());
  ASSERT_TRUE(pair.client.filter.encrypt("last words", pair.client.to_peer));
  pair.client.filter.close(pair.client.to_peer);
  const std::size_t size = pair.client.to_peer.size();
  pair.client.filter.close(pair.client.to_peer);
  EXPECT_EQ(pair.client.to_peer.size(), size);
  pair.exchange();
  EXPECT_TRUE(pair.server.result);
  EXPECT_TRUE(pair.server.filter.peer_closed());
  EXPECT_EQ(pair.server.received, "last words");
  ASSERT_TRUE(pair.server.filter.encrypt("answer", pair.server.to_peer));
  pair.server.filter.close(pair.server.to_peer);
  pair.exchange();
  EXPECT_EQ(pair.client.received, "answer");
  EXPECT_TRUE(pair.client.filter.peer_closed());
}

TEST(TlsFilter, CloseBeforeTheHandshakeSaysNothing) {
  const auto s = server_context();
  TlsFilter filter(*s);
  std::string out;
  filter.close(out);
  EXPECT_EQ(out, "");
}

TEST(TlsFilter, NothingIsEncryptedOutsideAnOpenSession) {
  const auto c = client_context(), s = server_context();
  TlsFilter early(*s);
  std::string out;
  EXPECT_FALSE(early.encrypt("too early", out));
  Pair pair(*c, *s);
  pair.server.filter.close(out);
  out.clear();
  EXPECT_FALSE(pair.server.filter.encrypt("too late", out));
  EXPECT_EQ(out, "");
}

TEST(TlsFilter, ClientChecksNameAddressAndIssuer) {
  const auto s = server_context();
  const auto c = client_context();
  EXPECT_TRUE(Pair(*c, *s, "localhost").open());
  EXPECT_TRUE(Pair(*c, *s, "127.0.0.1").open());
  const auto refused = [&s](const TlsContext& client, const std::string& host) {
    Pair pair(client, *s, host);
    EXPECT_FALSE(pair.client.filter.handshake_done());
    EXPECT_FALSE(pair.server.result) << "the alert reached the server";
    return pair.client.result ? "accepted" : pair.client.result.error().detail;
  };
  EXPECT_THAT(refused(*c, "example.org"), HasSubstr("hostname mismatch"));
  EXPECT_THAT(refused(*c, "127.0.0.2"), HasSubstr("IP address mismatch"));
  EXPECT_THAT(refused(*client_context("other_cert.pem"), "localhost"), HasSubstr("certificate is refused"));
  EXPECT_TRUE(Pair(*client_context("other_cert.pem", Verify::off), *s, "example.org").open());
}

TEST(TlsFilter, AHostThatIsNoneIsRefusedBeforeAnythingIsSent) {
  const auto c = client_context();
  for (const std::string& host : {std::string(), std::string("a\0b", 3), std::string(300, 'x')}) {
    TlsFilter filter(*c, host);
    std::string out;
    EXPECT_FALSE(filter.start(out));
    EXPECT_EQ(out, "");
  }
}

TEST(TlsFilter, BytesThatAreNotTlsAreAnErrorForEver) {
  const auto s = server_context();
  TlsFilter filter(*s);
  std::string plain, out;
  const auto first = filter.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n", plain, out);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::MALFORMED);
  EXPECT_EQ(first.error().field, "tls");
  EXPECT_EQ(filter.feed("more", plain, out), first);
  EXPECT_EQ(plain, "");
}

RC_GTEST_PROP(TlsFilterProperty, AFlippedBitInARecordIsNoticed, ()) {
  static const auto c = client_context(), s = server_context();
  Pair pair(*c, *s);
  RC_ASSERT(pair.client.filter.encrypt("pay 10", pair.client.to_peer).has_value());
  const auto at = *rc::gen::inRange<std::size_t>(5, pair.client.to_peer.size());
  pair.client.to_peer[at] = static_cast<char>(pair.client.to_peer[at] ^ 1 << *rc::gen::inRange(0, 7));
  pair.client.deliver(pair.server, {1 << 20});
  RC_ASSERT(!pair.server.result);
  RC_ASSERT(pair.server.received.empty());
  RC_ASSERT(!pair.server.to_peer.empty());  // the alert
}

TEST(TlsFilter, RandomBytesNeverCrash) {
  const auto s = server_context();
  rc::check([&s](const std::string& bytes) {
    TlsFilter filter(*s);
    std::string plain, out;
    (void)filter.feed(bytes, plain, out);
    (void)filter.feed("\x16\x03\x01" + bytes, plain, out);
    RC_ASSERT(plain.empty());
  });
}

std::string server_error(const TlsServerFiles& given) {
  const auto context = TlsContext::server(given);
  return context ? "loaded" : context.error().field + ": " + context.error().detail;
}

TEST(TlsContext, ErrorsNameTheSettingAndSayWhatToDo) {
  const TlsServerFiles good = files().server();
  EXPECT_EQ(server_error(good), "loaded");
  const std::string missing = server_error({files().path("none.pem"), good.key});
  EXPECT_THAT(missing, testing::StartsWith("tls.certificate: "));
  EXPECT_THAT(missing, HasSubstr("none.pem' (No such file or directory)"));
  EXPECT_THAT(server_error({good.certificate, files().path("none.pem")}), testing::StartsWith("tls.key: "));
  EXPECT_THAT(server_error({files().write("text.pem", "no PEM"), good.key}), testing::StartsWith("tls.certificate: "));
  EXPECT_THAT(server_error({good.certificate, files().path("other_key.pem")}),
              testing::AllOf(testing::StartsWith("tls.key: "), HasSubstr("not the key of the certificate")));
  EXPECT_THAT(server_error({good.certificate, files().path("locked.pem")}),
              testing::AllOf(testing::StartsWith("tls.key: "), HasSubstr("not encrypted")));
  const auto client = TlsContext::client({.ca_file = files().path("none.pem")});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().field, "tls.ca_file");
}

TEST(TlsContext, ReloadServesTheNewCertificateAndKeepsOldConnections) {
  const auto copy = [](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(files().path(from), files().path(to), std::filesystem::copy_options::overwrite_existing);
  };
  copy("cert.pem", "live_cert.pem");
  copy("key.pem", "live_key.pem");
  auto live = TlsContext::server({files().path("live_cert.pem"), files().path("live_key.pem")});
  ASSERT_TRUE(live);
  const auto c = client_context(), other = client_context("other_cert.pem");
  Pair before(*c, **live);
  ASSERT_TRUE(before.open());

  copy("other_cert.pem", "live_cert.pem");
  EXPECT_FALSE((*live)->reload()) << "the key does not fit yet";
  EXPECT_TRUE(Pair(*c, **live).open()) << "the old files stay in use";
  copy("other_key.pem", "live_key.pem");
  ASSERT_TRUE((*live)->reload());
  EXPECT_TRUE(Pair(*other, **live).open());
  EXPECT_FALSE(Pair(*c, **live).open());
  ASSERT_TRUE(before.client.filter.encrypt("still here", before.client.to_peer));
  before.exchange();
  EXPECT_EQ(before.server.received, "still here");
}

}  // namespace
}  // namespace tidemark
