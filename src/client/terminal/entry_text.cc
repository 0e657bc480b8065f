#include "client/terminal/entry_text.h"

#include "client/terminal/text_width.h"

namespace tidemark::terminal {
namespace {

std::string names(const std::vector<UserId>& users, const UserId& but = {}) {
  std::string out;
  for (const UserId& user : users)
    if (user != but) out += (out.empty() ? "" : ", ") + user.value;
  return out;
}

std::string body_text(const std::string& type, const std::string& text, const std::string& summary) {
  if (!text.empty()) return text;
  if (!summary.empty()) return summary;
  return type.empty() || type == "text" ? "" : "[" + type + "]";
}

std::string dead_text(MessageState state) {
  return state == MessageState::recalled ? "message recalled" : "message deleted";
}

std::string reaction_text(const Entry& entry) {
  const std::string target = std::to_string(entry.target.value);
  if (!entry.reaction) return entry.sender.value + " reacted to " + target;
  return entry.sender.value + (entry.reaction->on ? " put " : " took ") + entry.reaction->name +
         (entry.reaction->on ? " on " : " from ") + target;
}

std::string member_text(const Entry& entry, const MemberChange& change) {
  const bool alone = change.users.size() == 1 && change.users.front() == entry.sender;
  switch (change.action) {
    case MemberAction::joined:
      return alone ? entry.sender.value + " joined"
                   : entry.sender.value + " added " + names(change.users, entry.sender);
    case MemberAction::left:
      return names(change.users) + " left";
    case MemberAction::removed:
      return entry.sender.value + " removed " + names(change.users);
    case MemberAction::role:
      return names(change.users) + (change.role == Role::owner   ? " owns the group now"
                                    : change.role == Role::admin ? " is an admin now"
                                                                 : " is no admin any more");
    case MemberAction::muted:
      return entry.sender.value + (change.muted_until != 0 ? " muted " : " unmuted ") + names(change.users);
  }
  return {};
}

std::string config_text(const Entry& entry, const ConfigChange& change) {
  if (change.dissolved) return entry.sender.value + " dissolved the group";
  if (!change.title.empty()) return entry.sender.value + " named the group " + change.title;
  if (change.policy) return entry.sender.value + " changed who may do what";
  if (change.large) return *change.large ? "this is a large group now" : "this is a small group again";
  return entry.sender.value + " changed the group";
}

}  // namespace

std::string entry_text(const Entry& entry) {
  if (entry.member) return member_text(entry, *entry.member);
  if (entry.config) return config_text(entry, *entry.config);
  if (entry.dead()) return dead_text(entry.state);
  if (entry.kind == EntryKind::reaction) return reaction_text(entry);
  std::string text = body_text(entry.body.type, entry.body.text, entry.body.summary);
  for (const Attachment& file : entry.body.attachments) text += (text.empty() ? "[" : " [") + file.url + ']';
  if (entry.body.cut) text += "… (" + std::to_string(entry.body.cut->size_bytes) + " bytes)";
  if (entry.state == MessageState::edited) text += " (edited)";
  for (const Reaction& reaction : entry.reactions)
    text += "  " + reaction.name + ' ' + std::to_string(reaction.count) + (reaction.mine ? "*" : "");
  return text;
}

std::string preview_text(const Change& conversation) {
  const Preview& preview = conversation.preview;
  if (!preview.seq) return {};
  const bool dead = preview.state == MessageState::recalled || preview.state == MessageState::deleted;
  std::string text = dead ? dead_text(preview.state) : body_text(preview.type, preview.text, {});
  if (preview.cut && !dead) text += "…";
  if (conversation.kind == ConversationKind::group) text = preview.sender.value + ": " + text;
  return printable(text);
}

std::string conversation_name(const Change& conversation) {
  if (!conversation.title.empty()) return printable(conversation.title);
  if (!conversation.peer.empty()) return printable(conversation.peer.value);
  return printable(conversation.conversation.value);
}

std::string unread_text(const Unread& unread, bool flag) {
  if (unread.count == 0) return flag ? "•" : "";
  return std::to_string(unread.count) + (unread.exact ? "" : "+");
}

}  // namespace tidemark::terminal
