#include "base/error.h"

#include <array>

#include "base/check.h"

namespace tidemark {
namespace {

constexpr std::array kErrors = {
#define TIDEMARK_ERROR(name, number, http, retryable, english, chinese) \
  ErrorInfo{ErrorCode::name, #name, http, retryable, english, chinese},
#include "errors.def"
#undef TIDEMARK_ERROR
};

}  // namespace

const ErrorInfo& error_info(ErrorCode code) {
  for (const ErrorInfo& info : kErrors)
    if (info.code == code) return info;
  check_failed("code in errors.def", __FILE__, __LINE__, "an error code outside the table was made");
}

std::optional<ErrorCode> error_code_named(std::string_view name) {
  for (const ErrorInfo& info : kErrors)
    if (info.name == name) return info.code;
  return std::nullopt;
}

std::string Error::message() const {
  std::string text(error_info(code).english);
  if (!detail.empty()) text.append(" ").append(detail);
  return text;
}

}  // namespace tidemark
