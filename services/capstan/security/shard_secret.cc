#include "capstan/security/shard_secret.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cstddef>
#include <cstdint>

#include "capstan/base/check.h"

namespace capstan {
namespace {

constexpr int kSecretBytes = 32;
constexpr size_t kMostBytes = 64;  // No secret is longer, not even in later versions.

// The first bytes of what is hashed, so that no other hash of a secret reveals its incarnation.
constexpr std::string_view kPurpose = "capstan shard incarnation";

}  // namespace

std::string NewShardSecret() {
  std::string secret(kSecretBytes, '\0');
  CAPSTAN_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSecretBytes) == 1);
  return secret;
}

Incarnation IncarnationOfSecret(std::string_view secret) {
  const std::string text = std::string(kPurpose) + std::string(secret);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CAPSTAN_CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr) == 1);
  uint64_t incarnation = 0;
  for (size_t i = 0; i < sizeof(incarnation); ++i) incarnation = (incarnation << 8) | digest[i];
  return Incarnation{incarnation | 1};
}

bool IsSecretOf(std::string_view secret, Incarnation incarnation) {
  return secret.size() <= kMostBytes && IncarnationOfSecret(secret) == incarnation;
}

}  // namespace capstan
