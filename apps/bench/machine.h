// On what a run was made, for whoever compares figures later.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark::bench {

struct Machine {
  std::string system;  // kernel and release
  std::string processor;
  int processors = 0;
  std::uint64_t memory_bytes = 0;
  std::string file_system;  // of the directory for temporary data
  bool in_memory = false;   // that file system keeps nothing on a disk: its syncs cost nothing
  double load_before = 0;   // of the last minute, before the run
  std::string commit;       // git describe, "unknown" outside a clone
  std::string time;         // UTC
};

Machine describe_machine(const std::string& directory);

/// The directory of this program.
std::string own_directory();

}  // namespace tidemark::bench
