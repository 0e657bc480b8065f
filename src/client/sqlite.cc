#include "client/sqlite.h"

#include <sqlite3.h>

namespace tidemark::sqlite {

// ------------------------------------------------------------------------------------------------------ database

Database::~Database() {
  sqlite3_close_v2(handle_);
}

int Database::open(const std::string& path) {
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &handle_, kFlags, nullptr);
  if (code == SQLITE_OK) sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return code;
}

int Database::run(const char* sql) {
  return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
}

std::string Database::ask(const char* sql, int& code) {
  Statement statement;
  int mine = statement.prepare(*this, sql);
  std::string found;
  if (statement.step()) found = statement.bytes(0);
  if (mine == SQLITE_OK) mine = statement.finish();
  if (code == SQLITE_OK) code = mine;
  return found;
}

std::string Database::words() const {
  return handle_ == nullptr ? "there is no memory" : sqlite3_errmsg(handle_);
}

int Database::system_error() const {
  return handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
}

// ----------------------------------------------------------------------------------------------------- statement

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

void Statement::note(int code) {
  if (code_ == SQLITE_OK && code != SQLITE_OK) code_ = code;
}

int Statement::prepare(Database& database, const char* sql) {
  note(sqlite3_prepare_v3(database.raw(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
  return code_;
}

Statement& Statement::reset() {
  sqlite3_reset(handle_);  // repeats the code of the last step, which is known
  bound_ = 0;
  code_ = SQLITE_OK;
  return *this;
}

Statement& Statement::text(std::string_view value) {
  note(sqlite3_bind_text64(handle_, ++bound_, value.data() == nullptr ? "" : value.data(), value.size(), SQLITE_STATIC,
                           SQLITE_UTF8));
  return *this;
}

Statement& Statement::blob(std::string_view value) {
  // A null pointer would be NULL, which no column takes.
  note(
      sqlite3_bind_blob64(handle_, ++bound_, value.data() == nullptr ? "" : value.data(), value.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::number(std::int64_t value) {
  note(sqlite3_bind_int64(handle_, ++bound_, value));
  return *this;
}

bool Statement::step() {
  if (code_ != SQLITE_OK) return false;
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) note(code);
  return code == SQLITE_ROW;
}

int Statement::finish() {
  while (step()) continue;
  sqlite3_reset(handle_);
  return code_;
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

}  // namespace tidemark::sqlite
