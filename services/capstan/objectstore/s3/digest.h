// Digests and the ways in which S3 writes bytes as text.
#ifndef CAPSTAN_OBJECTSTORE_S3_DIGEST_H_
#define CAPSTAN_OBJECTSTORE_S3_DIGEST_H_

#include <string>
#include <string_view>

namespace capstan {

std::string Sha256(std::string_view bytes);  // 32 bytes.
std::string HmacSha256(std::string_view key, std::string_view bytes);
std::string Md5(std::string_view bytes);

std::string Hex(std::string_view bytes);     // In lower case.
std::string Base64(std::string_view bytes);  // With padding.

// Returns the CRC32C in Base64, as in the header x-amz-checksum-crc32c.
std::string Crc32cText(std::string_view bytes);

// Percent-encodes all but letters, digits and "-._~"; with kKeep, "/" is not encoded either.
enum class Slash { kEncode, kKeep };
std::string UriEncode(std::string_view text, Slash slash);

// Decodes %XX, and "+" as a space, as in the keys of a listing. Everything else is kept.
std::string UriDecode(std::string_view text);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_DIGEST_H_
