#include "wire/data_check.h"

#include <string>
#include <unordered_set>

#include "wire/json_scan.h"

namespace tidemark {
namespace {

/// The keys so far, each together with the number of its object. There are at most max_keys of them, so even keys
/// chosen to collide cost little.
class DoubledKeys final : public JsonKeyObserver {
 public:
  bool key(std::uint32_t object, const JsonString& key) override {
    std::string entry(reinterpret_cast<const char*>(&object), sizeof object);
    key.unescape(entry);
    return seen_.insert(std::move(entry)).second;
  }

 private:
  std::unordered_set<std::string> seen_;
};

}  // namespace

Result<void> check_data(std::string_view json, int max_depth, std::uint32_t max_keys) {
  JsonScanner scanner(json);
  JsonLimits limits{.max_depth = max_depth, .keys_left = max_keys};
  DoubledKeys keys;
  if (scanner.skip_value(limits, 0, &keys) && scanner.finish()) return {};
  Error error = scanner.fault();
  error.field = "body.data";
  return std::unexpected(std::move(error));
}

}  // namespace tidemark
