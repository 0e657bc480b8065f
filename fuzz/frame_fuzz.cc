// Frames from outside in both dialects, of clients and of servers. What is taken can be encoded in either dialect and
// is then taken again, the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tidemark.pb.h"
#include "wire/dialect.h"

namespace {

using namespace tidemark;

void check_refusal(const DecodeError& error) {
  TM_CHECK(!error.error.message().empty(), "a refusal says why");
  TM_CHECK(error.error.field.size() < 1000, "and names a field in reasonable length");
}

void try_client_frame(Dialect dialect, std::string_view bytes) {
  auto frame = decode_client_frame(dialect, bytes);
  if (!frame) return check_refusal(frame.error());
  frame->DiscardUnknownFields();
  for (Dialect other : {Dialect::binary, Dialect::json}) {
    std::string encoded;
    encode_client_frame(other, *frame, encoded);
    const auto again = decode_client_frame(other, encoded);
    TM_CHECK(again.has_value(), "what was taken is taken again");
    TM_CHECK(again->SerializeAsString() == frame->SerializeAsString(), "and means the same");
  }
}

void try_server_frame(Dialect dialect, std::string_view bytes) {
  auto frame = decode_server_frame(dialect, bytes);
  if (!frame) return check_refusal(frame.error());
  std::string encoded;
  encode_server_frame(Dialect::binary, *frame, encoded);
  const auto again = decode_server_frame(Dialect::binary, encoded);
  TM_CHECK(again.has_value(), "what was taken is taken again");
  encoded.clear();
  encode_server_frame(Dialect::json, *frame, encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Dialect dialect = data[0] & 1 ? Dialect::json : Dialect::binary;
  if (data[0] & 2)
    try_server_frame(dialect, bytes);
  else
    try_client_frame(dialect, bytes);
  return 0;
}
