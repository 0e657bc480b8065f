// tidemark devices: where a user is logged in, as a table or as the server's JSON; naming and logging out.
#include <fmt/core.h>

#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/commands.h"
#include "base/ports.h"
#include "client/terminal/text_table.h"
#include "client/terminal/when.h"
#include "tidemark.pb.h"
#include "wire/http_parser.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

using namespace terminal;

struct DeviceFlags {
  ClientFlags client;
  std::string device;
  std::vector<std::string> words;
  bool json = false;
};

std::string path_of(const std::string& device) {
  return "/v1/devices/" + percent_encode(device);
}

std::string_view state_text(const v1::Device& device) {
  switch (device.state()) {
    case v1::DEVICE_STATE_LOGGED_IN:
      return "logged in";
    case v1::DEVICE_STATE_OTHER_DEVICE:
      return "made room for another";
    default:
      return "logged out";
  }
}

void add_row(TextTable& table, const v1::Device& device) {
  const std::int64_t now_ms = SystemClock().wall_ms();
  const bool in = device.state() == v1::DEVICE_STATE_LOGGED_IN;
  const Style style = in ? Style{} : Style{.colour = Colour::grey};
  table.add({{device.device(), {.bold = in}},
             {device.name(), style},
             {device.platform(), style},
             {std::string(state_text(device)), style},
             {short_time(device.last_seen(), now_ms, utc_offset_s(device.last_seen())), {.colour = Colour::grey}}});
}

/// Shows the list that the call answers.
int show(const DeviceFlags& flags, const CallOptions& options) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  v1::DeviceList list;
  if (!call_and_read(*calls, options, flags.json, list)) return 1;
  if (flags.json) return 0;
  TextTable table({{"device", Align::left, 40}, {"name", Align::left, 30}, {"platform"}, {"state"}, {"last seen"}});
  for (const v1::Device& device : list.devices()) add_row(table, device);
  if (table.empty())
    fmt::print("no devices\n");
  else
    fmt::print("{}", table.text(stdout_is_coloured() ? Paint::coloured : Paint::plain, stdout_columns()));
  return 0;
}

int rename(const DeviceFlags& flags) {
  const auto calls = flags.client.open_calls();
  if (!calls) return 1;
  std::string body = R"({"name":)";
  write_json_string(text_of(flags.words), body);
  v1::Device device;
  if (!call_and_read(*calls, {.method = "PATCH", .target = path_of(flags.device), .body = body + '}'}, flags.json,
                     device))
    return 1;
  if (!flags.json) fmt::print("{}  is called {}\n", device.device(), device.name());
  return 0;
}

std::shared_ptr<DeviceFlags> device_flags(CLI::App& command) {
  auto flags = std::make_shared<DeviceFlags>();
  flags->client.add_to(command);
  command.add_flag("--json", flags->json, "Print the server's answer as it is");
  return flags;
}

std::shared_ptr<DeviceFlags> flags_with_device(CLI::App& command) {
  auto flags = device_flags(command);
  command.add_option("device", flags->device, "The device's id, as the list shows it")->required()->type_name("DEVICE");
  return flags;
}

}  // namespace

void add_devices(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("devices", "List a user's devices, name them, log them out");
  command->require_subcommand(1);

  CLI::App* list = command->add_subcommand("list", "Where the user is logged in, and was");
  list->callback(
      [flags = device_flags(*list), &chosen] { chosen = [flags] { return show(*flags, {.target = "/v1/devices"}); }; });

  CLI::App* name = command->add_subcommand("rename", "Give a device a name");
  auto named = flags_with_device(*name);
  name->add_option("name", named->words, "The name")->required()->type_name("NAME");
  name->callback([named, &chosen] { chosen = [named] { return rename(*named); }; });

  CLI::App* logout = command->add_subcommand("logout", "End a device's session; it needs a newer token to come back");
  logout->callback([flags = flags_with_device(*logout), &chosen] {
    chosen = [flags] {
      return show(*flags, {.method = "POST", .target = path_of(flags->device) + "/logout", .body = "{}"});
    };
  });

  CLI::App* remove = command->add_subcommand("remove", "Log a device out and take it off the list");
  remove->callback([flags = flags_with_device(*remove), &chosen] {
    chosen = [flags] { return show(*flags, {.method = "DELETE", .target = path_of(flags->device)}); };
  });
}

}  // namespace tidemark
