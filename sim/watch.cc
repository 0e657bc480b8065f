// What is checked while a run goes on: of each round as it is published, of each input as a device stores it.
#include <fmt/format.h>

#include <algorithm>

#include "core/reads.h"
#include "sim/judged_world.h"
#include "sim/reactions.h"
#include "sim/rights.h"
#include "store/store_view.h"

namespace tidemark::sim {
namespace {

bool kills(EntryKind kind) {
  return kind == EntryKind::recall || kind == EntryKind::deletion;
}

/// The row is in a state from before the change.
bool lags(const Entry& row, const Entry& change) {
  if (row.dead()) return false;
  if (change.kind == EntryKind::reaction) return row.reacted < change.seq;
  return kills(change.kind) || row.revision < change.seq;
}

/// What a row has to show of changes of this kind. Who reads of a reaction when its message is gone is not told of it.
const Entry* last_shown(const LogBook& book, const ConversationId& id, Seq target, EntryKind kind) {
  const Entry* change = book.last_change(id, target, EntryKind::edit);
  return change && kills(change->kind) ? change : book.last_change(id, target, kind);
}

int rank_of(const Entry& row) {
  return row.dead() ? 2 : row.state == MessageState::edited ? 1 : 0;
}

}  // namespace

JudgedWorld::JudgedWorld(RunContext& run) : run_(run), server_(run, *this) {
  run_.leaving = [this](std::string_view bytes) {
    run_.ask(Judge::I11);
    if (const auto text = gone_.find_in(bytes))
      throw Violation("I11", fmt::format("text {} leaves the server after it was taken back", *text));
  };
}

SimDevice& JudgedWorld::add_device(const UserId& user, const std::string& name) {
  replica::Dice dice({run_.dice.next(), run_.dice.next() | 1});
  return devices_.emplace_back(run_, server_, *this, SimDevice::Name{user, DeviceId(name), user.value + "/" + name},
                               replica::MemoryStore(user, DeviceId(name), InstallId(dice.install_id())));
}

// --------------------------------------------------------------------------------------------------- the server

void JudgedWorld::on_published(const Outcome& outcome) {
  const auto snapshot = server_.snapshot();
  check_sessions(outcome);
  check_deleted();
  own_before_ = std::exchange(own_, OwnBook(snapshot));
  receipts_.published(users_);
  std::map<std::pair<ConversationId, Seq>, std::set<UserId>> told;
  for (const Notice& notice : outcome.notices) {
    if (notice.entry) gone_.lives(notice.entry->body.text);
    if (!notice.conversation.empty()) book_.read_on(*snapshot, notice.conversation);
    if (!notice.entry) continue;
    if (notice.entry->config && notice.entry->config->large) run_.hit(Counter::grown);
    if (notice.entry->kind == EntryKind::edit) {
      book_.note_text(notice.conversation, notice.entry->target, notice.entry->seq, notice.entry->body.text);
      hooks_.edited(notice.conversation, *notice.entry);
    }
    for (const Receiver& receiver : notice.receivers)
      told[{notice.conversation, notice.entry->seq}].insert(receiver.user);
  }
  for (const auto& [done, answer, ended] : outcome.answers) {
    if (!answer) continue;
    const auto* sent = std::get_if<SentReply>(&*answer);
    if (sent == nullptr) continue;
    run_.ask(Judge::I3);
    book_.read_on(*snapshot, sent->conversation);
    if (book_.entry(sent->conversation, sent->seq) == nullptr)
      throw Violation(
          "I3", fmt::format("{}:{} is acknowledged before it is durable", sent->conversation.value, sent->seq.value));
  }
  for (const Notice& notice : outcome.notices) {
    run_.ask(Judge::I13);
    indexes_.read_on(*snapshot, notice);
    if (notice.entry) check_notice(notice, told[{notice.conversation, notice.entry->seq}]);
  }
}

/// `told`: of its entry, by this and other notices.
void JudgedWorld::check_notice(const Notice& notice, const std::set<UserId>& told) {
  run_.ask(Judge::I3);
  run_.ask(Judge::I5, users_.size());
  run_.ask(Judge::I10, notice.receivers.size());
  const Entry& entry = *notice.entry;
  const std::string named = fmt::format("{}:{}", notice.conversation.value, entry.seq.value);
  if (const auto sender = deleted_.find(entry.sender); sender != deleted_.end() && sender->second == Deletion::done)
    throw Violation("I14", named + " is of a user who was deleted before");
  if (book_.entry(notice.conversation, entry.seq) == nullptr)
    throw Violation("I3", named + " is pushed before it is durable");
  for (const Receiver& receiver : notice.receivers) {
    const Sight sight = book_.sight(notice.conversation, receiver.user);
    const bool shows_target = (entry.kind == EntryKind::edit && entry.body != Body()) || entry.reaction;
    const bool target_hidden =
        !sight.sees(entry.target) || own_before_.of(receiver.user, notice.conversation).hides(entry.target);
    if (!sight.sees(entry.seq) || (shows_target && target_hidden))
      throw Violation("I10", fmt::format("{} is pushed to {}, who may not see it", named, receiver.user.value));
  }
  // Everybody in period is told of it, but who has taken the conversation out of his list.
  const auto concerns = [&](const UserId& user) {
    return !notice.large || (user != entry.sender && std::ranges::find(entry.mentions, user) != entry.mentions.end());
  };
  for (const UserId& user : users_)
    if (concerns(user) && book_.sight(notice.conversation, user).in_period(entry.seq) && !told.contains(user) &&
        !own_.of(user, notice.conversation).removed && !own_before_.of(user, notice.conversation).removed)
      throw Violation("I5", fmt::format("{} is not told of {}", user.value, named));
}

void JudgedWorld::on_told() {
  memory_.check(server_);
}

/// From now on what these recalls took back is nowhere in what leaves.
void JudgedWorld::on_telling(const Outcome& outcome) {
  memory_.on_telling(outcome);
  for (const Notice& notice : outcome.notices)
    if (notice.entry && kills(notice.entry->kind)) forget_texts(notice.conversation, notice.entry->target);
}

void JudgedWorld::on_started() {
  memory_.forget_users();
  logged_out_by_others_.clear();
  look_at_log();
  for (const auto& [id, log] : book_.logs())
    for (const auto& [seq, entry] : log)
      if (entry.dead()) forget_texts(id, seq);
}

void JudgedWorld::forget_texts(const ConversationId& id, Seq seq) {
  for (const auto& [revision, text] : book_.texts(id, seq))
    if (!book_.says(text)) gone_.add(text);
}

void JudgedWorld::look_at_log() {
  const auto snapshot = server_.snapshot();
  book_.read(*snapshot);
  own_ = OwnBook(snapshot);
  run_.ask(Judge::I13);
  indexes_.read(*snapshot);
  hooks_.check(snapshot);
  for (const auto& [id, log] : book_.logs()) {
    check_rights(id, log);
    check_reactions(id, log, server_.params());
  }
}

// --------------------------------------------------------------------------------------------------- the devices

void JudgedWorld::on_storing(SimDevice& device, const replica::StoreBatch& batch) {
  screens_.storing(device, batch);
  Seen& seen = seen_[&device];
  if (batch.device) {
    // Across an epoch states may go down.
    const replica::Pass& pass = batch.device->pass;
    const std::uint32_t epoch = pass.snapshot ? pass.epoch.number : batch.device->cursor.epoch.number;
    if (std::exchange(seen.epoch, epoch) != epoch) {
      seen.read.clear();
      seen.cleared.clear();
      seen.cursor = {};
    }
  }
  for (const replica::StoredRow& row : batch.rows)
    if (!row.note.provisional) check_stored(device, row);
  for (const replica::ConversationState& state : batch.conversations) {
    if (run_.tracing)
      device.show(fmt::format(
          "stores {}: sort {} head {} touch {} mark {} read {} (own {}) unread {}{}{}, touched {} tail {} cleared "
          "{} (own {}){}",
          state.id().value, state.object.sort_time, state.object.head_seq.value, state.object.touch_seq.value,
          state.object.mark.value, state.object.read.value, state.local_read.value, state.object.unread.count,
          state.object.unread.exact ? "" : "+", state.object.unread_flag ? " flag" : "", state.touched.value,
          state.tail.value, state.object.cleared.value, state.local_cleared.value,
          state.object.removed ? " removed" : ""));
    if (state.stale || !knows_of_restores(device, state.id())) continue;
    receipts_.learned(device.user(), state.id(), std::max(state.object.head_seq, state.tail));
    check_object(device, state.object);
    run_.ask(Judge::I9);
    Seq& read = seen.read[state.id()];
    if (state.object.read < read)
      throw Violation("I9", fmt::format("{} shows {} read to {}, and showed {} before", device.name().shown,
                                        state.id().value, state.object.read.value, read.value));
    read = std::max(read, state.object.read);
    Seq& cleared = seen.cleared[state.id()];
    if (state.object.cleared < cleared)
      throw Violation("I9", fmt::format("{} shows {} cleared to {}, and showed {} before", device.name().shown,
                                        state.id().value, state.object.cleared.value, cleared.value));
    cleared = std::max(cleared, state.object.cleared);
    if (const auto* stored = device.store().conversation(state.id()))
      if (stored->state.object.removed && !state.object.removed) run_.hit(Counter::came_back);
  }
  check_touched(device, batch);
  for (const ConversationId& id : batch.dropped) {
    seen.read.erase(id);
    seen.cleared.erase(id);
  }
  if (!batch.device) return;
  run_.ask(Judge::I6);
  const Mark mark = batch.device->cursor.mark;
  if (mark < seen.cursor && !batch.device->cursor.empty())
    throw Violation("I6", device.name().shown + "'s cursor goes back");
  seen.cursor = mark;
  receipts_.reached(device.user(), batch.device->cursor);
  if (batch.device->cursor.epoch.number != server_.epoch()) return;
  if (mark > indexes_.mark(device.user()) && server_.up()) look_at_log();
  if (mark > indexes_.mark(device.user()))
    throw Violation("I13", device.name().shown + "'s cursor leads the index of its user");
}

/// A row is one that the log had at some time, and may be seen.
void JudgedWorld::check_stored(const SimDevice& device, const replica::StoredRow& row) {
  const ConversationId& id = row.conversation;
  const Entry& entry = *row.entry;
  if (!knows_of_restores(device, id)) return;
  const auto known = [&] {
    const Entry* truth = book_.entry(id, entry.seq);
    return truth != nullptr && rank_of(entry) <= rank_of(*truth) && entry.revision <= truth->revision;
  };
  if (!known() && server_.up()) look_at_log();
  const std::string named = fmt::format("{}:{} on {}", id.value, entry.seq.value, device.name().shown);
  if (!known()) throw Violation("I3", named + " is not in the log, or not in this state");
  for (const Judge judge : {Judge::I2, Judge::I3, Judge::I7, Judge::I10}) run_.ask(judge);
  const Entry& truth = *book_.entry(id, entry.seq);
  if (!book_.sight(id, device.user()).sees(entry.seq)) throw Violation("I10", named + " may not be seen");
  if (truth.sender != entry.sender) throw Violation("I2", named + " is of somebody else");
  if (!entry.countable() || entry.dead()) return;
  const LogBook::Texts& texts = book_.texts(id, entry.seq);
  const auto said = texts.find(entry.revision);
  // What was edited again before anybody looked is not known.
  const bool same = said == texts.end() ||
                    (entry.body.cut ? said->second.starts_with(entry.body.text) : said->second == entry.body.text);
  if (!same) throw Violation("I2", named + " says something else than the log");
}

/// What a device shows of a conversation names nothing that its log does not hold.
void JudgedWorld::check_object(const SimDevice& device, Change object) {
  run_.ask(Judge::I13);
  // Until it is told, a device has to take what it does not know for a change of any row.
  if (device.old_version() && device.old_version()->strange(object.conversation, object.touch_seq))
    object.touch_seq = {};
  if (!indexes_.leads(device.user(), object).empty() && server_.up()) look_at_log();
  const std::string wrong = indexes_.leads(device.user(), object);
  if (!wrong.empty()) throw Violation("I13", device.name().shown + " shows its list as if " + wrong);
}

/// Until it does, what it holds and takes is of a server that is no more.
bool JudgedWorld::knows_of_restores(const SimDevice& device, const ConversationId& id) const {
  const auto* stored = device.store().conversation(id);
  const replica::DeviceState& state = device.store().device();
  const std::uint32_t epoch = state.pass.snapshot ? state.pass.epoch.number : state.cursor.epoch.number;
  return stored ? stored->state.epoch == server_.epoch() : epoch == server_.epoch() || server_.epoch() == 1;
}

/// A row whose last change lies up to `touched` is as that has left it, and no row goes back.
void JudgedWorld::check_touched(const SimDevice& device, const replica::StoreBatch& batch) const {
  const auto after = [&](const ConversationId& id, Seq seq) -> const replica::StoredRow* {
    const auto fresh = std::ranges::find_if(batch.rows.rbegin(), batch.rows.rend(), [&](const auto& row) {
      return row.note.seq == seq && row.conversation == id;
    });
    if (fresh != batch.rows.rend()) return &*fresh;
    const bool dropped = std::ranges::any_of(batch.dropped_rows, [&](const auto& rows) {
      return rows.first == id && rows.second.after < seq && seq <= rows.second.to;
    });
    const auto* stored = device.store().conversation(id);
    if (dropped || stored == nullptr || !stored->rows.contains(seq)) return nullptr;
    return &stored->rows.at(seq);
  };
  const auto fault = [&](const ConversationId& id, Seq seq, Seq touched) {
    // What his user has deleted on another device is told no more of, and goes as soon as this one learns of it.
    if (own_.of(device.user(), id).hides(seq)) return;
    throw Violation("I7", fmt::format("{}:{} on {} is older than the changes up to {} which it says to have", id.value,
                                      seq.value, device.name().shown, touched.value));
  };
  std::map<ConversationId, Seq> touched;
  for (const replica::ConversationState& state : batch.conversations) {
    touched[state.id()] = state.touched;
    if (!knows_of_restores(device, state.id())) continue;
    const auto* stored = device.store().conversation(state.id());
    const LogBook::Log& log = book_.log(state.id());
    for (auto it = log.upper_bound(stored ? stored->state.touched : Seq()); it != log.end(); ++it) {
      if (it->first > state.touched) break;
      const Seq target = it->second.target;
      if (!target || last_shown(book_, state.id(), target, it->second.kind) != &it->second) continue;
      const auto* row = after(state.id(), target);
      if (state.lost.contains(target)) continue;  // is here alone, as it was
      if (row && !row->note.provisional && lags(*row->entry, it->second)) fault(state.id(), target, state.touched);
    }
  }
  for (const replica::StoredRow& row : batch.rows) {
    if (!knows_of_restores(device, row.conversation)) continue;
    const auto* stored = device.store().conversation(row.conversation);
    const Seq seq = row.note.seq;
    if (after(row.conversation, seq) != &row) continue;
    const Seq up_to = touched.contains(row.conversation) ? touched[row.conversation]
                      : stored                           ? stored->state.touched
                                                         : Seq();
    for (const EntryKind kind : {EntryKind::edit, EntryKind::reaction}) {
      const Entry* change = last_shown(book_, row.conversation, seq, kind);
      if (change && change->seq <= up_to && !row.note.provisional && lags(*row.entry, *change))
        fault(row.conversation, seq, up_to);
    }
    if (stored == nullptr || !stored->rows.contains(seq) || stored->rows.at(seq).note.provisional) continue;
    const Entry& before = *stored->rows.at(seq).entry;
    const bool less_known = row.entry->revision < before.revision || row.entry->reacted < before.reacted;
    if (rank_of(*row.entry) < rank_of(before) || (!row.entry->dead() && less_known))
      throw Violation("I9", fmt::format("{}:{} on {} goes back to an earlier state", row.conversation.value, seq.value,
                                        device.name().shown));
  }
}

bool JudgedWorld::on_answer(SimDevice& device, replica::ServerFrame& frame) {
  if (run_.tracing) trace_answer(device, frame);
  screens_.answered(device, frame);
  if (const auto* push = std::get_if<replica::Push>(&frame.answer)) {
    run_.hit(Counter::pushes);
    order_.pushed(device, *push);
    for (const PushItem& item : push->items) {
      if (item.part == ItemPart::entry)
        run_.hit(Counter::ahead);
      else if (!item.index_to)
        run_.hit(Counter::open_entries);
    }
  }
  if (std::holds_alternative<replica::Hint>(frame.answer)) run_.hit(Counter::hints);
  if (const auto* welcome = std::get_if<replica::Welcome>(&frame.answer)) {
    order_.welcomed(device);
    receipts_.welcomed(device);
    if (welcome->mode == Mode::reset) run_.hit(Counter::resets);
    if (welcome->mode == Mode::rollback) run_.hit(Counter::rollbacks);
  }
  if (const auto* error = std::get_if<Error>(&frame.answer)) {
    if (error->code == ErrorCode::NEW_INSTALL_REQUIRED) run_.hit(Counter::new_installs);
    if (error->code == ErrorCode::RETRY_LATER) run_.hit(Counter::put_off);
    if (error->code == ErrorCode::INTERNAL) throw Violation("server", "an answer says INTERNAL: " + error->message());
  }
  if (const auto* sync = std::get_if<replica::SyncAnswer>(&frame.answer)) {
    if (device.store().device().pass.snapshot) run_.hit(Counter::snapshots);
    if (sync->page.more) run_.hit(Counter::descents);
  }
  if (const auto* page = std::get_if<ConversationPage>(&frame.answer)) {
    const auto* held = device.store().conversation(page->conversation);
    if (held && !held->state.coverage.empty() && page->covers.to > held->state.tail) run_.hit(Counter::gaps);
    if (page->hole.to > page->hole.after) run_.hit(Counter::holes);
    if (!page->hidden.empty()) run_.hit(Counter::hidden);
    if (!page->touched.empty()) run_.hit(Counter::touched_rows);
    if (page->touch_cursor) run_.hit(Counter::touch_pages);
  }
  if (const auto* page = std::get_if<HistoryPage>(&frame.answer)) {
    if (!page->hidden.empty()) run_.hit(Counter::hidden);
    count_page(device, frame.id, *page);
  }
  if (const auto* sent = std::get_if<SentReply>(&frame.answer))
    if (sent->duplicate) run_.hit(Counter::duplicates);
  if (const auto* mutated = std::get_if<MutatedReply>(&frame.answer)) note_change(device, *mutated);
  expect_passing(device, frame);
  return true;
}

/// What had changed while it was on its way.
void JudgedWorld::count_page(const SimDevice& device, std::uint64_t request, const HistoryPage& page) {
  const auto found = device.engine().conversations().find(page.conversation);
  if (found == device.engine().conversations().end() || found->second.pull != request) return;
  const replica::Held& held = found->second;
  if (held.state.coverage.empty() || page.as_of >= held.state.touched) return;
  if (page.as_of < held.since.from) return;  // dropped
  for (const Entry& row : page.messages)
    if (std::ranges::any_of(held.since.changes, [&](const auto& each) { return each.second->target == row.seq; }))
      return run_.hit(Counter::overtaken_pages);
}

/// A recall or an edit that a device is told to be done has to stay done.
void JudgedWorld::note_change(const SimDevice& device, const MutatedReply& reply) {
  const auto& open = device.store().mutations();
  const auto found = open.find(reply.number);
  if (found == open.end() || found->second.conversation != reply.conversation) return;
  const replica::MutationItem& item = found->second;
  if (!knows_of_restores(device, item.conversation)) return;
  const Entry* made = book_.entry(reply.conversation, reply.seq);
  if (reply.seq && (made == nullptr || made->target != item.seq)) return;
  if (item.kind == replica::MutationKind::recall) {
    run_.hit(Counter::recalls_done);
    book_.acknowledge_recall(item.conversation, item.seq);
  } else if (item.kind == replica::MutationKind::edit && reply.seq) {
    run_.hit(Counter::edits_done);
    book_.acknowledge_edit(item.conversation, reply.seq, item.seq, item.body.text);
  }
}

void JudgedWorld::on_restored(SimDevice& device) {
  Seen& seen = seen_[&device];
  seen = {};
  seen.stepped_back = true;
}

// ------------------------------------------------------------------------------------------------------- backups

void JudgedWorld::back_up_server() {
  look_at_log();
  server_.back_up();
  backup_ = book_;
  own_backup_ = own_;
}

void JudgedWorld::restore_server() {
  run_.hit(Counter::restores);
  if (server_.up()) server_.crash(SimDisk::Fate::lost);
  server_.restore();
  book_.restore(*backup_);
  own_ = own_before_ = own_backup_;
  receipts_.published(users_);
  for (auto& [user, deletion] : deleted_) deletion = Deletion::begun;
  // A recall may be lost too: then its text is there again.
  gone_.clear();
  bot_cursors_.clear();
  bot_messages_.clear();
}

// ------------------------------------------------------------------------------------------------------- the bot

/// A page of bodies "all", and the next ones later, whatever happens in between.
void JudgedWorld::run_bot(const UserId& user) {
  if (!server_.up()) return;
  const auto query = std::make_shared<SyncQuery>();
  query->user = user;
  query->cursor = bot_cursors_[user];
  query->bodies = Bodies::all;
  query->limit = static_cast<std::uint32_t>(run_.dice.between(1, run_.plan.bot_page_max));
  query->byte_budget = static_cast<std::uint64_t>(run_.dice.between(1, run_.plan.bot_bytes_max));
  // One run at a time: a second one would take the same messages again.
  std::vector<std::pair<ConversationId, Seq>> taken;
  for (int pages = 0; pages < 100'000; ++pages) {
    StoreView view(server_.snapshot());
    const auto page = read_sync(view, server_.params(), *query);
    if (!page) throw Violation("I15", "a bot's page is refused: " + page.error().message());
    for (const Change& change : page->changes)
      for (const Entry& entry : change.messages) {
        taken.emplace_back(change.conversation, entry.seq);
        if (gone_.find_in(entry.body.text)) throw Violation("I11", "a bot gets a text that was taken back");
      }
    if (page->complete()) {
      bot_cursors_[user] = page->next;
      break;
    }
    query->p0 = page->p0;
    query->p0_round = page->p0_round;
    query->resume_conversation = page->resume_conversation;
    query->resume_after = page->resume_after;
    query->resume_objects = page->resume_objects;
  }
  run_.hit(Counter::bot_runs);
  run_.ask(Judge::I11, taken.size());
  run_.ask(Judge::I15, taken.size());
  for (const auto& message : taken)
    if (++bot_messages_[user][message] > 1)
      throw Violation("I15",
                      fmt::format("{}'s bot got {}:{} twice", user.value, message.first.value, message.second.value));
}

}  // namespace tidemark::sim
