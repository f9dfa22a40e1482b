#include "capstan/objectstore/s3/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/check.h"
#include "capstan/base/crc32c.h"

namespace capstan {
namespace {

std::string Digest(const EVP_MD* kind, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CAPSTAN_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, kind, nullptr) == 1);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

bool Unreserved(char c) {
  return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string Sha256(std::string_view bytes) { return Digest(EVP_sha256(), bytes); }

std::string Md5(std::string_view bytes) { return Digest(EVP_md5(), bytes); }

std::string HmacSha256(std::string_view key, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CAPSTAN_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest,
                     &size) != nullptr);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

std::string Hex(std::string_view bytes) { return absl::BytesToHexString(AbslView(bytes)); }

std::string Base64(std::string_view bytes) { return absl::Base64Escape(AbslView(bytes)); }

std::string Crc32cText(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  const char big_endian[] = {static_cast<char>(crc >> 24), static_cast<char>(crc >> 16),
                             static_cast<char>(crc >> 8), static_cast<char>(crc)};
  return Base64(std::string_view(big_endian, sizeof(big_endian)));
}

std::string UriEncode(std::string_view text, Slash slash) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    if (Unreserved(c) || (c == '/' && slash == Slash::kKeep)) {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return encoded;
}

std::string UriDecode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        absl::ascii_isxdigit(text[i + 1]) && absl::ascii_isxdigit(text[i + 2]);
    if (!escape) {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    decoded.append(absl::HexStringToBytes(AbslView(text.substr(i + 1, 2))));
    i += 2;
  }
  return decoded;
}

}  // namespace capstan
