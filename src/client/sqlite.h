// SQLite without its C: a connection, and statements that are prepared once and used again. No exceptions; the first
// failure of a statement stays in its code().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tidemark::sqlite {

class Database {
 public:
  Database() = default;
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Opens or creates the file; a SQLite result code. Used once, before anything else.
  int open(const std::string& path);
  /// Statements whose rows nobody wants; a SQLite result code.
  int run(const char* sql);
  /// The first column of the first row, as text; "" when there is none. The code goes into `code` unless that has one.
  std::string ask(const char* sql, int& code);

  sqlite3* raw() const { return handle_; }
  /// What SQLite says of the last failure, in words.
  std::string words() const;
  /// errno of the last failed call of the system, 0 when none failed.
  int system_error() const;

 private:
  sqlite3* handle_ = nullptr;
};

/// The bytes handed to bind and got from bytes() are borrowed: until the statement is reset, until its next step.
class Statement {
 public:
  Statement() = default;
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  int prepare(Database& database, const char* sql);

  // Values for ?1, ?2 ... in this order, after reset().
  Statement& reset();
  Statement& text(std::string_view value);
  Statement& blob(std::string_view value);
  Statement& number(std::int64_t value);

  /// The next row, if there is one; false also on failure.
  bool step();
  /// Runs to the end; a SQLite result code. Nothing is left open.
  int finish();
  /// 0, or the result code of what failed since reset().
  int code() const { return code_; }

  std::string_view bytes(int column) const;
  std::int64_t integer(int column) const;

 private:
  void note(int code);

  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
  int code_ = 0;
};

}  // namespace tidemark::sqlite
