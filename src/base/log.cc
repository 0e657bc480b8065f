#include "base/log.h"

#ifndef SPDLOG_COMPILED_LIB  // without the compiled libraries everything comes from the headers
#define FMT_HEADER_ONLY
#endif
#include <spdlog/common.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>
#include <mutex>

#include "base/json_text.h"

namespace tidemark {
namespace {

/// Field names whose values are never written, however they came here.
constexpr std::array<std::string_view, 9> kWithheld = {"token", "authorization", "secret", "password", "body",
                                                       "text",  "summary",       "data",   "cookie"};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> receive) : receive_(std::move(receive)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    base_sink::formatter_->format(message, line);
    std::string_view text(line.data(), line.size());
    while (text.ends_with('\n')) text.remove_suffix(1);
    receive_(text);
  }
  void flush_() override {}

  std::function<void(std::string_view)> receive_;
};

/// What a line is written with. Replaced as a whole, so that writers never see half a change.
struct Setup {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  spdlog::sink_ptr sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  std::shared_ptr<spdlog::logger> logger;

  void make_logger() {
    logger = std::make_shared<spdlog::logger>("tidemark", sink);
    logger->set_level(spdlog_level(level));
    logger->flush_on(spdlog::level::debug);
    logger->set_error_handler([](const std::string&) {});
    const char* pattern = format == LogFormat::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                                    : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
    logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  }
};

struct Log {
  std::atomic<LogLevel> level = LogLevel::info;  // the same as setup->level, for calls that write nothing
  std::mutex mutex;
  std::shared_ptr<const Setup> setup;

  Log() {
    Setup first;
    first.make_logger();
    setup = std::make_shared<const Setup>(std::move(first));
  }
  std::shared_ptr<const Setup> current() {
    const std::lock_guard lock(mutex);
    return setup;
  }
  template <typename Change>
  void change(Change apply) {
    const std::lock_guard lock(mutex);
    Setup next = *setup;
    apply(next);
    next.make_logger();
    level.store(next.level, std::memory_order_relaxed);
    setup = std::make_shared<const Setup>(std::move(next));
  }
};

/// Never destroyed: threads may log while the process exits.
Log& the_log() {
  static Log* const log = new Log;
  return *log;
}

bool is_withheld(std::string_view key) {
  for (std::string_view name : kWithheld)
    if (key == name) return true;
  return false;
}

bool is_plain(std::string_view text) {
  if (text.empty()) return false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = decode_utf8(text, at);
    if (c == kNoCodePoint || is_control(c) || c == ' ' || c == '"' || c == '=' || c == '\\') return false;
  }
  return true;
}

void append_text(std::string& out, std::string_view text, LogFormat format) {
  std::string cut;
  if (text.size() > kLogTextBytes) {
    cut.assign(text.substr(0, kLogTextBytes)).append("...");
    text = cut;
  }
  if (format == LogFormat::text && is_plain(text))
    out += text;
  else
    append_json_string(out, text);
}

void append_number(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  std::array<char, 32> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

struct AppendValue {
  std::string& out;
  LogFormat format;

  void operator()(std::string_view text) const { append_text(out, text, format); }
  void operator()(bool yes) const { out += yes ? "true" : "false"; }
  void operator()(double number) const { append_number(out, number); }
  void operator()(std::int64_t number) const { out += std::to_string(number); }
  void operator()(std::uint64_t number) const { out += std::to_string(number); }
};

/// Keys are our own constants; anything else in one must not be able to make up fields.
void append_key(std::string& out, std::string_view key) {
  for (const char c : key) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    out += fits ? c : '_';
  }
}

std::string line_of(std::string_view event, LogFields fields, LogFormat format) {
  std::string out;
  if (format == LogFormat::json) out += "\"event\":";
  append_text(out, event, format);
  for (const LogField& field : fields) {
    out += format == LogFormat::json ? ",\"" : " ";
    append_key(out, field.key);
    out += format == LogFormat::json ? "\":" : "=";
    if (is_withheld(field.key))
      append_text(out, "withheld", format);
    else
      std::visit(AppendValue{out, format}, field.value.get());
  }
  return out;
}

}  // namespace

void set_log(LogLevel level, LogFormat format) {
  the_log().change([&](Setup& setup) { setup.level = level, setup.format = format; });
}

void set_log_sink(std::function<void(std::string_view line)> sink) {
  the_log().change([&](Setup& setup) {
    if (sink)
      setup.sink = std::make_shared<FunctionSink>(std::move(sink));
    else
      setup.sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  });
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::off && level >= the_log().level.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view event, LogFields fields) {
  if (!log_enabled(level)) return;
  const auto setup = the_log().current();
  const std::string line = line_of(event, fields, setup->format);
  setup->logger->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace tidemark
