#include "apps/tidemark/client_flags.h"

#include <fmt/core.h>
#include <simdjson.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "apps/tidemark/settings_flags.h"
#include "base/ports.h"
#include "gateway/auth.h"
#include "gateway/config.h"
#include "gateway/jwt_base64.h"
#include "wire/json_reader.h"

namespace tidemark {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:7700";

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> mint_token(const ClientFlags& flags) {
  std::vector<std::string> overrides;
  if (!flags.data.empty()) overrides.push_back("data=" + flags.data);
  TM_ASSIGN(const Config config, load_config(config_path(flags.config), environment_of(environ), overrides));
  const SystemClock clock;
  SystemRandom random;
  TM_ASSIGN(const auto authenticator, Authenticator::open(config.auth, config.data, random, Secrets::need));
  MintOptions options;
  if (flags.admin) options.kind = TokenKind::admin;
  return authenticator->mint(UserId(flags.user), options, clock.wall_ms());
}

/// The user that a token names. It is only read, not checked: that is the server's part. "" for what is no token.
std::string user_of_token(std::string_view token) {
  const auto first = token.find('.');
  const auto second = token.find('.', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) return {};
  const auto claims = base64url_decode(token.substr(first + 1, second - first - 1));
  if (!claims) return {};
  simdjson::dom::parser parser;
  std::string_view user;
  if (parser.parse(simdjson::padded_string(*claims))["sub"].get_string().get(user) != simdjson::SUCCESS) return {};
  return std::string(user);
}

}  // namespace

void ClientFlags::add_to(CLI::App& command, const std::string& user_flags) {
  command.add_option(user_flags, user, "Who you are; the token is made by the keys in --data")->type_name("USER");
  command.add_option("--data", data, "The server's data directory, for its keys [./data]")->type_name("DIR");
  command.add_option("--config", config, "The server's settings file, if its keys need it; also TIDEMARK_CONFIG")
      ->type_name("FILE");
  command.add_option("--token", token, "A token instead of user and keys; also TIDEMARK_TOKEN")->type_name("TOKEN");
  command.add_option("--url", url, std::string("The server; also TIDEMARK_URL [") + kDefaultUrl + "]")
      ->type_name("URL");
  command.add_option("--ca", ca_file, "Certificates (PEM) to trust with https [the system's]")->type_name("FILE");
}

void ClientFlags::add_admin_to(CLI::App& command) {
  admin = true;
  user = "operator";
  add_to(command, "--operator");
}

std::string ClientFlags::repeated() const {
  std::string out;
  const std::pair<const char*, const std::string&> given[] = {{admin ? "--operator" : "--user", user},
                                                              {"--data", data},
                                                              {"--config", config},
                                                              {"--url", url},
                                                              {"--ca", ca_file}};
  for (const auto& [name, value] : given)
    if (!value.empty()) out.append(" ").append(name).append(" ").append(as_shell_word(value));
  return out;
}

Result<Access> ClientFlags::access() const {
  Access access;
  const std::string chosen = url.empty() ? from_environment("TIDEMARK_URL") : url;
  TM_ASSIGN(access.url, parse_server_url(chosen.empty() ? kDefaultUrl : chosen));
  access.user = UserId(user);
  access.ca_file = ca_file;
  if (!token.empty()) {
    access.token = token;
  } else if (!user.empty()) {
    TM_ASSIGN(access.token, mint_token(*this));
  } else {
    access.token = from_environment("TIDEMARK_TOKEN");
    if (access.token.empty())
      return fail(ErrorCode::BAD_TOKEN, "token",
                  "Say who you are: name a user and the server's --data DIR, or give --token, or set TIDEMARK_TOKEN.");
  }
  const std::string owner = user_of_token(access.token);
  if (!admin && !user.empty() && !owner.empty() && owner != user)
    return fail(ErrorCode::BAD_TOKEN, "token", fmt::format("This token is {}'s, not {}'s.", owner, user));
  if (user.empty()) access.user = UserId(owner);
  return access;
}

std::optional<HttpCalls> ClientFlags::open_calls() const {
  auto found = access();
  if (!found) {
    tell_error(found.error());
    return std::nullopt;
  }
  auto calls = HttpCalls::open(std::move(found->url), std::move(found->token), found->ca_file);
  if (calls) return std::move(*calls);
  tell_error(calls.error());
  return std::nullopt;
}

bool stdout_is_coloured() {
  return ::isatty(STDOUT_FILENO) == 1 && from_environment("NO_COLOR").empty();
}

int stdout_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

std::int64_t utc_offset_s(std::int64_t time_ms) {
  const std::time_t seconds = time_ms / 1'000;
  std::tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return 0;
  return parts.tm_gmtoff;
}

std::string as_shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out.append(c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1));
  return out + "'";
}

std::string text_of(const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front() == "-") {
    std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void print_json(std::string_view json) {
  while (json.ends_with('\n')) json.remove_suffix(1);
  fmt::print("{}\n", json);
}

Called<void> read_answer(std::string_view json, google::protobuf::Message& answer) {
  const auto parsed = read_json(json, answer, {.fields = Unknown::ignore, .words = Unknown::ignore, .max_depth = 64});
  if (parsed) return {};
  return std::unexpected(
      CallError{.code = "BAD_ANSWER",
                .sentence = "The answer is not what a Tidemark server says: " + parsed.error().message(),
                .field = parsed.error().field});
}

bool call_and_read(const HttpCalls& calls, const CallOptions& options, bool json, google::protobuf::Message& answer) {
  const auto came = calls.call(options);
  const auto understood = came ? read_answer(*came, answer) : Called<void>(std::unexpected(came.error()));
  if (!understood) {
    tell_call_error(understood.error());
    return false;
  }
  if (json) print_json(*came);
  return true;
}

}  // namespace tidemark
