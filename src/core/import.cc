// Import: conversations from elsewhere, with the times that they have there (design, section 5).
#include <algorithm>
#include <map>

#include "core/body.h"
#include "core/conversation_id.h"
#include "core/decide_parts.h"
#include "core/group_parts.h"
#include "core/mentions.h"
#include "core/mutation_parts.h"
#include "core/registered.h"
#include "core/unread.h"

namespace tidemark {
namespace {

constexpr std::size_t kNameBytes = 64;
/// A dedup hour that never becomes old: what was imported is known for ever.
constexpr std::uint32_t kForEverHour = ~std::uint32_t{0};

DedupKey key_of(std::string_view kind, const ImportCommand& command, const std::string& source_id) {
  return {kForEverHour, digest_of({kind, command.name, source_id})};
}

Result<void> check_source(const std::string& id, const std::string& field) {
  if (!id.empty() && id.size() <= kNameBytes) return {};
  return fail(ErrorCode::MALFORMED, field, "1 to 64 bytes.");
}

std::string field_of(std::size_t index, std::string_view name) {
  return "messages[" + std::to_string(index) + "]." + std::string(name);
}

/// One half says which conversation it is in, the other all else.
Digest content_of(const ConversationId& id, const ImportCommand::Message& message) {
  const Digest place = digest_of({id.value});
  Digest content =
      digest_of({message.sender.value, std::to_string(message.server_time), bytes_of(digest_of_body(message.body))});
  std::copy_n(place.begin(), place.size() / 2, content.begin());
  return content;
}

bool is_in(const DedupRecord& record, const ConversationId& id) {
  const Digest place = digest_of({id.value});
  return std::equal(place.begin(), place.begin() + place.size() / 2, record.content.begin());
}

Result<void> under(std::string_view prefix, Result<void> checked) {
  if (checked) return checked;
  Error error = std::move(checked).error();
  error.field = std::string(prefix) + error.field;
  return std::unexpected(std::move(error));
}

class Import {
 public:
  Import(View& view, const ImportCommand& command, const Context& context)
      : command_(command), context_(context), draft_(view, context) {}

  Result<Decision> run() {
    TM_TRY(check_source(command_.name, "name"));
    if (command_.messages.size() > context_.params.import_max)
      return fail(ErrorCode::LIMIT_REACHED, "messages", "At most " + std::to_string(context_.params.import_max) + ".");
    TM_TRY(find_conversation());
    before_ = draft_.line(id_);
    for (std::size_t i = 0; i < command_.messages.size(); ++i) TM_TRY(take(i));
    for (std::size_t i = 0; i < command_.reads.size(); ++i) TM_TRY(take_read(i));
    return finish();
  }

 private:
  Result<void> find_conversation() {
    if (command_.conversation.empty() == !command_.group.has_value())
      return fail(ErrorCode::MALFORMED, "conversation_id", "Give either conversation_id or group.");
    if (command_.group) return find_group();
    id_ = command_.conversation;
    TM_ASSIGN(parsed_, parse_conversation(id_));
    const Conversation* known = draft_.conversation(id_);
    if (parsed_.kind == ConversationKind::group) {
      return check_group();
    }
    TM_TRY(check_registered(draft_, context_.params, parsed_.a, "conversation_id"));
    TM_TRY(check_registered(draft_, context_.params, parsed_.b, "conversation_id"));
    if (known == nullptr) make_single(draft_, id_, parsed_);
    return {};
  }

  /// Nothing new goes into a group that has ended, nor into a large one, since what is imported touches every member.
  /// What was imported before is known all the same.
  Result<void> check_group() {
    const std::string field = command_.group ? "group.source_id" : "conversation_id";
    const Conversation* group = draft_.conversation(id_);
    if (group == nullptr) return fail(ErrorCode::CONVERSATION_NOT_FOUND, field);
    if (group->dissolved)
      shut_ = Error{ErrorCode::CONVERSATION_CLOSED, field};
    else if (group->large)
      shut_ = Error{ErrorCode::LIMIT_REACHED, field, "It is large: import into it first, then add the others."};
    return {};
  }

  Result<void> find_group() {
    TM_TRY(check_source(command_.group->source_id, "group.source_id"));
    const DedupKey key = key_of("import_group", command_, command_.group->source_id);
    if (const auto record = draft_.remembered(std::span(&key, 1))) {
      id_ = group_conversation(record->seq.value);
      TM_TRY(check_group());
    } else {
      TM_TRY(make_group(key));
    }
    parsed_ = *parse_conversation(id_);
    return {};
  }

  Result<void> make_group(const DedupKey& key) {
    const ImportCommand::Group& given = *command_.group;
    TM_TRY(under("group.", check_title(given.title, context_.params)));
    if (given.members.size() >= context_.params.small_max)
      return fail(ErrorCode::LIMIT_REACHED, "group.members", "Import it with few of them, then add the others.");
    if (given.created_at <= 0 || given.created_at > context_.now_ms)
      return fail(ErrorCode::OUT_OF_RANGE, "group.created_at", "A time that has passed, in ms since 1970.");
    TM_TRY(check_user_id(given.owner, "group.owner"));
    TM_TRY(check_registered(draft_, context_.params, given.owner, "group.owner"));
    std::vector<UserId> named{given.owner};
    named.insert(named.end(), given.members.begin(), given.members.end());
    TM_ASSIGN(const std::vector<UserId> users, checked_users(draft_, named, "group.members", context_.params));
    const std::uint64_t number = draft_.last_group() + 1;
    draft_.set_last_group(number);
    id_ = group_conversation(number);
    makes_group_ = true;
    Conversation& group = draft_.edit_conversation(id_);
    group.kind = ConversationKind::group;
    group.title = given.title;
    // Its members' own heads are touched with all else at the end.
    Entry entry;
    entry.kind = EntryKind::member;
    entry.sender = given.owner;
    entry.member = MemberChange{MemberAction::joined, users, Role::member, Seq(1)};
    const auto joined = draft_.append(id_, std::move(entry), given.created_at);
    for (const UserId& user : users) {
      const Role role = user == given.owner ? Role::owner : Role::member;
      group.members.push_back({user, role, joined->seq});
      UserConversation& row = draft_.edit_row(user, id_);
      row.periods.push_back({joined->seq, Seq(), joined->seq});
      row.role = role;
    }
    group.size = group.members.size();
    last_ = joined;
    draft_.writes().dedup.emplace_back(key, DedupRecord{Seq(number), {}});
    return {};
  }

  Result<Seq> reply_target(const ImportCommand::Message& message, std::size_t index) {
    if (message.reply_to.empty()) return Seq();
    if (const auto made = seqs_.find(message.reply_to); made != seqs_.end()) return made->second;
    if (const auto seq = imported_before(message.reply_to)) return *seq;
    return fail(ErrorCode::MESSAGE_NOT_FOUND, field_of(index, "reply_to"),
                "Import what it answers first, into the same conversation.");
  }

  /// A message of this conversation by its source_id.
  std::optional<Seq> imported_before(const std::string& source_id) {
    const DedupKey key = key_of("import", command_, source_id);
    const auto record = draft_.remembered(std::span(&key, 1));
    if (!record || !is_in(*record, id_)) return std::nullopt;
    return record->seq;
  }

  Result<void> check(const ImportCommand::Message& message, std::size_t index) {
    TM_TRY(check_user_id(message.sender, field_of(index, "sender")));
    if (parsed_.kind == ConversationKind::single && !parsed_.has(message.sender))
      return fail(ErrorCode::NOT_MEMBER, field_of(index, "sender"));
    TM_TRY(check_registered(draft_, context_.params, message.sender, field_of(index, "sender")));
    if (auto checked = check_body(message.body, context_.params); !checked) {
      Error error = std::move(checked).error();
      error.field = field_of(index, error.field);
      return std::unexpected(std::move(error));
    }
    if (message.mentions.size() > context_.params.mentions_max)
      return fail(ErrorCode::LIMIT_REACHED, field_of(index, "mentions"));
    if (message.server_time <= 0 || message.server_time > context_.now_ms)
      return fail(ErrorCode::OUT_OF_RANGE, field_of(index, "server_time"), "A time that has passed, in ms since 1970.");
    if (message.server_time < draft_.line(id_).server_time)
      return fail(ErrorCode::IMPORT_OUT_OF_ORDER, field_of(index, "server_time"));
    return {};
  }

  Result<void> take(std::size_t index) {
    const ImportCommand::Message& message = command_.messages[index];
    TM_TRY(check_source(message.source_id, field_of(index, "source_id")));
    const DedupKey key = key_of("import", command_, message.source_id);
    const Digest content = content_of(id_, message);
    if (const auto record = draft_.remembered(std::span(&key, 1))) {
      if (record->content != content)
        return fail(ErrorCode::IDEMPOTENCY_CONFLICT, field_of(index, "source_id"),
                    "Another message has this source_id in this import.");
      seqs_[message.source_id] = record->seq;
      ++reply_.known;
      return {};
    }
    if (seqs_.contains(message.source_id))
      return fail(ErrorCode::IDEMPOTENCY_CONFLICT, field_of(index, "source_id"), "It stands here twice.");
    if (shut_) return std::unexpected(*shut_);
    TM_TRY(check(message, index));
    TM_ASSIGN(const Seq reply_to, reply_target(message, index));
    Entry entry;
    entry.kind = EntryKind::message;
    entry.sender = message.sender;
    entry.reply_to = reply_to;
    entry.mentions = message.mentions;
    entry.body = message.body;
    last_ = draft_.append(id_, std::move(entry), message.server_time);
    if (!first_) first_ = last_;
    draft_.writes().dedup.emplace_back(key, DedupRecord{last_->seq, content});
    seqs_[message.source_id] = last_->seq;
    ++own_[message.sender];
    for (const UserId& user : message.mentions)
      if (user != message.sender) named_[user].push_back(last_->seq);
    ++reply_.added;
    return {};
  }

  /// A pointer that is given stands, for this import and conversation, until another is given. Of who has left there is
  /// none to move.
  Result<void> take_read(std::size_t index) {
    const ImportCommand::Read& read = command_.reads[index];
    const std::string field = "reads[" + std::to_string(index) + "].";
    TM_TRY(check_user_id(read.user, field + "user"));
    const UserConversation* row = draft_.user_conversation(read.user, id_);
    if (row == nullptr) return fail(ErrorCode::NOT_MEMBER, field + "user", "Only members have read.");
    Seq seq;
    if (const auto made = seqs_.find(read.source_id); made != seqs_.end()) {
      seq = made->second;
    } else if (!read.source_id.empty()) {
      const auto known = imported_before(read.source_id);
      if (!known) return fail(ErrorCode::MESSAGE_NOT_FOUND, field + "source_id", "Import what was read first.");
      seq = *known;
    }
    if (!row->in_period()) return {};
    reads_[read.user] = seq;
    draft_.writes().dedup.emplace_back(key_of_read(read.user), DedupRecord{seq, {}});
    return {};
  }

  DedupKey key_of_read(const UserId& user) const {
    return {kForEverHour, digest_of({"import_read", command_.name, id_.value, user.value})};
  }

  /// Up to where a member has read. Where nothing was ever said of it, to the end of what is imported; but who had
  /// something unread before has it still, and so what lies above it.
  Seq read_by(const UserId& user, const UserConversation& row) {
    if (const auto given = reads_.find(user); given != reads_.end()) return given->second;
    const DedupKey key = key_of_read(user);
    if (const auto given = draft_.remembered(std::span(&key, 1))) return given->seq;
    const bool all_read = unread_of(draft_, user, row, before_, context_.params, parsed_.self()).count == 0;
    return all_read ? last_->seq : Seq();
  }

  /// Heads once, and pointers.
  void touch_members() {
    Notice notice{id_, nullptr, draft_.round(), {}};
    const std::vector<Member> members = draft_.conversation(id_)->members;
    for (const Member& member : members) {
      const UserId& user = member.user;
      UserConversation& row = draft_.edit_row(user, id_);
      const Seq read = read_by(user, row);
      // It brings a conversation that was removed back, from its first message on.
      if (row.removed && first_) draft_.touch_head(user, id_, *first_);
      notice.receivers.push_back(draft_.touch_head(user, id_, *last_));
      row.state_mark = row.head_mark;
      if (const auto own = own_.find(user); own != own_.end()) row.own += own->second;
      row.read = std::max(row.read, read);
      if (const auto named = named_.find(user); named != named_.end())
        for (const Seq seq : named->second) note_mention(row, seq);
      settle_floor(draft_, user, draft_.line(id_), row);
    }
    notices_.push_back(std::move(notice));
  }

  /// Nothing is new but how far some have read.
  void touch_readers() {
    for (const auto& [user, seq] : reads_) {
      UserConversation& row = draft_.edit_row(user, id_);
      if (row.read >= seq) continue;
      row.read = seq;
      settle_floor(draft_, user, draft_.line(id_), row);
      tell_state(draft_, user, id_, notices_);
    }
  }

  Result<Decision> finish() {
    if (last_)
      touch_members();
    else
      touch_readers();
    reply_.conversation = makes_group_ && command_.dry_run ? ConversationId() : id_;
    reply_.head = draft_.line(id_).seq;
    if (command_.dry_run) return Decision{reply_, {}, {}};
    return std::move(draft_).finish(reply_, std::move(notices_));
  }

  const ImportCommand& command_;
  const Context& context_;
  Draft draft_;
  ConversationId id_;
  ParsedConversation parsed_;
  bool makes_group_ = false;
  std::optional<Error> shut_;           // why nothing new may come
  LineHead before_;                     // where the log stood
  std::shared_ptr<const Entry> first_;  // the first message appended
  std::shared_ptr<const Entry> last_;   // the last entry appended; null: nothing is new
  std::map<std::string, Seq> seqs_;     // of this request's messages, by source_id
  std::map<UserId, std::uint64_t> own_;
  std::map<UserId, std::vector<Seq>> named_;  // messages that mention them
  std::map<UserId, Seq> reads_;
  ImportReply reply_;
  std::vector<Notice> notices_;
};

}  // namespace

Result<Decision> decide_import(View& view, const ImportCommand& command, const Context& context) {
  return Import(view, command, context).run();
}

}  // namespace tidemark
