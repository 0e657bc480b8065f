// The one reader of JSON syntax (RFC 8259) behind json_reader and data_check: a cursor over a text that checks every
// step. Stricter than the RFC where the wire is: UTF-8 only, no lone surrogates, no NUL, limited depth and keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

/// A string token without its quotes, checked.
struct JsonString {
  std::string_view raw;
  bool escaped = false;  // has escapes: unescape() before use

  /// Appends the characters it stands for.
  void unescape(std::string& out) const;
  /// The same as a view: of the text itself, or of `scratch` (replaced) where there are escapes.
  std::string_view value(std::string& scratch) const;
};

/// A number token, checked.
struct JsonNumber {
  std::string_view text;
  bool whole = false;  // no fraction, no exponent
};

/// What may be nested and named in one text.
struct JsonLimits {
  int max_depth = 16;                    // objects and arrays inside each other; at most 64
  std::uint32_t keys_left = UINT32_MAX;  // counted down
};

/// Is told the keys that skip_value passes.
class JsonKeyObserver {
 public:
  virtual ~JsonKeyObserver() = default;
  /// `object` numbers the objects of one skip_value from 1. False: the key is doubled, stop.
  virtual bool key(std::uint32_t object, const JsonString& key) = 0;
};

/// Every function answers false at the first fault; fault() then says which. The text must outlive the scanner.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : begin_(text.data()), p_(begin_), end_(begin_ + text.size()) {}

  void skip_space();
  /// The byte here, or 0 at the end.
  char peek() const { return p_ == end_ ? '\0' : *p_; }
  bool at_end() const { return p_ == end_; }
  /// Skips white space, then takes this byte or fails with `expected` as the sentence.
  bool take(char c, const char* expected);
  /// Skips white space; takes the byte if it is here.
  bool take_if(char c);
  /// Takes a string; REQUIRES peek() == '"'.
  bool read_string(JsonString& out);
  /// Takes a key with its colon, white space before it allowed.
  bool read_key(JsonString& out, JsonLimits& limits);
  bool read_number(JsonNumber& out);
  /// Takes true, false or null.
  bool read_literal(std::string_view word);
  /// Takes a whole value that stands inside `depth` others. Needs no machine stack for nested ones.
  bool skip_value(JsonLimits& limits, int depth, JsonKeyObserver* observer = nullptr);
  /// Only white space up to the end?
  bool finish();

  /// MALFORMED or TOO_DEEP, without a field. REQUIRES: a function answered false.
  Error fault() const;

 private:
  bool fail(const char* why, ErrorCode code = ErrorCode::MALFORMED);
  bool read_escape();
  bool read_hex4(std::uint32_t& unit);
  bool read_scalar();
  bool next_member(bool in_object, std::uint32_t object, JsonLimits& limits, JsonKeyObserver* observer);

  const char* begin_;
  const char* p_;
  const char* end_;
  const char* why_ = nullptr;
  ErrorCode code_ = ErrorCode::MALFORMED;
};

}  // namespace tidemark
