// Errors as values. Codes are data (proto/errors.def); an Error adds the field at fault and a detail for
// the reader. The client's fault becomes an answer, the world's fault a retry, our own fault a TM_CHECK.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

enum class ErrorCode : std::uint16_t {
#define TIDEMARK_ERROR(name, number, http, retry, en, zh) name = number,  // NOLINT(bugprone-macro-parentheses)
#include "errors.def"
#undef TIDEMARK_ERROR
};

/// What is fixed about a code. The strings live for the whole program.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;     // "NOT_MEMBER", as on the wire
  int http_status;           // 400 .. 599
  bool retryable;            // the same request may succeed later
  std::string_view english;  // one sentence that says what to do
  std::string_view chinese;
};

/// The table's row for a code. Total: every enumerator has one.
const ErrorInfo& error_info(ErrorCode code);

/// The code with this wire name, or nothing.
std::optional<ErrorCode> error_code_named(std::string_view name);

struct Error {
  ErrorCode code;
  std::string field = {};            // the input field at fault, "" when there is none
  std::string detail = {};           // added to the code's sentence, "" when there is nothing to add
  std::uint32_t retry_after_ms = 0;  // for RATE_LIMITED and RETRY_LATER: when to try again
  std::string app_code = {};         // of REFUSED_BY_APP: the application's own code

  /// The sentence shown to people: the code's text, then the detail.
  std::string message() const;
  bool operator==(const Error&) const = default;
};

template <typename T>
using Result = std::expected<T, Error>;

/// Shorthand for `return fail(ErrorCode::TOO_LARGE, "body", "...")`.
inline std::unexpected<Error> fail(ErrorCode code, std::string field = {}, std::string detail = {},
                                   std::uint32_t retry_after_ms = 0) {
  return std::unexpected(Error{code, std::move(field), std::move(detail), retry_after_ms, {}});
}

}  // namespace tidemark

/// Returns the error of an expression that yields Result<void>-like values; use in functions returning Result.
#define TM_TRY(expression)                                              \
  do {                                                                  \
    if (auto tm_try_result = (expression); !tm_try_result) [[unlikely]] \
      return std::unexpected(std::move(tm_try_result).error());         \
  } while (false)

#define TM_CONCAT_INNER(a, b) a##b
#define TM_CONCAT(a, b) TM_CONCAT_INNER(a, b)
/// Declares `name` with the value of a Result, or returns its error: TM_ASSIGN(auto page, read(...));
#define TM_ASSIGN(declaration, expression)                                      \
  auto TM_CONCAT(tm_result_, __LINE__) = (expression);                          \
  if (!TM_CONCAT(tm_result_, __LINE__)) [[unlikely]]                            \
    return std::unexpected(std::move(TM_CONCAT(tm_result_, __LINE__)).error()); \
  declaration = std::move(*TM_CONCAT(tm_result_, __LINE__))  // NOLINT(bugprone-macro-parentheses): it may declare
