// Plays a fixed script through the server's parts, to be run below callgrind, which counts its instructions
// (scripts/instructions). Prints how many messages were counted.
//
//     tidemark-instructions --list
//     tidemark-instructions SCRIPT DIRECTORY      the store is made in the directory, which must be empty or absent
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/log.h"
#include "tests/instructions/scripts.h"

namespace {

int usage() {
  std::fprintf(stderr, "usage: tidemark-instructions --list | SCRIPT DIRECTORY\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tidemark;
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const auto& each : instructions::scripts())
      std::printf("%-18s %s\n", std::string(each.name).c_str(), std::string(each.what).c_str());
    return 0;
  }
  if (argc != 3) return usage();
  const auto all = instructions::scripts();
  const auto script = std::ranges::find(all, std::string_view(argv[1]), &instructions::Script::name);
  if (script == all.end()) {
    std::fprintf(stderr, "tidemark-instructions: there is no script %s; --list says what there is\n", argv[1]);
    return 2;
  }
  std::error_code ignored;
  if (std::filesystem::exists(argv[2], ignored) && !std::filesystem::is_empty(argv[2], ignored)) {
    std::fprintf(stderr, "tidemark-instructions: %s is not empty; give a directory that is, or none that is there\n",
                 argv[2]);
    return 2;
  }
  set_log(LogLevel::warning, LogFormat::text);
  instructions::Meter meter;
  std::printf("%llu\n", static_cast<unsigned long long>(script->play(meter, argv[2])));
  return 0;
}
