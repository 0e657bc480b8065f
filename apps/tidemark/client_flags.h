// The flags of every command that talks to a server: where it is and who one is.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/tidemark/http_calls.h"
#include "base/ids.h"
#include "wire/dialect_fwd.h"

namespace tidemark {

/// What the flags come to.
struct Access {
  ServerUrl url;
  std::string token;
  UserId user;  // as the token says
  std::string ca_file;
};

struct ClientFlags {
  std::string url;
  std::string token;
  std::string user;
  std::string data;
  std::string config;
  std::string ca_file;
  bool admin = false;  // the token made is an administrator's

  /// `user_flags` are the names under which the command takes the user.
  void add_to(CLI::App& command, const std::string& user_flags = "--user,--from");

  /// For commands of operators.
  void add_admin_to(CLI::App& command);

  /// The flags as they were given, each with a space in front, to be put behind a command that continues this one. A
  /// token stays out: it is nothing to show.
  std::string repeated() const;

  /// The token is --token, or made for the user by the keys in --data (./data if it is not given), or TIDEMARK_TOKEN.
  /// Errors say which flag is missing, or that the token is somebody else's than the user named.
  Result<Access> access() const;
  /// Calls for the access, or nothing after the error was told on stderr.
  std::optional<HttpCalls> open_calls() const;
};

/// Whether people look at stdout, and so may have colours (NO_COLOR is heeded).
bool stdout_is_coloured();
/// Columns of the terminal at stdout; 100 when it is none.
int stdout_columns();
/// Seconds that local time is ahead of UTC at a moment.
std::int64_t utc_offset_s(std::int64_t time_ms);

/// A word that the shell takes as it is, in quotes where it would not.
std::string as_shell_word(const std::string& word);

/// The words with a space between, or what stdin brings for a "-".
std::string text_of(const std::vector<std::string>& words);

/// The server's JSON as it came, on one line of its own.
void print_json(std::string_view json);

/// Reads an answer's JSON into its type of the schema; what a newer server adds is passed over. BAD_ANSWER otherwise.
Called<void> read_answer(std::string_view json, google::protobuf::Message& answer);
/// Calls and reads the answer, which is printed as it came when `json`. False when that failed; the user has been told.
bool call_and_read(const HttpCalls& calls, const CallOptions& options, bool json, google::protobuf::Message& answer);

}  // namespace tidemark
