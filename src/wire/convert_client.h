// The schema to and from the core's types, for clients. A client takes what a newer server says as far as it is known:
// unknown kinds of entries and answers become opaque and never stop a cursor.
#pragma once

#include <string>

#include "core/replica/frames.h"
#include "wire/dialect_fwd.h"

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

}  // namespace tidemark
