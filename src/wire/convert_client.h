// The schema to and from the core's types, for clients. A client takes what a newer server says as far as it is known:
// unknown kinds of entries and answers become opaque and never stop a cursor.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/replica/frames.h"
#include "wire/dialect.h"

namespace tidemark {
namespace v1 {
class Change;
class Message;
}  // namespace v1

/// What a hello says beyond the replica's part of it.
struct HelloExtras {
  std::string token;  // "" when the upgrade carried it
  std::string platform;
  std::string app_version;
};

/// A request as a frame. `extras` is used for hello alone.
void to_pb(const replica::Request& request, const HelloExtras& extras, pb::ClientFrame& out);

/// A server's frame in the core's types. Total: whatever is missing or unknown is left at its default, an unknown
/// operation becomes replica::Unknown.
replica::ServerFrame frame_from(const pb::ServerFrame& frame);

Entry entry_from(const pb::Message& message);
/// Without `messages` that bear no seq; the rest of the change counts.
Change change_from(const pb::Change& change);

/// The same as bytes: what goes into one message of the WebSocket, and what came out of one.
std::string encode_request(Dialect dialect, const replica::Request& request, const HelloExtras& extras);
std::expected<replica::ServerFrame, DecodeError> decode_answer(Dialect dialect, std::string_view bytes);

}  // namespace tidemark
