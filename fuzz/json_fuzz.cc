// JSON from outside: the reader and the check of Body.data. Whatever comes in is refused with an error or taken; what
// is taken is written and read the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tidemark.pb.h"
#include "wire/data_check.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

namespace {

using namespace tidemark;

template <typename Message>
void try_reading(std::string_view text, const JsonReadOptions& options) {
  Message first;
  const auto result = read_json(text, first, options);
  if (!result) {
    TM_CHECK(!result.error().message().empty(), "a refusal says why");
    return;
  }
  std::string written;
  write_json(first, written);
  Message second;
  TM_CHECK(read_json(written, second, options).has_value(), "what the writer writes is read");
  TM_CHECK(first.SerializeAsString() == second.SerializeAsString(), "and means the same");
  TM_CHECK(check_data(written, 64, UINT32_MAX).has_value(), "what the writer writes is clean JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      try_reading<v1::SendRequest>(text, {});
      break;
    case 1:
      try_reading<v1::ClientFrame>(text, {.fields = Unknown::ignore});
      break;
    case 2:
      try_reading<v1::ServerFrame>(text, {.fields = Unknown::ignore, .words = Unknown::ignore, .max_depth = 32});
      break;
    default:
      if (check_data(text)) {
        v1::Kick message;  // knows none of the names: reading it is checking the syntax
        const auto again = read_json(text, message, {.fields = Unknown::ignore, .max_depth = 32});
        const bool other_type = !again && again.error().code != ErrorCode::TOO_DEEP;
        TM_CHECK(again || other_type, "both agree on how deep is too deep");
      }
  }
  return 0;
}
