#include "core/replica/fold.h"

#include <algorithm>

#include "core/body.h"

namespace tidemark::replica {

bool outranks(const RowNote& a, const RowNote& b) {
  const bool a_dead = a.state >= MessageState::recalled;
  const bool b_dead = b.state >= MessageState::recalled;
  if (a_dead || b_dead) return a_dead && !b_dead;  // of a dead message all revisions are alike
  return a.revision > b.revision || a.reacted > b.reacted;
}

bool touches_nothing(EntryKind kind) {
  return kind == EntryKind::message || kind == EntryKind::member || kind == EntryKind::config;
}

bool changes_target(EntryKind kind) {
  return kind == EntryKind::edit || kind == EntryKind::recall || kind == EntryKind::deletion ||
         kind == EntryKind::reaction;
}

bool is_known(EntryKind kind) {
  return touches_nothing(kind) || changes_target(kind);
}

namespace {

/// What the change left, and of whose reactions this user's are: as they were but for what he changed.
Entry reacted(Entry row, const Entry& change, const UserId& me) {
  if (change.seq <= row.reacted || !change.reaction) return row;
  std::vector<Reaction> left = change.reactions;
  for (Reaction& reaction : left) {
    const auto before = std::ranges::find(row.reactions, reaction.name, &Reaction::name);
    reaction.mine = before != row.reactions.end() && before->mine;
    if (change.sender == me && reaction.name == change.reaction->name) reaction.mine = change.reaction->on;
  }
  row.reactions = std::move(left);
  row.reacted = change.seq;
  row.touched_by = std::max(row.touched_by, change.seq);
  return row;
}

}  // namespace

Entry folded(Entry row, const Entry& change, const UserId& me) {
  if (row.dead()) return row;
  if (change.kind == EntryKind::reaction) return reacted(std::move(row), change, me);
  if (change.kind == EntryKind::edit) {
    if (change.seq <= row.revision) return row;
    row.state = MessageState::edited;
    row.revision = change.seq;
    row.body = change.body;
  } else {
    row.state = change.kind == EntryKind::recall ? MessageState::recalled : MessageState::deleted;
    erase_content(row);
  }
  row.touched_by = std::max(row.touched_by, change.seq);
  return row;
}

Entry brought_to(Entry row, const Entry& further) {
  if (row.dead()) return row;
  if (further.dead() || further.revision > row.revision) {
    row.state = further.state;
    row.revision = further.revision;
    row.body = further.body;
    row.reply_to = further.reply_to;
    row.mentions = further.mentions;
    row.mention_all = further.mention_all;
  }
  if (further.dead() || further.reacted > row.reacted) {
    row.reactions = further.reactions;
    row.reacted = further.reacted;
  }
  row.touched_by = std::max(row.touched_by, further.touched_by);
  return row;
}

}  // namespace tidemark::replica
