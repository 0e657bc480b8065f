#include "wire/dialect.h"

#include <google/protobuf/stubs/logging.h>

#include "base/check.h"
#include "tidemark.pb.h"
#include "wire/dialect_binary.h"
#include "wire/json_field.h"
#include "wire/json_reader.h"
#include "wire/json_scan.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

constexpr std::string_view kBinary = "tidemark.v1.proto";
constexpr std::string_view kJson = "tidemark.v1.json";

/// protobuf writes a line to stderr for every string that is no UTF-8; whoever sends one must not fill our logs.
void silence_protobuf() {
  static const auto before = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(before);
}

/// The id of a JSON frame that was refused, wherever it stands in the frame; 0 when there is none to read.
std::uint64_t find_json_id(std::string_view text) {
  JsonScanner scanner(text);
  JsonLimits limits{.max_depth = 64};
  if (!scanner.take_if('{') || scanner.take_if('}')) return 0;
  std::string scratch;
  do {
    JsonString key;
    if (!scanner.read_key(key, limits)) return 0;
    if (key.value(scratch) == "id") {
      scanner.skip_space();
      JsonNumber number;
      JsonString string;
      std::string_view digits;
      if (scanner.peek() == '"') {
        if (scanner.read_string(string)) digits = string.value(scratch);
      } else if (scanner.read_number(number)) {
        digits = number.text;
      }
      return parse_whole(digits, 0, UINT64_MAX).value_or(0);
    }
    if (!scanner.skip_value(limits, 1)) return 0;
  } while (scanner.take_if(','));
  return 0;
}

/// Paths are told as the operation's own, so that they are the same on HTTP: "send.body.text" becomes "body.text".
void drop_operation(std::string& field) {
  const std::size_t dot = field.find('.');
  if (dot != std::string::npos) field.erase(0, dot + 1);
}

template <typename Frame>
Result<void> parse_binary(std::string_view bytes, Frame& frame) {
  silence_protobuf();
  if (bytes.size() > INT_MAX) return fail(ErrorCode::TOO_LARGE);
  if (frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  return std::unexpected(explain_binary_fault(bytes, plan_of(frame)));
}

Result<void> parse_client(Dialect dialect, std::string_view bytes, pb::ClientFrame& frame) {
  if (dialect == Dialect::json) return read_json(bytes, frame, {.fields = Unknown::ignore});
  TM_TRY(parse_binary(bytes, frame));
  const bool holds_nul = bytes.find('\0') != std::string_view::npos;
  return check_parsed(frame, holds_nul);
}

DecodeError refused(Dialect dialect, std::string_view bytes, Error error) {
  drop_operation(error.field);
  return {std::move(error), dialect == Dialect::json ? find_json_id(bytes) : find_binary_id(bytes)};
}

void append_frame(Dialect dialect, const google::protobuf::Message& frame, std::string& out) {
  if (dialect == Dialect::json) return write_json(frame, out);
  TM_CHECK(frame.AppendToString(&out), "a frame of more than 2 GiB was made");
}

}  // namespace

std::string_view subprotocol_of(Dialect dialect) {
  return dialect == Dialect::binary ? kBinary : kJson;
}

std::optional<Dialect> dialect_named(std::string_view subprotocol) {
  if (subprotocol == kBinary) return Dialect::binary;
  if (subprotocol == kJson) return Dialect::json;
  return std::nullopt;
}

std::expected<pb::ClientFrame, DecodeError> decode_client_frame(Dialect dialect, std::string_view bytes) {
  pb::ClientFrame frame;
  if (auto parsed = parse_client(dialect, bytes, frame); !parsed)
    return std::unexpected(refused(dialect, bytes, std::move(parsed).error()));
  if (frame.operation_case() == pb::ClientFrame::OPERATION_NOT_SET)
    return std::unexpected(DecodeError{
        {ErrorCode::MALFORMED, "operation", "The frame holds no operation that this server knows."}, frame.id()});
  if (frame.id() == 0 && !frame.has_ack() && !frame.has_ephemeral() && !frame.has_foreground())
    return std::unexpected(DecodeError{
        {ErrorCode::MALFORMED, "id", "Every frame but ack, ephemeral and foreground needs an id above 0."}, 0});
  return frame;
}

std::expected<pb::ServerFrame, DecodeError> decode_server_frame(Dialect dialect, std::string_view bytes) {
  pb::ServerFrame frame;
  const JsonReadOptions options{
      .fields = Unknown::ignore, .words = Unknown::ignore, .entries = Unknown::ignore, .max_depth = 32};
  auto parsed = dialect == Dialect::json ? read_json(bytes, frame, options) : parse_binary(bytes, frame);
  if (!parsed && dialect == Dialect::binary)
    if (const auto rest = without_broken_entries(bytes, plan_of(frame))) parsed = parse_binary(*rest, frame);
  if (!parsed) return std::unexpected(refused(dialect, bytes, std::move(parsed).error()));
  return frame;
}

void encode_server_frame(Dialect dialect, const pb::ServerFrame& frame, std::string& out) {
  append_frame(dialect, frame, out);
}

void encode_client_frame(Dialect dialect, const pb::ClientFrame& frame, std::string& out) {
  append_frame(dialect, frame, out);
}

}  // namespace tidemark
