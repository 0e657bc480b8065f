// Requests of import to core types, and their answer back.
#include "tidemark.pb.h"
#include "wire/convert.h"
#include "wire/convert_parts.h"

namespace tidemark {
namespace {

Result<ImportCommand::Message> message_from(const pb::ImportedMessage& message, int index) {
  ImportCommand::Message made;
  made.source_id = message.source_id();
  made.sender = UserId(message.sender());
  made.server_time = message.server_time();
  auto body = checked_body(message.has_body(), message.body());
  if (!body) {
    Error error = std::move(body).error();
    error.field = "messages[" + std::to_string(index) + "]." + error.field;
    return std::unexpected(std::move(error));
  }
  made.body = std::move(*body);
  made.reply_to = message.reply_to();
  made.mentions = users_from(message.mentions());
  return made;
}

}  // namespace

Result<ImportCommand> import_from(const pb::ImportRequest& request) {
  ImportCommand command;
  command.name = request.name();
  command.conversation = ConversationId(request.conversation_id());
  command.dry_run = request.dry_run();
  if (request.has_group()) {
    const pb::ImportedGroup& group = request.group();
    command.group = {group.source_id(), group.title(), UserId(group.owner()), users_from(group.members()),
                     group.created_at()};
  }
  for (int i = 0; i < request.messages_size(); ++i) {
    TM_ASSIGN(ImportCommand::Message message, message_from(request.messages(i), i));
    command.messages.push_back(std::move(message));
  }
  for (const pb::ImportedRead& read : request.reads()) command.reads.push_back({UserId(read.user()), read.source_id()});
  return command;
}

void to_pb(const ImportReply& reply, pb::Imported& out) {
  out.set_conversation_id(reply.conversation.value);
  out.set_added(reply.added);
  out.set_known(reply.known);
  out.set_head_seq(reply.head.value);
}

}  // namespace tidemark
