#include "forgetful/requests.h"

#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "forgetful/disk.h"

namespace tidemark::testing {
namespace {

constexpr std::uint64_t kDiskBytes = std::uint64_t{16} << 30;
// Nobody but the kernel changes anything while the disk is mounted.
constexpr double kValidSeconds = 3'600;

ForgetfulDisk& disk_of(fuse_req_t request) {
  return *static_cast<ForgetfulDisk*>(fuse_req_userdata(request));
}

struct stat stat_of(const NodeInfo& info) {
  struct stat out = {};
  out.st_ino = info.number;
  out.st_mode = info.mode;
  out.st_nlink = info.links;
  out.st_uid = geteuid();
  out.st_gid = getegid();
  out.st_size = static_cast<off_t>(info.size);
  out.st_blksize = ForgetfulDisk::kPageBytes;
  out.st_blocks = static_cast<blkcnt_t>((info.size + ForgetfulDisk::kSectorBytes - 1) / ForgetfulDisk::kSectorBytes);
  out.st_atim = out.st_mtim = out.st_ctim = info.changed;
  return out;
}

fuse_entry_param entry_of(const NodeInfo& info) {
  fuse_entry_param out = {};
  out.ino = info.number;
  out.attr = stat_of(info);
  out.attr_timeout = kValidSeconds;
  out.entry_timeout = kValidSeconds;
  return out;
}

void reply(fuse_req_t request, const ForgetfulDisk::Or<void>& done) {
  fuse_reply_err(request, done ? 0 : done.error());
}

void reply(fuse_req_t request, const ForgetfulDisk::Or<NodeInfo>& found) {
  if (!found) {
    fuse_reply_err(request, found.error());
    return;
  }
  const fuse_entry_param entry = entry_of(*found);
  fuse_reply_entry(request, &entry);
}

void reply_attributes(fuse_req_t request, const ForgetfulDisk::Or<NodeInfo>& found) {
  if (!found) {
    fuse_reply_err(request, found.error());
    return;
  }
  const struct stat attributes = stat_of(*found);
  fuse_reply_attr(request, &attributes, kValidSeconds);
}

// ------------------------------------------------------------------------------------------- names

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply(request, disk_of(request).find(parent, name));
}

void on_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  reply(request, disk_of(request).make_directory(parent, name, mode));
}

void on_unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply(request, disk_of(request).unlink(parent, name));
}

void on_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply(request, disk_of(request).remove_directory(parent, name));
}

void on_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
               unsigned flags) {
  if (flags != 0)
    fuse_reply_err(request, EINVAL);
  else
    reply(request, disk_of(request).rename(parent, name, new_parent, new_name));
}

void on_link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  reply(request, disk_of(request).link(node, parent, name));
}

void on_open_directory(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  const auto entries = disk_of(request).list(node);
  if (!entries) {
    fuse_reply_err(request, entries.error());
    return;
  }
  // A listing is of one moment.
  file->fh = reinterpret_cast<std::uint64_t>(new std::vector(*entries));
  if (fuse_reply_open(request, file) != 0) delete reinterpret_cast<std::vector<ForgetfulDisk::Entry>*>(file->fh);
}

void on_read_directory(fuse_req_t request, fuse_ino_t, std::size_t bytes, off_t offset, fuse_file_info* file) {
  const auto& entries = *reinterpret_cast<std::vector<ForgetfulDisk::Entry>*>(file->fh);
  std::string out(bytes, '\0');
  std::size_t used = 0;
  for (auto at = static_cast<std::size_t>(offset); at < entries.size(); ++at) {
    const struct stat attributes = stat_of(entries[at].info);
    const std::size_t needed = fuse_add_direntry(request, out.data() + used, bytes - used, entries[at].name.c_str(),
                                                 &attributes, static_cast<off_t>(at + 1));
    if (needed > bytes - used) break;
    used += needed;
  }
  fuse_reply_buf(request, out.data(), used);
}

void on_release_directory(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  delete reinterpret_cast<std::vector<ForgetfulDisk::Entry>*>(file->fh);
  fuse_reply_err(request, 0);
}

void on_sync_directory(fuse_req_t request, fuse_ino_t node, int, fuse_file_info*) {
  reply(request, disk_of(request).sync_directory(node));
}

// ------------------------------------------------------------------------------------------- attributes

void on_getattr(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  reply_attributes(request, disk_of(request).info(node));
}

void on_setattr(fuse_req_t request, fuse_ino_t node, struct stat* wanted, int which, fuse_file_info*) {
  ForgetfulDisk& disk = disk_of(request);
  ForgetfulDisk::Or<void> done;
  if ((which & FUSE_SET_ATTR_MODE) != 0) done = disk.set_mode(node, wanted->st_mode);
  if (done && (which & FUSE_SET_ATTR_SIZE) != 0) done = disk.resize(node, static_cast<std::uint64_t>(wanted->st_size));
  if (done)
    reply_attributes(request, disk.info(node));
  else
    reply(request, done);
}

void on_statfs(fuse_req_t request, fuse_ino_t) {
  struct statvfs out = {};
  out.f_bsize = out.f_frsize = ForgetfulDisk::kPageBytes;
  out.f_blocks = kDiskBytes / ForgetfulDisk::kPageBytes;
  const std::uint64_t used = disk_of(request).bytes() / ForgetfulDisk::kPageBytes;
  out.f_bfree = out.f_bavail = out.f_blocks - std::min<std::uint64_t>(used, out.f_blocks);
  out.f_files = out.f_ffree = out.f_favail = 1'000'000;
  out.f_namemax = 255;
  fuse_reply_statfs(request, &out);
}

// ------------------------------------------------------------------------------------------- bytes

void on_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* file) {
  const auto made = disk_of(request).make_file(parent, name, mode);
  if (!made) {
    fuse_reply_err(request, made.error());
    return;
  }
  const fuse_entry_param entry = entry_of(*made);
  fuse_reply_create(request, &entry, file);
}

void on_open(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  if ((file->flags & O_TRUNC) != 0) {
    if (const auto done = disk_of(request).resize(node, 0); !done) {
      reply(request, done);
      return;
    }
  }
  fuse_reply_open(request, file);
}

void on_read(fuse_req_t request, fuse_ino_t node, std::size_t bytes, off_t offset, fuse_file_info*) {
  const auto found = disk_of(request).read(node, static_cast<std::uint64_t>(offset), bytes);
  if (found)
    fuse_reply_buf(request, found->data(), found->size());
  else
    fuse_reply_err(request, found.error());
}

void on_write(fuse_req_t request, fuse_ino_t node, const char* bytes, std::size_t size, off_t offset, fuse_file_info*) {
  const auto done = disk_of(request).write(node, static_cast<std::uint64_t>(offset), {bytes, size});
  if (done)
    fuse_reply_write(request, size);
  else
    fuse_reply_err(request, done.error());
}

void on_sync(fuse_req_t request, fuse_ino_t node, int, fuse_file_info*) {
  reply(request, disk_of(request).sync_file(node));
}

/// Space that is only reserved is of no interest here: there is always enough.
void on_fallocate(fuse_req_t request, fuse_ino_t node, int mode, off_t offset, off_t bytes, fuse_file_info*) {
  ForgetfulDisk& disk = disk_of(request);
  const auto from = static_cast<std::uint64_t>(offset);
  const auto size = static_cast<std::uint64_t>(bytes);
  const int what = mode & ~FALLOC_FL_KEEP_SIZE;
  ForgetfulDisk::Or<void> done;
  if (what == FALLOC_FL_PUNCH_HOLE || what == FALLOC_FL_ZERO_RANGE)
    done = disk.clear(node, from, size);
  else if (what != 0)
    done = std::unexpected(EOPNOTSUPP);
  const auto now = disk.info(node);
  if (done && now && (mode & FALLOC_FL_KEEP_SIZE) == 0 && now->size < from + size)
    done = disk.resize(node, from + size);
  reply(request, done);
}

}  // namespace

fuse_session* new_session(ForgetfulDisk& disk) {
  fuse_lowlevel_ops ops = {};
  ops.lookup = on_lookup;
  ops.mkdir = on_mkdir;
  ops.unlink = on_unlink;
  ops.rmdir = on_rmdir;
  ops.rename = on_rename;
  ops.link = on_link;
  ops.opendir = on_open_directory;
  ops.readdir = on_read_directory;
  ops.releasedir = on_release_directory;
  ops.fsyncdir = on_sync_directory;
  ops.getattr = on_getattr;
  ops.setattr = on_setattr;
  ops.statfs = on_statfs;
  ops.create = on_create;
  ops.open = on_open;
  ops.read = on_read;
  ops.write = on_write;
  ops.fsync = on_sync;
  ops.fallocate = on_fallocate;
  char name[] = "tidemark-forgetful";
  char* arguments[] = {name, nullptr};
  fuse_args given = FUSE_ARGS_INIT(1, arguments);
  return fuse_session_new(&given, &ops, sizeof ops, &disk);
}

bool take_over(fuse_session* session, int device) {
  return fuse_session_mount(session, ("/dev/fd/" + std::to_string(device)).c_str()) == 0;
}

void serve_session(fuse_session* session) {
  fuse_session_loop(session);
}

void end_session(fuse_session* session) {
  fuse_session_destroy(session);
}

}  // namespace tidemark::testing
