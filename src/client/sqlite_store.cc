// The file, format version 5. Values are those of client/replica_codec.h; a change of them is a new format version.
//
//   application_id   kApplicationId: what makes the file a store of ours
//   user_version     the format version
//
//   device         one row: the device's state, and `total`, which stands for everything in the file
//   conversations  id -> state
//   rows           (conversation, seq) -> what the rules need of it and the digest of the entry; the entry
//   outbox         local id -> message
//   mutations      number -> change
//   objects        name (core/user_object.h) -> draft, setting or block
//
// SQLite finds a page that makes no sense; it does not find a changed byte in a value, or an old page among new ones.
// `total` does: it is the exclusive or of a digest of every key and value, entries by their digest, and is written with
// every batch.
#include "client/sqlite_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/codec.h"
#include "base/hash.h"
#include "client/replica_codec.h"
#include "client/sqlite.h"
#include "client/timeline_gap.h"

namespace tidemark {
namespace {

using sqlite::Database;
using sqlite::Statement;

constexpr const char* kFormatVersion = "5";
constexpr const char* kApplicationId = "1414349643";  // "TMRK"

constexpr const char* kSchema[] = {
    "CREATE TABLE device(id INTEGER PRIMARY KEY CHECK(id=1), value BLOB NOT NULL, total INTEGER NOT NULL) STRICT",
    "CREATE TABLE conversations(id TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
    ("CREATE TABLE rows(conversation TEXT NOT NULL, seq INTEGER NOT NULL, value BLOB NOT NULL, entry BLOB NOT NULL, "
     "PRIMARY KEY(conversation, seq)) STRICT, WITHOUT ROWID"),
    "CREATE TABLE outbox(id INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT",
    "CREATE TABLE mutations(id INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT",
    "CREATE TABLE objects(id TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
};

/// SQLite's integers are signed. No log has so many entries; where an interval ends is cut to the largest.
constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
std::int64_t integer_of(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min(value, kLargest));
}

std::uint64_t number_of(const Digest& digest) {
  return ByteReader(bytes_of(digest)).be64();
}

/// What a key and its value add to the total.
std::uint64_t sum_of(std::string_view table, std::string_view name, std::int64_t number, std::string_view value) {
  std::string key;
  ByteWriter(key).be64(static_cast<std::uint64_t>(number));
  return number_of(digest_of({table, name, key, value}));
}

/// What stands beside an entry: its note, and the digest by which it is known again.
std::string noted(const replica::RowNote& note, std::string_view entry) {
  std::string value;
  ByteWriter(value).be64(number_of(digest_of({entry})));
  return value + encode_stored(note);
}

class SqliteStore final : public ReplicaStore {
 public:
  explicit SqliteStore(std::string path) : path_(std::move(path)) {}

  Result<void> open();
  Result<void> apply(const replica::StoreBatch& batch) override;
  Result<replica::StoreImage> load() override;
  Result<void> erase_all(const replica::DeviceState& device) override;
  Result<std::vector<TimelineRow>> rows(const ConversationId& conversation, Seq before, std::size_t limit) override;

 private:
  /// A table with values under a key, and what is done to it.
  struct Table {
    std::string_view name;
    Statement get, put, erase, all;
  };

  Result<void> create_file() const;
  Result<void> check_kind();
  Result<void> make_schema();
  Result<void> check_whole();
  int prepare();
  int prepare(Table& table, const std::string& key);

  int write(const replica::StoreBatch& batch);
  int write_rows(const replica::StoreBatch& batch);
  int write_erased(const std::string& device);
  int erase_rows(const ConversationId& conversation, std::int64_t after, std::int64_t to);
  int put(Table& table, std::string_view name, std::int64_t number, const std::string& value);
  int erase(Table& table, std::string_view name, std::int64_t number);
  static void bind_key(Statement& statement, std::string_view name, std::int64_t number);

  int read(replica::StoreImage& image, std::uint64_t& total);
  int read_rows(replica::StoreImage& image, std::uint64_t& total);
  template <typename T>
  int read_items(Table& table, std::vector<T>& items, std::uint64_t T::* key, std::uint64_t& total);

  std::unexpected<Error> refuse(int code) const;
  std::unexpected<Error> damaged(const std::string& how) const;
  std::unexpected<Error> malformed(const std::string& text) const {
    return fail(ErrorCode::MALFORMED, "store", path_ + " " + text);
  }

  const std::string path_;
  Database database_;
  Table conversations_{"conversations", {}, {}, {}, {}};
  Table outbox_{"outbox", {}, {}, {}, {}};
  Table mutations_{"mutations", {}, {}, {}, {}};
  Table objects_{"objects", {}, {}, {}, {}};
  Statement get_device_, put_device_, put_total_;
  Statement get_note_, put_row_, erase_rows_, all_notes_, page_;
  std::uint64_t total_ = 0;    // as stored
  std::uint64_t written_ = 0;  // with the changes of the batch that is being written
};

// ---------------------------------------------------------------------------------------------------- errors

std::unexpected<Error> SqliteStore::damaged(const std::string& how) const {
  return malformed("is damaged (" + how +
                   "). Move it and the -wal file beside it away: what the server has comes back by itself; messages "
                   "that were not sent yet are lost.");
}

std::unexpected<Error> SqliteStore::refuse(int code) const {
  const int reason = database_.system_error();
  const std::string words =
      reason == 0 ? database_.words() : database_.words() + ": " + std::generic_category().message(reason);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(ErrorCode::TOO_MANY_CONNECTIONS, "store", path_ + " is in use by another process.");
    case SQLITE_FULL:
      return fail(ErrorCode::RETRY_LATER, "store", "There is no room for " + path_ + ": make some on its disk.");
    case SQLITE_NOTADB:
      return malformed("is no store of Tidemark, or a badly damaged one: name another file, or move it away.");
    case SQLITE_CORRUPT:
      return damaged(words);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return malformed("cannot be opened for writing (" + words + "): name another file, or give access to it.");
    default:
      return fail(ErrorCode::RETRY_LATER, "store", path_ + " cannot be read or written now (" + words + ").");
  }
}

// ---------------------------------------------------------------------------------------------------- opening

Result<void> SqliteStore::open() {
  TM_TRY(create_file());
  int code = database_.open(path_);
  // The lock is taken with the first reading and kept. Only this process sees the -wal file's index: in memory.
  if (code == SQLITE_OK) code = database_.run("PRAGMA locking_mode=EXCLUSIVE");
  if (code == SQLITE_OK)
    code = database_.run(
        "PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; "
        "PRAGMA cell_size_check=ON; PRAGMA journal_size_limit=4194304");
  if (code != SQLITE_OK) return refuse(code);
  TM_TRY(check_kind());
  TM_TRY(check_whole());
  if (code = prepare(); code != SQLITE_OK) return refuse(code);
  if (!get_device_.reset().step()) return damaged("it has no device");
  total_ = static_cast<std::uint64_t>(get_device_.integer(1));
  if (code = get_device_.finish(); code != SQLITE_OK) return refuse(code);
  return {};
}

/// A new file is the owner's alone, and is there after a crash of the machine.
Result<void> SqliteStore::create_file() const {
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    // One that exists is never opened by us: closing it again would drop the locks of a store in this process.
    if (errno != EEXIST) return malformed("cannot be made: " + std::generic_category().message(errno) + ".");
    // SQLite would take what is shorter than its header for an empty database.
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path_, failed);
    if (!failed && size > 0 && size < 512) return refuse(SQLITE_NOTADB);
    return {};
  }
  ::close(file);
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return {};
  ::fsync(directory);
  ::close(directory);
  return {};
}

Result<void> SqliteStore::check_kind() {
  int code = SQLITE_OK;
  const std::string objects = database_.ask("SELECT count(*) FROM sqlite_schema", code);
  const std::string application = database_.ask("PRAGMA application_id", code);
  const std::string version = database_.ask("PRAGMA user_version", code);
  if (code != SQLITE_OK) return refuse(code);
  // Nothing, or what a process left that was killed before it had made anything.
  const bool fresh = objects == "0" && application == "0" && version == "0";
  if (!fresh && application != kApplicationId) return malformed("is a database of another program: name another file.");
  if (!fresh && version != kFormatVersion)
    return malformed("has the format version " + version + ", and this program knows " + kFormatVersion +
                     ": use the program that has written it, or name another file.");
  const std::string mode = database_.ask("PRAGMA journal_mode=WAL", code);
  if (code != SQLITE_OK) return refuse(code);
  if (mode != "wal") return malformed("lies where SQLite can keep no write-ahead log: name a file on a local disk.");
  if (fresh) return make_schema();
  return {};
}

Result<void> SqliteStore::make_schema() {
  int code = database_.run("BEGIN IMMEDIATE");
  for (const char* sql : kSchema)
    if (code == SQLITE_OK) code = database_.run(sql);
  const std::string marks =
      std::string("PRAGMA application_id=") + kApplicationId + "; PRAGMA user_version=" + kFormatVersion;
  if (code == SQLITE_OK) code = database_.run(marks.c_str());
  const std::string device = encode_stored(replica::DeviceState{});
  Statement insert;
  if (code == SQLITE_OK) code = insert.prepare(database_, "INSERT INTO device VALUES(1, ?1, ?2)");
  if (code == SQLITE_OK)
    code = insert.reset().blob(device).number(static_cast<std::int64_t>(sum_of("device", "", 1, device))).finish();
  if (code == SQLITE_OK) code = database_.run("COMMIT");
  if (code == SQLITE_OK) return {};
  auto refused = refuse(code);
  (void)database_.run("ROLLBACK");
  return refused;
}

/// The tables are ours, word by word, and every page makes sense.
Result<void> SqliteStore::check_whole() {
  std::string expected;
  for (const char* sql : kSchema) expected += std::string(sql) + "\n";
  int code = SQLITE_OK;
  const std::string found = database_.ask(
      "SELECT group_concat(sql || char(10), '') FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY "
      "rowid)",
      code);
  if (code != SQLITE_OK) return refuse(code);
  if (found != expected) return damaged("its tables are not those of this version");
  const std::string check = database_.ask("PRAGMA quick_check(1)", code);
  if (code != SQLITE_OK) return refuse(code);
  if (check != "ok") return damaged(check);
  return {};
}

int SqliteStore::prepare(Table& table, const std::string& key) {
  const std::string name(table.name);
  int code = table.get.prepare(database_, ("SELECT value FROM " + name + " WHERE " + key + "=?1").c_str());
  if (code == SQLITE_OK)
    code = table.put.prepare(database_, ("INSERT OR REPLACE INTO " + name + " VALUES(?1, ?2)").c_str());
  if (code == SQLITE_OK)
    code = table.erase.prepare(database_, ("DELETE FROM " + name + " WHERE " + key + "=?1").c_str());
  if (code == SQLITE_OK)
    code = table.all.prepare(database_, ("SELECT " + key + ", value FROM " + name + " ORDER BY " + key).c_str());
  return code;
}

int SqliteStore::prepare() {
  int code = SQLITE_OK;
  for (Table* table : {&conversations_, &outbox_, &mutations_, &objects_})
    if (code == SQLITE_OK) code = prepare(*table, "id");
  const std::pair<Statement*, const char*> others[] = {
      {&get_device_, "SELECT value, total FROM device WHERE id=1"},
      {&put_device_, "UPDATE device SET value=?1 WHERE id=1"},
      {&put_total_, "UPDATE device SET total=?1 WHERE id=1"},
      {&get_note_, "SELECT value FROM rows WHERE conversation=?1 AND seq=?2"},
      {&put_row_, "INSERT OR REPLACE INTO rows VALUES(?1, ?2, ?3, ?4)"},
      {&erase_rows_, "DELETE FROM rows WHERE conversation=?1 AND seq>?2 AND seq<=?3 RETURNING seq, value"},
      {&all_notes_, "SELECT conversation, seq, value FROM rows ORDER BY conversation, seq"},
      {&page_, "SELECT seq, value, entry FROM rows WHERE conversation=?1 AND seq<=?2 ORDER BY seq DESC LIMIT ?3"},
  };
  for (const auto& [statement, sql] : others)
    if (code == SQLITE_OK) code = statement->prepare(database_, sql);
  return code;
}

// ---------------------------------------------------------------------------------------------------- writing

Result<void> SqliteStore::apply(const replica::StoreBatch& batch) {
  if (batch.empty()) return {};
  written_ = total_;
  int code = database_.run("BEGIN IMMEDIATE");
  if (code == SQLITE_OK) code = write(batch);
  if (code == SQLITE_OK) code = put_total_.reset().number(static_cast<std::int64_t>(written_)).finish();
  if (code == SQLITE_OK) code = database_.run("COMMIT");
  if (code != SQLITE_OK) {
    auto refused = refuse(code);
    (void)database_.run("ROLLBACK");  // SQLite may have done it by itself
    return refused;
  }
  total_ = written_;
  return {};
}

/// Erased is what no page of the file holds any more: what is deleted stays in it until its page is written again, and
/// in the -wal file until that begins anew. So the file is made anew, and the -wal file cut.
Result<void> SqliteStore::erase_all(const replica::DeviceState& device) {
  const std::string value = encode_stored(device);
  written_ = sum_of("device", "", 1, value);
  int code = database_.run("BEGIN IMMEDIATE");
  if (code == SQLITE_OK) code = write_erased(value);
  if (code == SQLITE_OK) code = put_total_.reset().number(static_cast<std::int64_t>(written_)).finish();
  if (code == SQLITE_OK) code = database_.run("COMMIT");
  if (code != SQLITE_OK) {
    auto refused = refuse(code);
    (void)database_.run("ROLLBACK");
    return refused;
  }
  total_ = written_;
  code = database_.run("VACUUM");
  const std::string blocked = database_.ask("PRAGMA wal_checkpoint(TRUNCATE)", code);
  if (code == SQLITE_OK && blocked != "0") code = SQLITE_BUSY;
  if (code != SQLITE_OK) return refuse(code);
  return {};
}

int SqliteStore::write_erased(const std::string& device) {
  for (const Table* table : {&conversations_, &outbox_, &mutations_, &objects_})
    if (const int code = database_.run(("DELETE FROM " + std::string(table->name)).c_str()); code != SQLITE_OK)
      return code;
  if (const int code = database_.run("DELETE FROM rows"); code != SQLITE_OK) return code;
  return put_device_.reset().blob(device).finish();
}

/// In the order in which the members of a batch apply.
int SqliteStore::write(const replica::StoreBatch& batch) {
  int code = write_rows(batch);
  for (const replica::OutboxItem& item : batch.outbox)
    if (code == SQLITE_OK) code = put(outbox_, "", integer_of(item.local_id), encode_stored(item));
  for (const std::uint64_t id : batch.outbox_removed)
    if (code == SQLITE_OK) code = erase(outbox_, "", integer_of(id));
  for (const replica::MutationItem& item : batch.mutations)
    if (code == SQLITE_OK) code = put(mutations_, "", integer_of(item.number), encode_stored(item));
  for (const std::uint64_t number : batch.mutations_removed)
    if (code == SQLITE_OK) code = erase(mutations_, "", integer_of(number));
  for (const replica::ObjectState& object : batch.objects)
    if (code == SQLITE_OK) code = put(objects_, name_of(object.object), 0, encode_stored(object));
  for (const std::string& name : batch.objects_removed)
    if (code == SQLITE_OK) code = erase(objects_, name, 0);
  if (code != SQLITE_OK || !batch.device) return code;
  if (get_device_.reset().step()) written_ ^= sum_of("device", "", 1, get_device_.bytes(0));
  if (code = get_device_.finish(); code != SQLITE_OK) return code;
  const std::string device = encode_stored(*batch.device);
  written_ ^= sum_of("device", "", 1, device);
  return put_device_.reset().blob(device).finish();
}

int SqliteStore::write_rows(const replica::StoreBatch& batch) {
  int code = SQLITE_OK;
  for (const ConversationId& id : batch.dropped) {
    if (code == SQLITE_OK) code = erase_rows(id, -1, integer_of(kLargest));
    if (code == SQLITE_OK) code = erase(conversations_, id.value, 0);
  }
  for (const auto& [id, range] : batch.dropped_rows)
    if (code == SQLITE_OK) code = erase_rows(id, integer_of(range.after.value), integer_of(range.to.value));
  for (const replica::ConversationState& state : batch.conversations)
    if (code == SQLITE_OK) code = put(conversations_, state.id().value, 0, encode_stored(state));
  for (const replica::StoredRow& row : batch.rows) {
    if (code != SQLITE_OK) return code;
    const std::string& conversation = row.conversation.value;
    const std::int64_t seq = integer_of(row.note.seq.value);
    const std::string entry = encode_stored(*row.entry);
    const std::string value = noted(row.note, entry);
    if (get_note_.reset().text(conversation).number(seq).step())
      written_ ^= sum_of("rows", conversation, seq, get_note_.bytes(0));
    if (code = get_note_.finish(); code != SQLITE_OK) return code;
    written_ ^= sum_of("rows", conversation, seq, value);
    code = put_row_.reset().text(conversation).number(seq).blob(value).blob(entry).finish();
  }
  return code;
}

int SqliteStore::erase_rows(const ConversationId& conversation, std::int64_t after, std::int64_t to) {
  erase_rows_.reset().text(conversation.value).number(after).number(to);
  while (erase_rows_.step())
    written_ ^= sum_of("rows", conversation.value, erase_rows_.integer(0), erase_rows_.bytes(1));
  return erase_rows_.finish();
}

/// Keys are names in conversations and objects, numbers elsewhere.
void SqliteStore::bind_key(Statement& statement, std::string_view name, std::int64_t number) {
  statement.reset();
  if (number == 0)
    statement.text(name);
  else
    statement.number(number);
}

int SqliteStore::put(Table& table, std::string_view name, std::int64_t number, const std::string& value) {
  bind_key(table.get, name, number);
  if (table.get.step()) written_ ^= sum_of(table.name, name, number, table.get.bytes(0));
  if (const int code = table.get.finish(); code != SQLITE_OK) return code;
  written_ ^= sum_of(table.name, name, number, value);
  bind_key(table.put, name, number);
  return table.put.blob(value).finish();
}

int SqliteStore::erase(Table& table, std::string_view name, std::int64_t number) {
  bind_key(table.get, name, number);
  if (table.get.step()) written_ ^= sum_of(table.name, name, number, table.get.bytes(0));
  if (const int code = table.get.finish(); code != SQLITE_OK) return code;
  bind_key(table.erase, name, number);
  return table.erase.finish();
}

// ---------------------------------------------------------------------------------------------------- reading

Result<replica::StoreImage> SqliteStore::load() {
  replica::StoreImage image;
  std::uint64_t total = 0;
  if (const int code = read(image, total); code != SQLITE_OK) return refuse(code);
  if (total != total_) return damaged("what is stored is not what was written");
  return image;
}

/// SQLITE_CORRUPT also for values that cannot be read.
int SqliteStore::read(replica::StoreImage& image, std::uint64_t& total) {
  bool whole = get_device_.reset().step() && decode_stored(get_device_.bytes(0), image.device) &&
               static_cast<std::uint64_t>(get_device_.integer(1)) == total_;
  total ^= whole ? sum_of("device", "", 1, get_device_.bytes(0)) : 0;
  int code = get_device_.finish();
  conversations_.all.reset();
  while (whole && conversations_.all.step()) {
    const std::string id(conversations_.all.bytes(0));
    const std::string_view value = conversations_.all.bytes(1);
    total ^= sum_of("conversations", id, 0, value);
    replica::ConversationState& state = image.conversations.emplace_back();
    whole = decode_stored(value, state) && state.id().value == id;
    image.rows[ConversationId(id)];
  }
  if (code == SQLITE_OK) code = conversations_.all.finish();
  if (code == SQLITE_OK && whole) code = read_rows(image, total);
  if (code == SQLITE_OK && whole) code = read_items(outbox_, image.outbox, &replica::OutboxItem::local_id, total);
  if (code == SQLITE_OK && whole) code = read_items(mutations_, image.mutations, &replica::MutationItem::number, total);
  objects_.all.reset();
  while (code == SQLITE_OK && whole && objects_.all.step()) {
    const std::string name(objects_.all.bytes(0));
    total ^= sum_of("objects", name, 0, objects_.all.bytes(1));
    replica::ObjectState& object = image.objects.emplace_back();
    whole = decode_stored(objects_.all.bytes(1), object) && name_of(object.object) == name;
  }
  if (code == SQLITE_OK) code = objects_.all.finish();
  return code == SQLITE_OK && !whole ? SQLITE_CORRUPT : code;
}

int SqliteStore::read_rows(replica::StoreImage& image, std::uint64_t& total) {
  bool whole = true;
  auto notes = image.rows.end();
  all_notes_.reset();
  while (whole && all_notes_.step()) {
    const std::string_view conversation = all_notes_.bytes(0);
    const std::int64_t seq = all_notes_.integer(1);
    const std::string_view value = all_notes_.bytes(2);
    total ^= sum_of("rows", conversation, seq, value);
    if (notes == image.rows.end() || notes->first.value != conversation)
      notes = image.rows.find(ConversationId(conversation));
    whole = notes != image.rows.end() && value.size() > 8;
    if (!whole) break;
    replica::RowNote& note = notes->second.emplace_back();
    whole = decode_stored(value.substr(8), note) && integer_of(note.seq.value) == seq;
  }
  const int code = all_notes_.finish();
  return code == SQLITE_OK && !whole ? SQLITE_CORRUPT : code;
}

template <typename T>
int SqliteStore::read_items(Table& table, std::vector<T>& items, std::uint64_t T::* key, std::uint64_t& total) {
  bool whole = true;
  table.all.reset();
  while (whole && table.all.step()) {
    const std::int64_t number = table.all.integer(0);
    total ^= sum_of(table.name, "", number, table.all.bytes(1));
    T& item = items.emplace_back();
    whole = decode_stored(table.all.bytes(1), item) && integer_of(item.*key) == number;
  }
  const int code = table.all.finish();
  return code == SQLITE_OK && !whole ? SQLITE_CORRUPT : code;
}

Result<std::vector<TimelineRow>> SqliteStore::rows(const ConversationId& conversation, Seq before, std::size_t limit) {
  std::vector<TimelineRow> found;
  replica::ConversationState state;
  bind_key(conversations_.get, conversation.value, 0);
  const bool held = conversations_.get.step();
  const bool readable = held && decode_stored(conversations_.get.bytes(0), state);
  if (const int code = conversations_.get.finish(); code != SQLITE_OK) return refuse(code);
  if (!held || limit == 0) return found;
  if (!readable) return damaged("a conversation cannot be read");

  // One more than asked for: whether the row below the last is there.
  const std::int64_t up_to = before ? integer_of(before.value - 1) : integer_of(kLargest);
  page_.reset().text(conversation.value).number(up_to).number(integer_of(std::min(limit, kLargest - 1) + 1));
  std::optional<Seq> above;
  bool whole = true;
  while (whole && page_.step()) {
    const Seq seq(static_cast<std::uint64_t>(page_.integer(0)));
    if (above) found.back().gap_before = gap_below(state, *above, seq);
    above.reset();
    if (found.size() == limit) break;
    const std::string_view entry = page_.bytes(2);
    auto decoded = std::make_shared<Entry>();
    whole = ByteReader(page_.bytes(1)).be64() == number_of(digest_of({entry})) && decode_stored(entry, *decoded) &&
            decoded->seq == seq;
    found.push_back({std::move(decoded), false});
    above = seq;
  }
  const int code = page_.code();
  page_.reset();
  if (code != SQLITE_OK) return refuse(code);
  if (!whole) return damaged("a message is not what was written");
  if (above) found.back().gap_before = gap_below(state, *above, std::nullopt);
  std::ranges::reverse(found);
  return found;
}

}  // namespace

Result<std::unique_ptr<ReplicaStore>> open_sqlite_store(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::MALFORMED, "store", "Name a file.");
  // Absolute: SQLite takes other names for more than a file.
  std::error_code failed;
  const std::string file = std::filesystem::absolute(path, failed).string();
  if (failed) return fail(ErrorCode::MALFORMED, "store", path + " is no name of a file: " + failed.message() + ".");
  auto store = std::make_unique<SqliteStore>(file);
  TM_TRY(store->open());
  return store;
}

}  // namespace tidemark
