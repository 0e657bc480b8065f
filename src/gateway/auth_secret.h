// The secrets of the data directory: secret.key for user tokens, admin.key for admin tokens. The file's text without
// its line end is the HS256 secret, so that any JWT library can sign with it as it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ports.h"
#include "gateway/jwt_key.h"

namespace tidemark {

/// Makes the directory with its parents if it is missing; the last of them for its owner alone. RETRY_LATER with field
/// "data" when that fails.
Result<void> make_data_directory(const std::string& path);

/// Makes the secret file (32 random bytes as base64url and a line end, mode 0600, durable) unless one is there.
Result<void> make_secret(const std::string& path, Random& random);

/// The key of a secret file. NOT_FOUND for none, FORBIDDEN when others than its owner may read it, MALFORMED when it is
/// no regular file or too short; the detail says what to do.
Result<JwtKey> read_secret(const std::string& path);

/// FORBIDDEN, with the chmod that helps, for a file with a secret whose mode lets group or others in.
Result<void> check_secret_mode(const std::string& path, std::uint32_t mode, std::string_view field);

}  // namespace tidemark
