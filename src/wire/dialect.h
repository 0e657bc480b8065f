// Frames as bytes, in both dialects of the WebSocket: binary (subprotocol tidemark.v1.proto) and JSON
// (tidemark.v1.json). One fault gets one answer, whatever the dialect.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "wire/dialect_fwd.h"

namespace tidemark {

enum class Dialect : std::uint8_t { binary, json };

/// "tidemark.v1.proto" or "tidemark.v1.json".
std::string_view subprotocol_of(Dialect dialect);
/// The dialect of a subprotocol's name.
std::optional<Dialect> dialect_named(std::string_view subprotocol);

/// Why a frame was not taken. The connection can go on: answer with the error under this id.
struct DecodeError {
  Error error;           // the field is a path inside the operation ("body.text"), or "id", or "operation"
  std::uint64_t id = 0;  // of the frame, as far as it could be read; 0: it could not
};

/// Reads a client's frame. Unknown fields are ignored; an operation that is absent or unknown is MALFORMED with the
/// field "operation", an id of 0 (but with ack, which has no answer) MALFORMED with "id". Otherwise the errors are
/// those of read_json; in binary, strings that are no UTF-8 or hold NUL are MALFORMED and enum numbers outside the
/// schema OUT_OF_RANGE likewise. The size of the input is the caller's to limit. Never throws; thread-safe.
std::expected<pb::ClientFrame, DecodeError> decode_client_frame(Dialect dialect, std::string_view bytes);

/// Reads a server's frame, as a client does: what a newer server may say is taken as far as it is known (a frame
/// without a known operation has operation_case() 0, an unknown enum word leaves the field unset).
std::expected<pb::ServerFrame, DecodeError> decode_server_frame(Dialect dialect, std::string_view bytes);

/// Appends the frame's bytes. REQUIRES: strings are valid UTF-8.
void encode_server_frame(Dialect dialect, const pb::ServerFrame& frame, std::string& out);
void encode_client_frame(Dialect dialect, const pb::ClientFrame& frame, std::string& out);

/// The part of a PushItem that is the same for all receivers (fields 8 to 11), encoded once per dialect. Without entry:
/// for the index part of one that came ahead.
std::string encode_shared_entry(Dialect dialect, std::string_view conversation_id, std::uint64_t after,
                                std::uint64_t to, const pb::Message* entry);

/// A receiver's own fields of a PushItem (all but 8 to 11, which must be unset), encoded once per dialect: what stands
/// before the shared bytes, and what behind them.
struct PushHeader {
  std::string front;
  std::string back;
};
PushHeader encode_push_header(Dialect dialect, const pb::PushItem& header);

/// One item of a push, all of it in the frame's dialect; `shared` is "" when only the user's own state changed.
struct PushPart {
  std::string_view front;
  std::string_view shared;
  std::string_view back;
};

/// Appends a whole ServerFrame{push{items}}: the bytes that encode_server_frame would give for the same items.
void append_push_frame(Dialect dialect, std::span<const PushPart> parts, std::string& out);

}  // namespace tidemark
