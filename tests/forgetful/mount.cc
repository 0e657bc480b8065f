#include "forgetful/mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "forgetful/requests.h"

namespace tidemark::testing {
namespace {

constexpr unsigned kMajor = 10;  // of the kernel's device
constexpr unsigned kMinor = 229;

std::unexpected<std::string> refused(const std::string& what, int error_number) {
  return std::unexpected("no FUSE file system can be mounted here: " + what + ": " +
                         std::generic_category().message(error_number));
}

/// A bare chroot has no /dev/fuse; root may make such a node anywhere.
std::expected<int, std::string> open_device(const std::string& directory) {
  int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device >= 0) return device;
  if (errno != ENOENT) return refused("cannot open /dev/fuse", errno);
  const std::string own = directory + ".fuse";
  if (mknod(own.c_str(), S_IFCHR | 0600, makedev(kMajor, kMinor)) != 0)
    return refused("there is no /dev/fuse, and none can be made", errno);
  device = open(own.c_str(), O_RDWR | O_CLOEXEC);
  const int why = errno;
  unlink(own.c_str());
  if (device < 0) return refused("there is no /dev/fuse, and one made here cannot be opened", why);
  return device;
}

}  // namespace

std::expected<std::unique_ptr<Mount>, std::string> Mount::make(ForgetfulDisk& disk, const std::string& directory) {
  std::unique_ptr<Mount> made(new Mount);
  made->session_ = new_session(disk);
  if (made->session_ == nullptr) return std::unexpected("no FUSE file system can be mounted here: no session");
  if (auto done = made->attach(directory); !done) return std::unexpected(std::move(done).error());
  made->watch();
  made->thread_ = std::thread([session = made->session_] { serve_session(session); });
  return made;
}

std::expected<void, std::string> Mount::attach(const std::string& directory) {
  const auto device = open_device(directory);
  if (!device) return std::unexpected(device.error());
  const std::string options = "fd=" + std::to_string(*device) + ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
                              ",group_id=" + std::to_string(getegid());
  if (mount("tidemark-forgetful", directory.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    const int why = errno;
    close(*device);
    return refused("mounting is refused", why);
  }
  directory_ = directory;
  attached_ = true;
  // The library takes over a device that somebody else has mounted, and needs no helper program then.
  if (!take_over(session_, *device)) {
    close(*device);
    return std::unexpected("no FUSE file system can be mounted here: the library does not take the device");
  }
  return {};
}

/// A process that unmounts when this one has ended in whatever way: nothing may be left in the list of mounts. A group
/// of its own, for those who end this one kill its group.
void Mount::watch() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  watcher_ = fork();
  if (watcher_ == 0) {
    setsid();
    dup2(ends[0], 0);
    close_range(1, ~0U, 0);
    char byte = 0;
    while (read(0, &byte, 1) < 0 && errno == EINTR) continue;
    umount2(directory_.c_str(), MNT_FORCE | MNT_DETACH);
    _exit(0);
  }
  close(ends[0]);
  watched_ = ends[1];
}

Mount::~Mount() {
  if (watcher_ > 0) {
    kill(watcher_, SIGKILL);
    waitpid(watcher_, nullptr, 0);
  }
  if (watched_ >= 0) close(watched_);
  // Forced: what is still asked is answered with an error, and the thread ends.
  if (attached_) umount2(directory_.c_str(), MNT_FORCE | MNT_DETACH);
  if (thread_.joinable()) thread_.join();
  if (session_ != nullptr) end_session(session_);
}

}  // namespace tidemark::testing
