// What the kernel asks of a mounted ForgetfulDisk, and the library that speaks to it.
#pragma once

struct fuse_session;

namespace tidemark::testing {

class ForgetfulDisk;

/// A session that answers from the disk; nullptr when the library has none.
fuse_session* new_session(ForgetfulDisk& disk);
/// Gives it the device of a mounted file system, which it closes in the end; false when it does not take it.
bool take_over(fuse_session* session, int device);
/// Answers, one after the other, until the file system is unmounted.
void serve_session(fuse_session* session);
void end_session(fuse_session* session);

}  // namespace tidemark::testing
