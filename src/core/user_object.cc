#include "core/user_object.h"

#include "base/codec.h"

namespace tidemark {
namespace {

// name := 'd' string(conversation) be64(block) | 't' conversation | 's' name | 'b' user | 'v'
struct NameOf {
  std::string operator()(const DeletedBlock& it) const { return name_of_deleted(it.conversation, it.block); }
  std::string operator()(const SavedDraft& it) const { return name_of_draft(it.conversation); }
  std::string operator()(const Setting& it) const { return name_of_setting(it.name); }
  std::string operator()(const BlockedUser& it) const { return name_of_blocked(it.user); }
  std::string operator()(const DevicesChanged&) const { return "v"; }
};

struct Empty {
  bool operator()(const DeletedBlock& it) const { return it.deleted.empty(); }
  bool operator()(const SavedDraft& it) const { return it.body == Body(); }
  bool operator()(const Setting& it) const { return it.value.empty(); }
  bool operator()(const BlockedUser& it) const { return !it.blocked; }
  bool operator()(const DevicesChanged&) const { return false; }
};

}  // namespace

bool UserObject::empty() const {
  return std::visit(Empty{}, what);
}

std::string name_of(const UserObject& object) {
  return std::visit(NameOf{}, object.what);
}

std::string name_of_deleted(const ConversationId& conversation, std::uint64_t block) {
  std::string name = "d";
  ByteWriter out(name);
  out.string(conversation.value);
  out.be64(block);
  return name;
}

std::string name_of_draft(const ConversationId& conversation) {
  return "t" + conversation.value;
}

std::string name_of_setting(std::string_view name) {
  return "s" + std::string(name);
}

std::string name_of_blocked(const UserId& user) {
  return "b" + user.value;
}

}  // namespace tidemark
