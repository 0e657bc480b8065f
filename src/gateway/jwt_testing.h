// Fresh key pairs and small files for tests; included by *_test.cc only.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tidemark::testing_keys {

/// PEM texts of one pair.
struct Pair {
  std::string private_pem;
  std::string public_pem;
};

inline std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

inline Pair pem_of(EVP_PKEY* pkey) {
  BIO* secret = BIO_new(BIO_s_mem());
  BIO* open = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(secret, pkey, nullptr, nullptr, 0, nullptr, nullptr);
  PEM_write_bio_PUBKEY(open, pkey);
  EVP_PKEY_free(pkey);
  return {text_of(secret), text_of(open)};
}

inline Pair new_rsa(std::size_t bits) {
  return pem_of(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits));
}
inline Pair new_ec(const char* curve) {
  return pem_of(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve));
}
inline Pair new_ed25519() {
  return pem_of(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
}

/// One pair of each kind for the whole test program; making RSA keys takes long.
inline const Pair& rsa() {
  static const Pair pair = new_rsa(2048);
  return pair;
}
inline const Pair& p256() {
  static const Pair pair = new_ec("P-256");
  return pair;
}
inline const Pair& ed25519() {
  static const Pair pair = new_ed25519();
  return pair;
}

/// A directory that is gone with the object.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "tidemark-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  /// Writes a file anew and answers its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary | std::ios::trunc) << text;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace tidemark::testing_keys
