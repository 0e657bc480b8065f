#include "core/replica/own_objects.h"

#include <algorithm>

#include "core/params.h"
#include "core/replica/index_line.h"
#include "core/replica/objects.h"

namespace tidemark::replica {
namespace {

bool same_content(const UserObject& a, const UserObject& b) {
  const auto* draft = std::get_if<SavedDraft>(&a.what);
  const auto* other = std::get_if<SavedDraft>(&b.what);
  if (draft == nullptr || other == nullptr) return a.what == b.what;
  return draft->body == other->body && draft->reply_to == other->reply_to;  // the server says when
}

std::string name_of(const MutationItem& item) {
  if (item.kind == MutationKind::draft) return name_of_draft(item.conversation);
  return item.kind == MutationKind::setting ? name_of_setting(item.name) : name_of_blocked(UserId(item.name));
}

MutationItem item_of(const UserObject& wish) {
  MutationItem item;
  if (const auto* draft = std::get_if<SavedDraft>(&wish.what)) {
    item.kind = MutationKind::draft;
    item.conversation = draft->conversation;
    item.body = draft->body;
    item.seq = draft->reply_to;
  } else if (const auto* setting = std::get_if<Setting>(&wish.what)) {
    item.kind = MutationKind::setting;
    item.name = setting->name;
    item.value = setting->value;
  } else if (const auto* blocked = std::get_if<BlockedUser>(&wish.what)) {
    item.kind = MutationKind::block;
    item.name = blocked->user.value;
    item.on = blocked->blocked;
  }
  return item;
}

/// The same object with nothing in it.
UserObject emptied(UserObject object) {
  if (auto* draft = std::get_if<SavedDraft>(&object.what)) *draft = {draft->conversation};
  if (auto* setting = std::get_if<Setting>(&object.what)) setting->value.clear();
  if (auto* blocked = std::get_if<BlockedUser>(&object.what)) blocked->blocked = false;
  object.mark = {};
  return object;
}

}  // namespace

OwnObjects::OwnObjects(Workspace& workspace, Mutations& mutations, const StoreImage& image)
    : ws_(workspace), mutations_(mutations) {
  for (const ObjectState& state : image.objects) objects_[tidemark::name_of(state.object)] = state;
  for (const MutationItem& item : image.mutations)
    if (item.kind >= MutationKind::draft) in_flight_.insert(name_of(item));
  for (const auto& [name, state] : objects_)
    if (state.wish && !state.wanting && !in_flight_.contains(name)) in_doubt_.insert(name);
}

Result<void> OwnObjects::set(UserObject wish) {
  if (std::holds_alternative<DeletedBlock>(wish.what) || std::holds_alternative<DevicesChanged>(wish.what))
    return fail(ErrorCode::MALFORMED, "object");
  const auto* draft = std::get_if<SavedDraft>(&wish.what);
  if (draft != nullptr && body_bytes(draft->body) > ws_.options.body_bytes_max)
    return fail(ErrorCode::TOO_LARGE, "body", "At most " + std::to_string(ws_.options.body_bytes_max) + " bytes.");
  std::string name = tidemark::name_of(wish);
  const auto found = objects_.find(name);
  if (found == objects_.end() && objects_.size() >= ws_.options.objects_max)
    return fail(ErrorCode::LIMIT_REACHED, "object", "Too many drafts and settings.");
  ObjectState& state = found != objects_.end() ? found->second : objects_[name];
  if (found == objects_.end()) state.object = emptied(wish);
  // One in doubt is shown, and may yet be dropped: wished for again, it is made.
  if (in_doubt_.erase(name) == 0 && same_content(state.shown(), wish)) return {};
  wish.mark = state.object.mark;
  state.wish = std::move(wish);
  state.wanting = true;
  store(state);
  ws_.raise(ObjectEvent{*state.wish});
  return {};
}

std::optional<UserObject> OwnObjects::find(const std::string& name) const {
  const auto found = objects_.find(name);
  return found == objects_.end() ? std::nullopt : std::optional(found->second.shown());
}

std::vector<UserObject> OwnObjects::all() const {
  std::vector<UserObject> shown;
  for (const auto& [name, state] : objects_)
    if (!state.shown().empty()) shown.push_back(state.shown());
  return shown;
}

// ------------------------------------------------------------------------------------------- from the index

void OwnObjects::take(const UserObject& object) {
  std::string name = tidemark::name_of(object);
  const auto [place, fresh] = objects_.try_emplace(std::move(name));
  ObjectState& state = place->second;
  if (fresh) state.object = emptied(object);
  if (std::exchange(state.named, ws_.device().pass.id) != ws_.device().pass.id) store(state);
  if (!fresh && object.mark <= state.object.mark) return;  // an answer may have told of a later moment
  const bool differs = fresh ? !object.empty() : !state.wish && !same_content(state.object, object);
  state.object = object;
  store(state);
  if (differs) ws_.raise(ObjectEvent{object});
}

void OwnObjects::store(const ObjectState& state) {
  // Swept by the same input: stores take what is removed away last.
  std::erase(ws_.out.batch.objects_removed, tidemark::name_of(state.object));
  ws_.out.batch.objects.push_back(state);
}

void OwnObjects::sweep() {
  for (auto it = objects_.begin(); it != objects_.end();) {
    ObjectState& state = it->second;
    const bool named = state.named == ws_.device().pass.id;
    if (named || state.wish) {
      if (!named) state.object = emptied(state.object), store(state);
      ++it;
      continue;
    }
    if (!state.object.empty()) ws_.raise(ObjectEvent{emptied(state.object)});
    std::erase_if(ws_.out.batch.objects, [&](const ObjectState& each) { return each.object == state.object; });
    ws_.out.batch.objects_removed.push_back(it->first);
    it = objects_.erase(it);
  }
}

void OwnObjects::expect_anew() {
  for (auto& [name, state] : objects_) {
    state.object.mark = {};
    store(state);
  }
}

// ---------------------------------------------------------------------------------------------------- asking

bool OwnObjects::settled() const {
  return in_doubt_.empty() && std::ranges::none_of(objects_, [](const auto& each) { return each.second.wanting; });
}

void OwnObjects::on_new_install() {
  for (auto& [name, state] : objects_)
    if (state.wish) doubt(name, state), store(state);
}

void OwnObjects::doubt(const std::string& name, ObjectState& state) {
  state.wanting = false;
  in_doubt_.insert(name);
  run_.reset();
}

void OwnObjects::look_again(IndexLine& index) {
  if (in_doubt_.empty()) return;
  if (!run_) run_ = index.begin_run();
  if (!index.done(*run_) || !index.in_step()) return;
  for (const std::string& name : std::exchange(in_doubt_, {})) {
    ObjectState& state = objects_.at(name);
    decide(state);
    store(state);
  }
}

/// Nothing has changed since it was made: neither was it done, nor would it take anything back.
void OwnObjects::decide(ObjectState& state) {
  if (state.object.mark <= state.wish->mark) {
    state.wanting = true;
    return;
  }
  const UserObject dropped = *std::exchange(state.wish, std::nullopt);
  if (same_content(dropped, state.object)) return;
  ws_.raise(ObjectEvent{state.object});
  const MutationItem item = item_of(dropped);
  ws_.raise(ChangeRefusedEvent{item.conversation, item.kind, item.seq, item.body,
                               Error{ErrorCode::MUTATION_EXPIRED, "", "It has been changed elsewhere since."}});
}

void OwnObjects::work() {
  for (auto& [name, state] : objects_) {
    if (!state.wanting || in_flight_.contains(name)) continue;
    if (mutations_.full()) return;
    state.wanting = false;
    store(state);
    in_flight_.insert(name);
    mutations_.add(item_of(*state.wish));
  }
}

void OwnObjects::answered(const MutationItem& item, const std::function<void(ObjectState&)>& settle) {
  const std::string name = name_of(item);
  in_flight_.erase(name);
  const auto found = objects_.find(name);
  if (found == objects_.end()) return;
  settle(found->second);
  store(found->second);
}

void OwnObjects::on_mutated(const MutationItem& item, const MutatedReply& reply) {
  answered(item, [&](ObjectState& state) {
    if (!state.wish) return;
    if (state.wanting) {  // the user has changed it again since, and what he saw was this
      state.wish->mark = std::max(state.wish->mark, reply.mark);
      return;
    }
    UserObject made = *std::exchange(state.wish, std::nullopt);
    // Another device may have been later: what the index tells of it stands.
    if (reply.mark < state.object.mark) {
      if (!same_content(made, state.object)) ws_.raise(ObjectEvent{state.object});
      return;
    }
    made.mark = reply.mark;
    state.object = std::move(made);
  });
}

void OwnObjects::on_refused(const MutationItem& item, const Error& error) {
  const bool expired = error.code == ErrorCode::MUTATION_EXPIRED;
  const bool again = error.code == ErrorCode::MUTATION_CONFLICT || expired;
  answered(item, [&](ObjectState& state) {
    if (!state.wish) return;
    if (expired && !state.wanting) {
      doubt(tidemark::name_of(state.object), state);
    } else if (again) {
      state.wanting = true;
    } else if (!state.wanting) {
      state.wish.reset();
      ws_.raise(ObjectEvent{state.object});
    }
  });
  if (!again) ws_.raise(ChangeRefusedEvent{item.conversation, item.kind, item.seq, item.body, error});
}

}  // namespace tidemark::replica
