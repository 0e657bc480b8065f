#include "store/log/memory_files.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tidemark {
namespace {

std::unexpected<Error> no_file(const std::string& name) {
  return fail(ErrorCode::RETRY_LATER, {}, "cannot open memory/" + name + ": No such file or directory");
}

/// A sector becomes what it was; the file may have been cut since.
void put_back(std::string& bytes, std::uint64_t sector, const std::string& was) {
  const std::uint64_t from = sector * MemoryFiles::kSectorBytes;
  const std::uint64_t size = std::min<std::uint64_t>(was.size(), bytes.size() - from);
  bytes.replace(from, size, was, 0, size);
}

}  // namespace

class MemoryFile final : public LogFile {
 public:
  MemoryFile(MemoryFiles& files, std::shared_ptr<MemoryFiles::Content> content)
      : files_(files), content_(std::move(content)), life_(files.life_) {}

  Result<void> write(std::uint64_t offset, std::string_view bytes) override {
    const std::lock_guard lock(files_.mutex_);
    TM_CHECK(offset + bytes.size() <= content_->bytes.size(), "writes stay below the size that was reserved");
    if (life_ != files_.life_) return {};
    const auto allowed = files_.step("write");
    if (!allowed) bytes = bytes.substr(0, bytes.size() / 2);
    if (bytes.empty()) return allowed;
    constexpr std::uint64_t kSector = MemoryFiles::kSectorBytes;
    for (std::uint64_t sector = offset / kSector; sector <= (offset + bytes.size() - 1) / kSector; ++sector)
      content_->unsynced.try_emplace(sector, content_->bytes.substr(sector * kSector, kSector));
    content_->bytes.replace(offset, bytes.size(), bytes);
    return allowed;
  }

  Result<void> sync() override {
    const std::lock_guard lock(files_.mutex_);
    if (life_ != files_.life_) return {};
    TM_TRY(files_.step("sync"));
    content_->unsynced.clear();
    return {};
  }

 private:
  MemoryFiles& files_;
  const std::shared_ptr<MemoryFiles::Content> content_;
  const std::uint64_t life_;
};

Result<void> MemoryFiles::step(std::string_view name) const {
  if (fault_ && fault_(name))
    return fail(ErrorCode::RETRY_LATER, {}, "cannot " + std::string(name) + " in memory: Input/output error");
  return {};
}

Result<std::vector<std::string>> MemoryFiles::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, content] : files_) names.push_back(name);
  return names;
}

Result<std::unique_ptr<LogFile>> MemoryFiles::create(const std::string& name, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto content = std::make_shared<Content>();
  files_[name] = content;
  TM_TRY(step("create"));
  content->bytes.assign(bytes, '\0');
  removed_.clear();
  return std::make_unique<MemoryFile>(*this, std::move(content));
}

Result<std::unique_ptr<LogFile>> MemoryFiles::open(const std::string& name) {
  const std::lock_guard lock(mutex_);
  TM_TRY(step("open"));
  const auto found = files_.find(name);
  if (found == files_.end()) return no_file(name);
  return std::make_unique<MemoryFile>(*this, found->second);
}

Result<std::string> MemoryFiles::read(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  if (found == files_.end()) return no_file(name);
  return found->second->bytes;
}

Result<void> MemoryFiles::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  TM_TRY(step("rename"));
  const auto found = files_.find(from);
  if (found == files_.end()) return no_file(from);
  files_[to] = std::move(found->second);
  files_.erase(from);
  removed_.clear();
  return {};
}

Result<void> MemoryFiles::truncate(const std::string& name, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  TM_TRY(step("truncate"));
  const auto found = files_.find(name);
  if (found == files_.end()) return no_file(name);
  Content& content = *found->second;
  content.bytes.resize(std::min<std::uint64_t>(bytes, content.bytes.size()));
  std::erase_if(content.unsynced, [&](const auto& each) { return each.first * kSectorBytes >= bytes; });
  return {};
}

Result<void> MemoryFiles::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  TM_TRY(step("remove"));
  const auto found = files_.find(name);
  if (found == files_.end()) return no_file(name);
  removed_[name] = std::move(found->second);
  files_.erase(found);
  return {};
}

void MemoryFiles::set_fault(std::function<bool(std::string_view step)> fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
}

void MemoryFiles::crash(const std::function<bool()>& kept) {
  const std::lock_guard lock(mutex_);
  ++life_;
  for (auto& [name, content] : std::exchange(removed_, {}))
    if (!kept()) files_.try_emplace(name, std::move(content));
  for (auto& [name, content] : files_) {
    for (const auto& [sector, was] : std::exchange(content->unsynced, {}))
      if (!kept()) put_back(content->bytes, sector, was);
  }
}

void MemoryFiles::damage(const std::string& name, std::uint64_t place) {
  const std::lock_guard lock(mutex_);
  char& byte = files_.at(name)->bytes.at(place);
  byte = static_cast<char>(~byte);
}

std::shared_ptr<MemoryFiles> MemoryFiles::copy() const {
  const std::lock_guard lock(mutex_);
  auto made = std::make_shared<MemoryFiles>();
  for (const auto& [name, content] : files_) {
    made->files_[name] = std::make_shared<Content>();
    made->files_[name]->bytes = content->bytes;
    for (const auto& [sector, was] : content->unsynced) put_back(made->files_[name]->bytes, sector, was);
  }
  return made;
}

}  // namespace tidemark
