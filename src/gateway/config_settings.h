// The one table of settings: names, ranges, explanations and where each lives in a Config.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "gateway/config.h"

namespace tidemark {

enum class SettingKind : std::uint8_t { number, yes_no, text, choice };

/// A setting's value as it stands in a file: a number, true or false, or text (a choice is the text of its word).
using SettingValue = std::variant<std::int64_t, bool, std::string>;

struct ConfigSetting {
  std::string_view name;  // "limits.page_max"; the path of its member in Config
  SettingKind kind;
  std::string_view explanation;  // one or two sentences
  std::int64_t min = 0;          // of a number; of a text in bytes
  std::int64_t max = 0;
  std::optional<ErrorCode> refusal = {};     // of a limit: what answers whoever goes beyond it
  std::vector<std::string_view> words = {};  // of a choice
  SettingValue (*get)(const Config&);
  /// The value is of the right alternative and in range.
  void (*set)(Config&, const SettingValue&);
};

/// All settings, in the order of tidemark.toml: those without a section first, then section by section.
std::span<const ConfigSetting> settings();

/// The setting of that name, or null.
const ConfigSetting* find_setting(std::string_view name);

/// The existing name nearest to a wrong one, or "" when none is near enough to be meant.
std::string nearest_setting(std::string_view name);

/// The name in the environment: TIDEMARK_LIMITS_PAGE_MAX.
std::string environment_name(std::string_view setting);

/// "from 1 to 1000", "true or false", "text or json", "text of at most 255 bytes".
std::string allowed_values(const ConfigSetting& setting);

/// Puts a value in its place. MALFORMED for one of the wrong kind, OUT_OF_RANGE; `place` begins the error's sentence.
Result<void> apply_setting(Config& config, const ConfigSetting& setting, const SettingValue& value,
                           std::string_view place);

/// The value that a text from the environment or the command line means. MALFORMED when it means none.
Result<SettingValue> setting_value_of(const ConfigSetting& setting, std::string_view text, std::string_view place);

}  // namespace tidemark
