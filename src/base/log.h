// The log of the server: one event per line on stderr, as `time level event key=value ...` or as a JSON object.
//
//   log_info("listening", {{"host", host}, {"port", port}});
//
// An event is a constant name in plain words; what varies goes into fields. Tokens, secrets and bodies are never
// logged: callers do not pass them, and fields with such names are withheld all the same.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace tidemark {

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };
enum class LogFormat : std::uint8_t { text, json };

/// One value of a field. Text is only looked at during the call; at most kLogTextBytes of it are written.
class LogValue {
 public:
  // Implicit, so that fields read as {"port", port}.
  // NOLINTBEGIN(google-explicit-constructor)
  LogValue(std::string_view text) : value_(text) {}
  LogValue(const std::string& text) : value_(std::string_view(text)) {}
  LogValue(const char* text) : value_(std::string_view(text)) {}
  LogValue(bool yes) : value_(yes) {}
  LogValue(double number) : value_(number) {}
  template <std::signed_integral T>
  LogValue(T number) : value_(static_cast<std::int64_t>(number)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  LogValue(T number) : value_(static_cast<std::uint64_t>(number)) {}
  // NOLINTEND(google-explicit-constructor)

  const auto& get() const { return value_; }

 private:
  std::variant<std::string_view, bool, double, std::int64_t, std::uint64_t> value_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};
using LogFields = std::initializer_list<LogField>;

/// Longer texts are cut to this and end in "...".
inline constexpr std::size_t kLogTextBytes = 1024;

/// Sets level and format for the whole process; before that it is info as text. Thread-safe.
void set_log(LogLevel level, LogFormat format);

/// Sends whole lines (without their newline) to `sink` in place of stderr; an empty one restores stderr. For tests and
/// embedders. The sink is called by one thread at a time and must not log. Thread-safe.
void set_log_sink(std::function<void(std::string_view line)> sink);

/// Whether a line of this level would be written; ask it before costly fields are made. Thread-safe.
bool log_enabled(LogLevel level);

/// Writes one line, whole, in the order of the calls of one thread. Never throws; a line that stderr does not take is
/// lost and the next ones are tried again. Thread-safe.
void log(LogLevel level, std::string_view event, LogFields fields = {});

inline void log_debug(std::string_view event, LogFields fields = {}) {
  log(LogLevel::debug, event, fields);
}
inline void log_info(std::string_view event, LogFields fields = {}) {
  log(LogLevel::info, event, fields);
}
inline void log_warning(std::string_view event, LogFields fields = {}) {
  log(LogLevel::warning, event, fields);
}
inline void log_error(std::string_view event, LogFields fields = {}) {
  log(LogLevel::error, event, fields);
}

}  // namespace tidemark
