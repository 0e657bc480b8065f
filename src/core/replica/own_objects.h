// Drafts, settings and blocks of this user as he makes them here: shown at once, told to the server under numbers, one
// at a time for each; the later commit wins on all devices alike (design, section 7). A wish of which it is not known
// whether it was made, and replaced since, is decided anew after a sync (docs/decisions/0024-wishes-in-doubt.md).
#pragma once

#include "core/replica/mutations.h"

namespace tidemark::replica {

class IndexLine;

class OwnObjects {
 public:
  OwnObjects(Workspace& workspace, Mutations& mutations, const StoreImage& image);

  /// MALFORMED for what is no draft, setting or block; LIMIT_REACHED for one too many or too large.
  Result<void> set(UserObject wish);
  /// As shown here; nothing: never made.
  std::optional<UserObject> find(const std::string& name) const;
  /// All that are there, by name.
  std::vector<UserObject> all() const;

  // From the index.
  void take(const UserObject& object);
  /// What is not named by the snapshot goes.
  void sweep();
  /// Another epoch: the server's replace those held, whatever their marks say.
  void expect_anew();

  void on_mutated(const MutationItem& item, const MutatedReply& reply);
  void on_refused(const MutationItem& item, const Error& error);
  /// Every wish is a copy's: it may have been made and replaced.
  void on_new_install();
  void on_link_down() { run_.reset(); }
  /// Decides what is in doubt, once a sync that began after the doubt has come to its end.
  void look_again(IndexLine& index);
  void work();
  /// All of them have their numbers.
  bool settled() const;

 private:
  void store(const ObjectState& state);
  void doubt(const std::string& name, ObjectState& state);
  void decide(ObjectState& state);
  void answered(const MutationItem& item, const std::function<void(ObjectState&)>& settle);

  Workspace& ws_;
  Mutations& mutations_;
  std::map<std::string, ObjectState> objects_;
  std::set<std::string> in_flight_;
  /// Wishes that have no number and want none yet; in the store they are known by that.
  std::set<std::string> in_doubt_;
  std::optional<std::uint64_t> run_;  // the sync that they wait for
};

}  // namespace tidemark::replica
