// The program as its operator sees it: starting, stopping, refusing to start, TLS, and what it tells about itself.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Program : public OwnServer {
 protected:
  static Finished start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {tidemark_program(), "serve"});
    return run_program(arguments);
  }
};
INSTANTIATE_TEST_SUITE_P(Program, Program, ::testing::Values(Dialect::binary), dialect_name);

TEST_P(Program, StopsCleanlyAndFindsEverythingAgain) {
  serve();
  WsClient a = device("a");
  WsClient b = device("b");
  HttpClient idle = http();
  ASSERT_EQ(idle.get("/readyz", "").status, 200);
  send_all(a, user("b"), numbered("m", 30));
  b.read(chat("a", "b"), 12);
  const pb::Change before = b.conversation(chat("a", "b"));
  const std::vector<pb::Message> rows = whole_history(b, chat("a", "b"));
  // Sends that are under way are answered or not; they are never half there.
  std::vector<std::uint64_t> posted;
  for (int i = 0; i < 50; ++i) posted.push_back(a.post(send_frame(user("b"), "late", new_id())));
  EXPECT_EQ(server().stop(), 0) << server().log();
  EXPECT_TRUE(a.wait_closed());
  EXPECT_TRUE(b.wait_closed());
  ASSERT_FALSE(b.kicks.empty());
  EXPECT_EQ(b.kicks[0].code(), "SHUTDOWN");
  EXPECT_FALSE(b.kicks[0].terminal());
  EXPECT_TRUE(idle.stream().wait_closed(patience_ms()));
  std::size_t answered = 0;
  for (const std::uint64_t id : posted) answered += a.arrived(id) && a.arrived(id)->has_sent() ? 1 : 0;

  server().start();
  WsClient again = device("b");
  const std::vector<pb::Message> now = whole_history(again, chat("a", "b"));
  ASSERT_GE(now.size(), rows.size() + answered);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(now[i].SerializeAsString(), rows[i].SerializeAsString());
  EXPECT_EQ(again.conversation(chat("a", "b")).read_seq(), before.read_seq());
}

TEST_P(Program, TellsAboutItself) {
  serve();
  WsClient a = device("a");
  a.sent(user("b"), "counted");
  HttpClient http = this->http();
  EXPECT_EQ(http.get("/healthz", "").status, 200);
  EXPECT_EQ(http.get("/readyz", "").status, 200);
  const HttpResponse metrics = http.get("/metrics", "");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(std::string(metrics.headers.get("Content-Type").value_or("")), HasSubstr("text/plain"));
  EXPECT_THAT(metrics.body, HasSubstr("# TYPE tidemark_links gauge"));
  EXPECT_EQ(server().metric("tidemark_links"), 1);
  EXPECT_GE(server().metric("tidemark_rounds_total"), 1);
  EXPECT_EQ(server().metric("tidemark_writable"), 1);
  const HttpResponse openapi = http.get("/v1/openapi.json", "");
  EXPECT_EQ(openapi.status, 200);
  EXPECT_EQ(openapi.headers.get("Content-Type"), "application/json");
  for (const char* path : {"/v1/messages", "/v1/sync", "/v1/conversations/{conversation_id}/messages", "/v1/groups"})
    EXPECT_THAT(openapi.body, HasSubstr(path));
  // Secrets are the owner's alone, and no log has a token or a body.
  for (const char* name : {"/secret.key", "/admin.key"}) {
    struct stat file{};
    ASSERT_EQ(stat((server().data() + name).c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600U) << name;
  }
  EXPECT_THAT(server().log(), Not(HasSubstr("counted")));
  EXPECT_THAT(server().log(), Not(HasSubstr(token("a"))));
}

TEST_P(Program, TokensFromTheCommandLine) {
  serve();
  const Finished made = run_program({tidemark_program(), "token", user("a"), "--data", server().data()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, IsEmpty());
  ASSERT_THAT(made.out, ::testing::EndsWith("\n"));
  const std::string bearer = made.out.substr(0, made.out.size() - 1);
  EXPECT_THAT(bearer, Not(HasSubstr("\n"))) << "the token alone";
  HttpClient http = this->http();
  EXPECT_EQ(http.get("/v1/conversations", bearer).status, 200);
  const Finished admin = run_program({tidemark_program(), "token", "op", "--admin", "--data", server().data()});
  EXPECT_EQ(http.call("PUT", "/v1/admin/users/" + percent_encode(user("a")), admin.out.substr(0, admin.out.size() - 1),
                      R"({"level":"paid"})")
                .status,
            200);
  // Registering again says nothing of the level and leaves it.
  const HttpResponse again =
      http.call("PUT", "/v1/admin/users/" + percent_encode(user("a")), admin.out.substr(0, admin.out.size() - 1), "{}");
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.body, HasSubstr(R"("level":"paid")"));
}

TEST_P(Program, WhoeverHasSaidAllIsStillAnswered) {
  serve();
  for (const char* request :
       {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "POST /v1/messages HTTP/1.1\r\nHost: x\r\n"}) {
    TcpStream stream(server().port());
    std::string bytes = request;
    if (bytes.starts_with("POST")) {
      const std::string body = R"({"to":"bob","client_msg_id":"once","client_time":)" + std::to_string(wall_ms()) +
                               R"(,"body":{"text":"hi"}})";
      bytes += "Authorization: Bearer " + token("a") +
               "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
               body + "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n";
    }
    stream.write(bytes);
    stream.end_writing();
    std::string answer;
    while (stream.read(answer, patience_ms())) {
    }
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 20")) << answer;
    if (bytes.starts_with("POST")) {
      EXPECT_THAT(answer, HasSubstr(R"("ready")")) << "so is what was pipelined behind it";
    }
  }
}

TEST_P(Program, OneServerForOneDirectory) {
  serve();
  const Finished second = start({"--data", server().data(), "--listen", "127.0.0.1:0"});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_LT(second.exit_code, 128) << "no crash: " << second.err;
  EXPECT_THAT(second.err, HasSubstr(server().data()));
  WsClient a = device("a");
  EXPECT_TRUE(a.send(user("b"), "the first is unharmed").has_sent());
}

TEST_P(Program, PortTaken) {
  serve();
  const TempDirectory place;
  const std::string listen = "127.0.0.1:" + std::to_string(server().port());
  const Finished second = start({"--data", place.path() + "/data", "--listen", listen});
  EXPECT_EQ(second.exit_code, 1) << second.err;
  EXPECT_THAT(second.err, HasSubstr(listen));
  EXPECT_THAT(second.err, HasSubstr("--listen 127.0.0.1:" + std::to_string(server().port() + 1))) << "says what to do";
}

TEST_P(Program, BeyondThisMachineOnlyWithTls) {
  const TempDirectory place;
  const Finished refused = start({"--data", place.path() + "/data", "--listen", "0.0.0.0:0"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_LT(refused.exit_code, 128);
  EXPECT_THAT(refused.err, HasSubstr("TLS"));
  EXPECT_THAT(refused.err, HasSubstr("insecure"));
}

TEST_P(Program, WrongCallsAreExplained) {
  const TempDirectory place;
  const std::string data = place.path() + "/data";
  const std::vector<std::vector<std::string>> calls = {
      {"--data", data, "--listen", "nonsense"},
      {"--data", data, "--listen", "127.0.0.1:99999"},
      {"--data", data, "--set", "limits.page_maximum=3"},
      {"--data", data, "--set", "limits.page_max=lots"},
      {"--data", data, "--config", place.path() + "/missing.toml"},
      {"--data", "/proc/nowhere/data", "--listen", "127.0.0.1:0"},
  };
  for (const auto& call : calls) {
    const Finished refused = start(call);
    EXPECT_NE(refused.exit_code, 0) << ::testing::PrintToString(call);
    EXPECT_LT(refused.exit_code, 128) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("tidemark: ")) << ::testing::PrintToString(call);
  }
  const Finished near = start({"--data", data, "--set", "limits.page_maximum=3"});
  EXPECT_THAT(near.err, HasSubstr("page_max")) << "names the nearest one that exists";
}

// The environment may name the settings file; a flag that names another one wins.
TEST_P(Program, SettingsFileOfTheEnvironment) {
  const TempDirectory place;
  const std::string wrong = place.path() + "/wrong.toml";
  std::ofstream(wrong) << "[limits]\npage_maximum = 3\n";
  const std::string other = place.path() + "/other.toml";
  std::ofstream(other) << "[limits]\npage_most = 3\n";
  const std::vector<std::string> words = {"/usr/bin/env", "TIDEMARK_CONFIG=" + wrong, tidemark_program(), "serve",
                                          "--data",       place.path() + "/data"};
  const Finished refused = run_program(words);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(wrong + ":2: There is no setting"));
  std::vector<std::string> with_flag = words;
  with_flag.insert(with_flag.end(), {"--config", other});
  EXPECT_THAT(run_program(with_flag).err, HasSubstr(other + ":2: There is no setting"));
  EXPECT_THAT(run_program({"/usr/bin/env", "TIDEMARK_CONFIG=" + wrong, tidemark_program(), "history", "b", "--user",
                           "a", "--data", place.path() + "/data"})
                  .err,
              HasSubstr(wrong + ":2: There is no setting"));
}

/// A certificate for localhost and 127.0.0.1, signed by itself.
void make_certificate(const std::string& certificate_path, const std::string& key_path) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3'600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  for (const auto& [nid, text] : {std::pair(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1"),
                                  std::pair(NID_basic_constraints, "critical,CA:TRUE")}) {
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, nid, text), X509_EXTENSION_free);
    X509_add_ext(made.get(), extension.get(), -1);
  }
  ASSERT_NE(X509_sign(made.get(), key.get(), EVP_sha256()), 0);
  const std::unique_ptr<FILE, decltype(&fclose)> certificate(fopen(certificate_path.c_str(), "w"), fclose);
  PEM_write_X509(certificate.get(), made.get());
  const std::unique_ptr<FILE, decltype(&fclose)> secret(fopen(key_path.c_str(), "w"), fclose);
  PEM_write_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

class TlsProgram : public OwnServer {};
TM_IN_BOTH_DIALECTS(TlsProgram);

TEST_P(TlsProgram, ServesEverythingOverTls) {
  const TempDirectory place;
  const std::string certificate = place.path() + "/cert.pem";
  const std::string key = place.path() + "/key.pem";
  make_certificate(certificate, key);
  serve({.settings = {"tls.certificate=" + certificate, "tls.key=" + key}});
  const auto trusting = TlsContext::client({.ca_file = certificate}).value();
  const TcpOptions options{.tls = trusting.get()};

  HttpClient http(server().port(), options);
  EXPECT_EQ(http.get("/readyz", "").status, 200);
  const HttpResponse sent = http.post("/v1/messages", token("a"), send_json(user("b"), "in secret", new_id()));
  EXPECT_EQ(sent.status, 201) << sent.body;
  WsClient b(server().port(), GetParam(), options);
  b.login(token("b"));
  EXPECT_EQ(whole_history(b, chat("a", "b")).at(0).body().text(), "in secret");
  const std::string large(60'000, 'x');
  WsClient a(server().port(), GetParam(), options);
  a.login(token("a"));
  for (int i = 0; i < 10; ++i) a.sent(user("b"), large);
  EXPECT_EQ(whole_history(b, chat("a", "b")).back().body().text(), large);

  // Whoever does not trust the certificate gets no connection, and plain text gets no answer.
  const auto distrusting = TlsContext::client().value();
  EXPECT_THROW(HttpClient(server().port(), {.tls = distrusting.get()}), std::runtime_error);
  EXPECT_THROW(HttpClient(server().port(), {.tls = trusting.get(), .tls_name = "example.org"}), std::runtime_error);
  const auto run_sync = [&](const std::string& host, std::vector<std::string> words) {
    words.insert(words.begin(), {tidemark_program(), "sync", "--token", token("a"), "--url",
                                 "https://" + host + ":" + std::to_string(server().port())});
    return run_program(words);
  };
  EXPECT_EQ(run_sync("localhost", {"--ca", certificate}).exit_code, 0);
  const Finished refused = run_sync("localhost", {});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("BAD_CERTIFICATE"), HasSubstr("certificate is refused: self"),
                                 HasSubstr("--ca FILE"), Not(HasSubstr("no Tidemark server"))));
  HttpClient plain(server().port());
  plain.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  std::string answer;
  while (plain.stream().read(answer, patience_ms())) {
  }
  EXPECT_TRUE(plain.stream().closed());
  EXPECT_THAT(answer, Not(HasSubstr("HTTP/1.1")));
  EXPECT_TRUE(a.send(user("b"), "unharmed").has_sent());
}

}  // namespace
}  // namespace tidemark::testing
