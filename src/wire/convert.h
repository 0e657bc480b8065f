// Core types to and from the schema, for the server. What a reader may not know of an entry is decided in core
// (reads blank it); here nothing is added or hidden.
#pragma once

#include "core/commands.h"
#include "core/reads.h"
#include "core/totals.h"
#include "wire/dialect_fwd.h"

namespace tidemark {
namespace v1 {
class AckRequest;
class AddMembersRequest;
class Body;
class Change;
class ChangeDeviceRequest;
class ChangeGroupRequest;
class ConversationList;
class ConversationPage;
class ConversationSyncRequest;
class CreateGroupRequest;
class Cursor;
class Device;
class DeviceList;
class Error;
class Group;
class HeadsPage;
class HeadsRequest;
class HelloRequest;
class Imported;
class ImportRequest;
class HistoryPage;
class HistoryRequest;
class Jumps;
class MemberList;
class JumpsRequest;
class MutateRequest;
class MuteMemberRequest;
class Mutated;
class MessageBody;
class ReactionList;
class ReactionsRequest;
class ReceiptList;
class RemoveMemberRequest;
class RemoveMembersRequest;
class SendRequest;
class Sent;
class SetRoleRequest;
class SyncPage;
class SyncRequest;
class Totals;
class UserObjects;
}  // namespace v1

// Requests.

/// The name of a device, an install or a client_msg_id: 1 to `max` bytes of UTF-8 without control characters.
Result<void> check_name(std::string_view value, std::size_t max, std::string_view field);

/// With its `data` checked to be a JSON text.
Result<Body> checked_body(bool given, const pb::Body& body);
/// The body's `data` is checked to be a JSON text within the limits of the design. The sender's own fields (sender,
/// device, admin) are the caller's to set.
Result<SendCommand> send_from(const pb::SendRequest& request);
Result<MutateCommand> mutate_from(const pb::MutateRequest& request);
CreateGroupCommand create_group_from(const pb::CreateGroupRequest& request);
AddMembersCommand add_members_from(const pb::AddMembersRequest& request);
RemoveMemberCommand remove_member_from(const pb::RemoveMemberRequest& request);
RemoveMembersCommand remove_members_from(const pb::RemoveMembersRequest& request);
/// The group's `data` is checked to be a JSON text, as a body's.
Result<ChangeGroupCommand> change_group_from(const pb::ChangeGroupRequest& request);
Result<SetRoleCommand> set_role_from(const pb::SetRoleRequest& request);
Result<MuteMemberCommand> mute_member_from(const pb::MuteMemberRequest& request);
Result<ChangeDeviceCommand> change_device_from(const pb::ChangeDeviceRequest& request);
Result<ImportCommand> import_from(const pb::ImportRequest& request);
Result<LoginCommand> login_from(const pb::HelloRequest& request);
Result<Cursor> cursor_from(const pb::Cursor& cursor);
/// Without the resume place of bodies "all", which travels in the page token.
Result<SyncQuery> sync_from(const pb::SyncRequest& request);
ConversationSyncQuery conversation_sync_from(const pb::ConversationSyncRequest& request);
std::vector<HeldLine> held_lines_from(const pb::JumpsRequest& request);
/// Without the page token.
ReactionsQuery reactions_from(const pb::ReactionsRequest& request);
/// The entries that it acknowledges ahead of their place.
std::vector<KnownHead> ahead_from(const pb::AckRequest& ack);
HeadsQuery heads_from(const pb::HeadsRequest& request);
/// A digest of large groups: 16 hex digits, or nothing for 0.
Result<std::uint64_t> digest_from(const std::string& digits, std::string_view field);
/// Without the page token. At most one of before, after, around and at.
Result<HistoryQuery> history_from(const pb::HistoryRequest& request);

// Answers.

void to_pb(const Error& error, pb::Error& out);
void to_pb(const Entry& entry, const ConversationId& conversation, pb::Message& out);
void to_pb(const Entry& message, const ConversationId& conversation, pb::MessageBody& out);
void to_pb(const Cursor& cursor, pb::Cursor& out);
void to_pb(const Change& change, pb::Change& out);
void to_pb(const SyncPage& page, pb::SyncPage& out);
void to_pb(const ConversationPage& page, pb::ConversationPage& out);
void to_pb(const HistoryPage& page, pb::HistoryPage& out);
void to_pb(const ConversationList& list, pb::ConversationList& out);
/// Without the message's name and the page token.
void to_pb(const ReactionsPage& page, pb::ReactionList& out);
void to_pb(const HeadsPage& page, pb::HeadsPage& out);
/// Without the page token.
void to_pb(const MembersPage& page, const Conversation& group, pb::MemberList& out);
void to_pb(const Receipts& receipts, pb::ReceiptList& out);
/// Without the server's time.
void to_pb(const Totals& totals, pb::Totals& out);
void to_pb(const SentReply& reply, pb::Sent& out);
void to_pb(const JumpsAnswer& answer, pb::Jumps& out);
void to_pb(const MutatedReply& reply, pb::Mutated& out);
void to_pb(const std::vector<UserObject>& objects, pb::UserObjects& out);
void to_pb(const GroupReply& reply, pb::Group& out);
void to_pb(const ImportReply& reply, pb::Imported& out);
/// `asking` is the device that asks, if it has a name.
void to_pb(const Device& device, const DeviceId& asking, pb::Device& out);
void to_pb(const DevicesReply& reply, const DeviceId& asking, pb::DeviceList& out);
/// The receiver's own fields of a push item (1 to 7, and objects).
void header_to_pb(const PushItem& item, pb::PushItem& out);

std::string hex16(std::uint64_t value);

}  // namespace tidemark
