#include "core/replica/fold.h"

#include <algorithm>

#include "core/body.h"

namespace tidemark::replica {

bool outranks(const RowNote& a, const RowNote& b) {
  const bool a_dead = a.state >= MessageState::recalled;
  const bool b_dead = b.state >= MessageState::recalled;
  if (a_dead || b_dead) return a_dead && !b_dead;  // of a dead message all revisions are alike
  return a.revision > b.revision;
}

bool touches_nothing(EntryKind kind) {
  return kind == EntryKind::message || kind == EntryKind::member || kind == EntryKind::config;
}

bool changes_target(EntryKind kind) {
  return kind == EntryKind::edit || kind == EntryKind::recall || kind == EntryKind::deletion;
}

Entry folded(Entry row, const Entry& change) {
  if (row.dead()) return row;
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
  row.state = further.state;
  row.revision = further.revision;
  row.touched_by = further.touched_by;
  row.body = further.body;
  row.reply_to = further.reply_to;
  row.mentions = further.mentions;
  row.mention_all = further.mention_all;
  return row;
}

}  // namespace tidemark::replica
