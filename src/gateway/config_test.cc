#include "gateway/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "gateway/config_settings.h"
#include "gateway/jwt_testing.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using testing_keys::read_file;
using testing_keys::TempDir;

Result<Config> load_text(const std::string& text) {
  const TempDir dir;
  return load_config(dir.write("tidemark.toml", text), {}, {});
}
Result<Config> load_environment(const Environment& environment) {
  return load_config("", environment, {});
}
Result<Config> load_overrides(const std::vector<std::string>& overrides) {
  return load_config("", {}, overrides);
}

struct Refusal {
  ErrorCode code;
  std::string field;
  std::string detail;
};
Refusal refusal(const Result<Config>& result) {
  if (result) return {ErrorCode::INTERNAL, "", "accepted"};
  return {result.error().code, result.error().field, result.error().detail};
}

TEST(Config, WithoutFileEnvironmentAndFlagsEverythingIsAtItsDefault) {
  const auto config = load_config("", {{"PATH", "/bin"}}, {});
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(*config, Config{});
}

TEST(Config, LaterSourcesGoBeforeEarlierOnes) {
  const TempDir dir;
  const std::string path =
      dir.write("tidemark.toml",
                "users = \"registered\"\n[listen]\nport = 1\n[limits]\npage_max = 101\nsync_max = 201\n"
                "sync_default = 100\n[log]\nlevel = \"error\"\n");
  const auto config = load_config(path, {{"TIDEMARK_LISTEN_PORT", "2"}, {"TIDEMARK_LIMITS_PAGE_MAX", "102"}},
                                  {"listen.port=3", "auth.allow_local=true", "auth.issuer=a=b", "log.format=json"});
  ASSERT_TRUE(config) << config.error().detail;
  Config expected;
  expected.users = UsersPolicy::registered;
  expected.listen.port = 3;
  expected.limits.page_max = 102;
  expected.limits.sync_max = 201;
  expected.limits.sync_default = 100;
  expected.log = {LogLevel::error, LogFormat::json};
  expected.auth.allow_local = true;
  expected.auth.issuer = "a=b";
  EXPECT_EQ(*config, expected);
}

TEST(Config, UnknownSettingsAreRefusedWithTheirPlaceAndTheNearestName) {
  const struct {
    std::string text, field, detail;
  } cases[] = {
      {"\n[limits]\npage_mx = 3\n", "limits.page_mx", "tidemark.toml:3: .*\"limits.page_mx\".*mean limits.page_max\\?"},
      {"[limit]\npage_max = 3\n", "limit.page_max", ".*:2: .*mean limits.page_max\\?"},
      {"page_max = 3\n", "page_max", ".*:1: .*mean limits.page_max\\?"},
      {"prot = 3\n", "prot", ".*:1: There is no setting \"prot\".*"},
      {"[listen]\nprot = 3\n", "listen.prot", ".*mean listen.port\\?"},
      {"[listen.port]\nx = 3\n", "listen.port", ".*:1: .*"},
      {"[a.b]\nc = 3\n", "a.b", ".*There is no setting \"a.b\"\\."},
      {"[limits]\n\"x\\ny\" = 3\n", "limits.x\ny", ".*\"limits.x.ny\".*"},
  };
  for (const auto& one : cases) {
    const Refusal got = refusal(load_text(one.text));
    EXPECT_EQ(got.field, one.field) << one.text;
    EXPECT_THAT(got.detail, MatchesRegex("(.*/tidemark-[^/]*/)?" + one.detail)) << one.text;
    EXPECT_EQ(got.code, one.field == "listen.port" ? ErrorCode::MALFORMED : ErrorCode::UNKNOWN_FIELD) << one.text;
  }
}

TEST(Config, WrongTypesAndRangesSayWhatIsAllowed) {
  const struct {
    std::string text, field, detail;
    ErrorCode code;
  } cases[] = {
      {"[listen]\nport = \"7700\"\n", "listen.port",
       ":2: listen.port is of another type; it must be a number from 0 to 65535.", ErrorCode::MALFORMED},
      {"[listen]\nport = 1.5\n", "listen.port", "another type", ErrorCode::MALFORMED},
      {"[listen]\nport = [1]\n", "listen.port", "another type", ErrorCode::MALFORMED},
      {"[listen]\nport = 65536\n", "listen.port", "is 65536; it must be a number from 0 to 65535",
       ErrorCode::OUT_OF_RANGE},
      {"[listen]\nport = -1\n", "listen.port", "is -1", ErrorCode::OUT_OF_RANGE},
      {"[listen]\ninsecure = 1\n", "listen.insecure", "true or false", ErrorCode::MALFORMED},
      {"users = \"closed\"\n", "users", "is \"closed\"; it must be \"open\" or \"registered\"",
       ErrorCode::OUT_OF_RANGE},
      {"users = true\n", "users", "\"open\" or \"registered\"", ErrorCode::MALFORMED},
      {"[log]\nlevel = \"trace\"\n", "log.level", "\"debug\", \"info\", \"warning\", \"error\" or \"off\"",
       ErrorCode::OUT_OF_RANGE},
      {"data = \"\"\n", "data", "has 0 bytes", ErrorCode::OUT_OF_RANGE},
      {"data = \"" + std::string(5000, 'x') + "\"\n", "data", "has 5000 bytes", ErrorCode::OUT_OF_RANGE},
      {"data = \"a\\u0000b\"\n", "data", "not UTF-8 text", ErrorCode::MALFORMED},
      {"data = 7\n", "data", "another type", ErrorCode::MALFORMED},
      {"[limits]\nsmall_max = 501\n", "limits.small_max", "from 2 to 500", ErrorCode::OUT_OF_RANGE},
  };
  for (const auto& one : cases) {
    const Refusal got = refusal(load_text(one.text));
    EXPECT_EQ(got.field, one.field) << one.text;
    EXPECT_EQ(got.code, one.code) << one.text;
    EXPECT_THAT(got.detail, HasSubstr(one.detail)) << one.text;
  }
}

TEST(Config, FilesThatAreNoTomlAreRefusedWithTheLine) {
  for (const std::string& text :
       {"a\nb = 1\n", "\n=\n", "x = \n", "[listen]\nport = 1\nport = 2\n", "\xff\xfe", "a = '\xc0'"})
    EXPECT_EQ(refusal(load_text(text)).code, ErrorCode::MALFORMED) << text;
  EXPECT_THAT(refusal(load_text("[listen]\nport = 1\nport = 2\n")).detail,
              HasSubstr("tidemark.toml:3: This is not TOML"));
}

TEST(Config, MissingFilesAndDirectoriesAreSaid) {
  const TempDir dir;
  const Refusal missing = refusal(load_config(dir.path("no.toml"), {}, {}));
  EXPECT_EQ(missing.code, ErrorCode::NOT_FOUND);
  EXPECT_THAT(missing.detail, HasSubstr("no.toml cannot be opened: No such file"));
  EXPECT_THAT(refusal(load_config(dir.path(), {}, {})).detail, HasSubstr("is a directory"));
  EXPECT_EQ(refusal(load_text(std::string(1 << 21, '#'))).code, ErrorCode::TOO_LARGE);
}

TEST(Config, EnvironmentNamesAreCheckedAndOthersPassedOver) {
  EXPECT_EQ(load_environment({{"TIDEMARK_AUTH_ALLOW_LOCAL", "true"}})->auth.allow_local, true);
  EXPECT_EQ(load_environment({{"TIDEMARK_DATA", "/x y"}})->data, "/x y");
  EXPECT_EQ(load_environment({{"TIDEMARK_READ_ON_SEND", "true"}})->read_on_send, true);
  EXPECT_TRUE(load_environment({{"TIDEMARKER", "1"}, {"TIDEMARK_CONFIG", "x"}, {"TIDEMARK_TOKEN", "x"}}));
  EXPECT_TRUE(load_environment({{"TIDEMARK_PORT", "tcp://10.0.0.1:7700"},
                                {"TIDEMARK_PORT_7700_TCP", "tcp://10.0.0.1:7700"},
                                {"TIDEMARK_SERVICE_HOST", "10.0.0.1"},
                                {"TIDEMARK_SERVICE_PORT_HTTP", "7700"}}))
      << "what Kubernetes sets for a service of this name";
  const Refusal typo = refusal(load_environment({{"TIDEMARK_LISTEN_PROT", "1"}}));
  EXPECT_EQ(typo.code, ErrorCode::UNKNOWN_FIELD);
  EXPECT_THAT(typo.detail, HasSubstr("Did you mean TIDEMARK_LISTEN_PORT?"));
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "+1", "1.0", "true"})
    EXPECT_EQ(refusal(load_environment({{"TIDEMARK_LISTEN_PORT", text}})).code, ErrorCode::MALFORMED) << text;
  EXPECT_EQ(refusal(load_environment({{"TIDEMARK_LISTEN_PORT", "99999999999999999999"}})).code,
            ErrorCode::OUT_OF_RANGE);
  for (const char* text : {"", "1", "yes", "TRUE"})
    EXPECT_EQ(refusal(load_environment({{"TIDEMARK_LISTEN_INSECURE", text}})).code, ErrorCode::MALFORMED) << text;
}

TEST(Config, OverridesNeedANameAndAValue) {
  EXPECT_EQ(refusal(load_overrides({"listen.port"})).code, ErrorCode::MALFORMED);
  EXPECT_EQ(refusal(load_overrides({""})).code, ErrorCode::UNKNOWN_FIELD);
  EXPECT_THAT(refusal(load_overrides({"limits.page=3"})).detail, StartsWith("The command line: There is no setting"));
  EXPECT_EQ(load_overrides({"tls.key=", "auth.issuer="}).value(), Config{});
}

TEST(Config, ListeningBeyondThisMachineNeedsTlsOrAnExplicitYes) {
  for (const char* host : {"127.0.0.1", "127.8.9.10", "::1", "localhost"})
    EXPECT_TRUE(load_overrides({std::string("listen.host=") + host})) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "192.168.1.2", "example.com", "127.0.0.1.example.com",
                           "::ffff:1.2.3.4", "0", "localhost.example.com"}) {
    const std::string listen = std::string("listen.host=") + host;
    const Refusal got = refusal(load_overrides({listen}));
    EXPECT_EQ(got.field, "listen.host") << host;
    EXPECT_THAT(got.detail, HasSubstr("tls.certificate"));
    EXPECT_THAT(got.detail, HasSubstr("listen.insecure = true"));
    EXPECT_TRUE(load_overrides({listen, "listen.insecure=true"})) << host;
    EXPECT_TRUE(load_overrides({listen, "tls.certificate=c.pem", "tls.key=k.pem"})) << host;
  }
}

TEST(Config, ContradictionsAreRefused) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"tls.key=k.pem"}, "tls.certificate"},
      {{"tls.certificate=c.pem"}, "tls.key"},
      {{"auth.jwks=a", "auth.public_key=b"}, "auth.jwks"},
      {{"auth.audience=tidemark-admin"}, "auth.audience"},
      {{"limits.page_max=10"}, "limits.page_default"},
      {{"limits.sync_max=10"}, "limits.sync_default"},
      {{"limits.sync_bytes_max=5000"}, "limits.sync_bytes_default"},
      {{"limits.frame_bytes_max=65536"}, "limits.frame_bytes_max"},
      {{"limits.http_body_bytes_max=65536"}, "limits.http_body_bytes_max"},
      {{"limits.unanswered_bytes_max=65536"}, "limits.unanswered_bytes_max"},
  };
  for (const auto& [overrides, field] : cases) EXPECT_EQ(refusal(load_overrides(overrides)).field, field);
}

TEST(Config, EverySettingTakesItsBordersAndNothingBeyond) {
  std::set<std::string> variables;
  for (const ConfigSetting& setting : settings()) {
    SCOPED_TRACE(setting.name);
    EXPECT_EQ(find_setting(setting.name), &setting) << "every name once";
    EXPECT_TRUE(variables.insert(environment_name(setting.name)).second) << "every variable once";
    EXPECT_FALSE(setting.explanation.empty());
    EXPECT_TRUE(setting.explanation.ends_with('.'));
    Config config;
    EXPECT_TRUE(apply_setting(
        config, setting,
        setting.kind == SettingKind::choice ? SettingValue(std::string(setting.words.front())) : setting.get(config),
        "here"))
        << "the default is allowed";
    if (setting.kind != SettingKind::number) continue;
    ASSERT_LT(setting.min, setting.max);
    for (const std::int64_t good : {setting.min, setting.max}) {
      ASSERT_TRUE(apply_setting(config, setting, SettingValue(good), "here"));
      EXPECT_EQ(setting.get(config), SettingValue(good));
    }
    ASSERT_TRUE(apply_setting(config, setting, setting.get(Config{}), "here"));
    EXPECT_EQ(config, Config{}) << "it moves its own member alone";
    EXPECT_FALSE(apply_setting(config, setting, SettingValue(setting.min - 1), "here"));
    EXPECT_FALSE(apply_setting(config, setting, SettingValue(setting.max + 1), "here"));
  }
}

TEST(Config, SettingsWithTheirNamesReachTheirMembers) {
  Config config;
  int changed = 0;
  for (const ConfigSetting& setting : settings()) {
    if (setting.kind != SettingKind::text) continue;
    ASSERT_TRUE(apply_setting(config, setting, SettingValue(std::string(setting.name)), "here"));
    ++changed;
  }
  EXPECT_EQ(changed, 13);
  EXPECT_EQ(config.data + config.listen.host + config.tls.certificate + config.tls.key,
            "datalisten.hosttls.certificatetls.key");
  EXPECT_EQ(config.auth.audience + config.auth.issuer + config.auth.public_key + config.auth.jwks,
            "auth.audienceauth.issuerauth.public_keyauth.jwks");
}

/// `std::int64_t page_max = 200;` with the comment above it, for each setting of the Limits.
TEST(Config, EveryLimitIsExplainedInTheHeaderWithTheSameErrorCode) {
  const std::string header = read_file(TIDEMARK_SOURCE_DIR "/src/gateway/limits.h");
  std::size_t members = 0;
  for (std::size_t at = 0; (at = header.find("\n  std::int64_t ", at)) != header.npos; ++at) ++members;
  std::size_t limits = 0;
  for (const ConfigSetting& setting : settings()) {
    if (!setting.name.starts_with("limits.")) continue;
    SCOPED_TRACE(setting.name);
    ++limits;
    const std::size_t member = header.find("  std::int64_t " + std::string(setting.name.substr(7)) + " = ");
    ASSERT_NE(member, header.npos);
    const std::size_t comment = header.rfind(';', member);
    const std::string text = header.substr(comment, member - comment);
    const std::size_t arrow = text.find("-> ");
    ASSERT_EQ(arrow != text.npos, setting.refusal.has_value());
    if (setting.refusal) {
      const std::string_view name = error_info(*setting.refusal).name;
      EXPECT_EQ(text.substr(arrow + 3, name.size()), name);
    }
  }
  EXPECT_EQ(limits, members) << "every limit is a setting";
}

TEST(Config, TheExplainedFileInTheRepositoryIsTheOneMadeFromTheTable) {
  const std::string repository = read_file(TIDEMARK_SOURCE_DIR "/tidemark.toml");
  EXPECT_TRUE(repository == explained_config()) << "tidemark.toml differs from the table in config_settings.cc. Run "
                                                   "TIDEMARK_WRITE_TOML=1 with this test to make it "
                                                   "anew, and read the difference.";
  if (std::getenv("TIDEMARK_WRITE_TOML") != nullptr)
    std::ofstream(TIDEMARK_SOURCE_DIR "/tidemark.toml", std::ios::binary | std::ios::trunc) << explained_config();
}

TEST(Config, TheExplainedFileMeansTheDefaultsAndNamesEverySetting) {
  const std::string text = explained_config();
  const auto config = load_text(text);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(*config, Config{});
  for (const ConfigSetting& setting : settings())
    EXPECT_THAT(text, HasSubstr("\n" + std::string(setting.name.substr(setting.name.rfind('.') + 1)) + " = "));
  std::size_t longest = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1)
    longest = std::max(longest, end - at);
  EXPECT_LE(longest, 100u);
}

/// Characters at the edges of the parser's tables, where white space is looked for and none is.
TEST(Config, BareCharactersOfAnyScriptAreAnswered) {
  for (const std::string_view bare : {"\u00b6", "ö = 1", "。", "\u3001", "\u1681", "\u2010", "\ufefe", "\U0001f600"})
    EXPECT_FALSE(load_text(std::string(bare))) << bare;
}

RC_GTEST_PROP(Config, AnyTextIsAnswered, (const std::string& text)) {
  static_cast<void>(load_overrides({text, "listen.port=" + text}));
  static_cast<void>(load_environment({{"TIDEMARK_" + text, text}, {"TIDEMARK_LOG_LEVEL", text}}));
  static_cast<void>(load_text(text));
}

}  // namespace
}  // namespace tidemark
