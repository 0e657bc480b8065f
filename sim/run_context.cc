#include "sim/run_context.h"

#include <fmt/format.h>

namespace tidemark::sim {

void RunContext::tell(const std::string& line) {
  for (const char c : line) fingerprint = (fingerprint ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;  // FNV-1a
  fingerprint = (fingerprint ^ static_cast<std::uint64_t>(timeline.now_ms())) * 0x100000001b3ULL;
  show(line);
}

void RunContext::show(const std::string& line) const {
  if (!tracing) return;
  const std::string timed = fmt::format("{:>9.3f}  {}\n", static_cast<double>(timeline.now_ms()) / 1'000, line);
  if (traced) return traced(timed);
  fmt::print("{}", timed);
}

}  // namespace tidemark::sim
