#include "base/json_text.h"
#include "gateway/config.h"
#include "gateway/config_settings.h"

namespace tidemark {
namespace {

constexpr std::size_t kLineBytes = 100;

/// The text as comment lines of at most kLineBytes, broken between words.
void append_comment(std::string& out, std::string_view text) {
  std::string line = "#";
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (line.size() + 1 + word.size() > kLineBytes && line.size() > 1) {
      out.append(line).append("\n");
      line = "#";
    }
    line.append(" ").append(word);
    text = space == text.npos ? std::string_view() : text.substr(space + 1);
  }
  out.append(line).append("\n");
}

std::string value_text(const ConfigSetting& setting, const Config& config) {
  const SettingValue value = setting.get(config);
  std::string out;
  if (setting.kind == SettingKind::yes_no) return std::get<bool>(value) ? "true" : "false";
  if (setting.kind == SettingKind::number) return std::to_string(std::get<std::int64_t>(value));
  if (setting.kind == SettingKind::choice)
    append_json_string(out, setting.words[static_cast<std::size_t>(std::get<std::int64_t>(value))]);
  else
    append_json_string(out, std::get<std::string>(value));
  return out;
}

std::string_view section_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == name.npos ? std::string_view() : name.substr(0, dot);
}

std::string_view about_section(std::string_view section) {
  if (section == "listen") return "Where clients connect: WebSocket at /v1/ws, HTTP beside it.";
  if (section == "tls") return "TLS built in.";
  if (section == "auth")
    return "Tokens (JWT). Admin tokens are apart: they are always checked by the file admin.key in the data directory "
           "and "
           "the audience tidemark-admin, whatever stands here.";
  if (section == "devices") return "Which devices of a user may be logged in together.";
  if (section == "presence") return "What users see of each other's comings and goings.";
  if (section == "priority") return "Messages that overtake others on their way to devices, or may wait.";
  if (section == "hooks")
    return "What the application is told of and asked: signed HTTP requests to an address of its own, explained in "
           "docs/hooks.md.";
  if (section == "store")
    return "The embedded store. Every message is synced to disk before it is acknowledged; that cannot be switched "
           "off.";
  if (section == "threads") return "Threads. Writing to the store always takes one.";
  if (section == "log") return "The log on stderr. Tokens, secrets and message bodies are never logged.";
  if (section == "limits")
    return "Limits on everything that comes from outside, each with the error that answers whoever goes beyond it. "
           "Fixed by "
           "the protocol and no settings: ids of users, devices, installs and client_msg_id 64 bytes, a body's type 32 "
           "bytes, a token 8192 bytes.";
  return {};
}

void append_setting(std::string& out, const ConfigSetting& setting, const Config& defaults) {
  std::string text(setting.explanation);
  if (setting.refusal) text.append(" Beyond it: ").append(error_info(*setting.refusal).name).append(".");
  append_comment(out, text);
  const std::string value = value_text(setting, defaults);
  if (setting.kind == SettingKind::number)
    append_comment(
        out, "From " + std::to_string(setting.min) + " to " + std::to_string(setting.max) + ", default " + value + ".");
  else if (setting.kind == SettingKind::text)
    append_comment(out, "Default " + value + ".");
  else
    append_comment(out, allowed_values(setting) + ", default " + value + ".");
  out.append(setting.name.substr(setting.name.rfind('.') + 1)).append(" = ").append(value).append("\n");
}

}  // namespace

std::string explained_config() {
  std::string out;
  append_comment(
      out,
      "The settings of Tidemark, each at its default. A line that is left out means its default; a name that "
      "is not here is refused.");
  out += "#\n";
  append_comment(out,
                 "A file of settings is read only when it is named: --config tidemark.toml, or in the environment "
                 "TIDEMARK_CONFIG=tidemark.toml. This one is not read by itself.");
  out += "#\n";
  append_comment(out,
                 "What the environment says counts more than this file (TIDEMARK_LISTEN_PORT=7701 for port under "
                 "[listen]), and what the command line says counts most. Changes take effect at the next start. Files "
                 "are looked for from the directory where the server is started. Sizes are in bytes, times in the unit "
                 "at the end of the name.");
  const Config defaults;
  std::string_view section;
  for (const ConfigSetting& setting : settings()) {
    if (const std::string_view now = section_of(setting.name); now != section) {
      section = now;
      out += "\n";
      append_comment(out, about_section(section));
      out.append("[").append(section).append("]\n");
    }
    out += "\n";
    append_setting(out, setting, defaults);
  }
  return out;
}

}  // namespace tidemark
