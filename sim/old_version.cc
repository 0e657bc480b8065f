#include "sim/old_version.h"

#include "base/check.h"
#include "base/hash.h"
#include "tidemark.pb.h"

namespace tidemark::sim {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// A new kind says what it has to say in fields of its own.
void make_unheard_of(Dialect dialect, pb::Message& entry) {
  pb::Message made;
  made.set_message_id(entry.message_id());
  made.set_seq(entry.seq());
  made.set_ord(entry.ord());
  made.set_sender(entry.sender());
  made.set_server_time(entry.server_time());
  if (dialect == Dialect::binary) made.set_kind(static_cast<pb::Kind>(99));
  entry = std::move(made);
}

void make_broken(Dialect dialect, pb::Message& entry) {
  entry.set_sender_device(dialect == Dialect::binary ? "\xff" : "broken");
}

/// In JSON by words that our own writer has no way to write.
std::string encoded(Dialect dialect, const pb::ServerFrame& frame) {
  std::string bytes;
  if (dialect == Dialect::binary) {
    TM_CHECK(frame.AppendPartialToString(&bytes), "a frame can be written");
    return bytes;
  }
  encode_server_frame(dialect, frame, bytes);
  replace_all(bytes, R"("kind":"unspecified")", R"("kind":"poll","glow":{"x":[1,{}]})");
  replace_all(bytes, R"("sender_device":"broken")", R"("sender_device":[{"x":1}])");
  return bytes;
}

}  // namespace

std::string OldVersion::met(Dialect dialect, std::string_view message, Counters& counters) {
  auto frame = decode_server_frame(dialect, message);
  TM_CHECK(frame.has_value(), "the server's frames can be read");
  const std::uint64_t before = met_;
  look_into(dialect, *frame, counters);
  return met_ == before ? std::string(message) : encoded(dialect, *frame);
}

/// Wherever an entry may stand.
void OldVersion::look_into(Dialect dialect, google::protobuf::Message& message, Counters& counters) {
  if (auto* entry = dynamic_cast<pb::Message*>(&message)) return look_at(dialect, *entry, counters);
  const auto& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      look_into(dialect, *reflection.MutableMessage(&message, field), counters);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      look_into(dialect, *reflection.MutableRepeatedMessage(&message, field, i), counters);
  }
}

void OldVersion::look_at(Dialect dialect, pb::Message& entry, Counters& counters) {
  if (entry.seq() == 0 || (entry.kind() == pb::KIND_MESSAGE && entry.sender() == user_.value)) return;
  const std::string salt = std::to_string(salt_);
  const auto what = digest_of({salt, entry.message_id()})[0];
  if (what >= 64) return;
  ++met_;
  const std::string& id = entry.message_id();
  strange_.emplace(ConversationId(id.substr(0, id.rfind(':'))), Seq(entry.seq()));
  counters.hit(what < 32 ? Counter::unheard_of : Counter::broken);
  what < 32 ? make_unheard_of(dialect, entry) : make_broken(dialect, entry);
}

}  // namespace tidemark::sim
