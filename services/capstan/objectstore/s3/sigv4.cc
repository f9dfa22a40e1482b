#include "capstan/objectstore/s3/sigv4.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/objectstore/s3/digest.h"

namespace capstan {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

// Returns `value` without white space around it, and with one space in place of several within.
std::string Trimmed(std::string value) {
  absl::RemoveExtraAsciiWhitespace(&value);
  return value;
}

// Returns the headers by name in lower case; values of the same name are joined by commas.
std::map<std::string, std::string> CanonicalHeaders(const HttpHeaders& headers) {
  std::map<std::string, std::string> canonical;
  for (const auto& [name, value] : headers) {
    const auto [entry, added] = canonical.emplace(absl::AsciiStrToLower(name), Trimmed(value));
    if (!added) absl::StrAppend(&entry->second, ",", Trimmed(value));
  }
  return canonical;
}

std::string SigningKey(const S3Credentials& credentials, const SigningScope& scope,
                       const std::string& day) {
  const std::string of_day = HmacSha256("AWS4" + credentials.secret_key, day);
  const std::string of_service = HmacSha256(HmacSha256(of_day, scope.region), scope.service);
  return HmacSha256(of_service, "aws4_request");
}

}  // namespace

std::string SigningTime(absl::Time time) {
  return absl::FormatTime("%Y%m%dT%H%M%SZ", time, absl::UTCTimeZone());
}

std::string CanonicalQuery(std::vector<std::pair<std::string, std::string>> query) {
  for (auto& [name, value] : query) {
    name = UriEncode(name, Slash::kEncode);
    value = UriEncode(value, Slash::kEncode);
  }
  std::sort(query.begin(), query.end());
  return absl::StrJoin(query, "&", absl::PairFormatter("="));
}

std::string Authorization(const SigningInput& input, const S3Credentials& credentials,
                          const SigningScope& scope) {
  const std::map<std::string, std::string> headers = CanonicalHeaders(input.headers);
  const std::string names = absl::StrJoin(
      headers, ";", [](std::string* out, const auto& header) { *out += header.first; });
  const std::string request =
      absl::StrJoin({input.method, input.path, CanonicalQuery(input.query),
                     absl::StrCat(absl::StrJoin(headers, "\n", absl::PairFormatter(":")), "\n"),
                     names, input.payload_sha256},
                    "\n");

  const std::string time = SigningTime(scope.time);
  const std::string day = time.substr(0, 8);
  const std::string place =
      absl::StrCat(day, "/", scope.region, "/", scope.service, "/aws4_request");
  const std::string to_sign =
      absl::StrCat(kAlgorithm, "\n", time, "\n", place, "\n", Hex(Sha256(request)));
  const std::string signature = Hex(HmacSha256(SigningKey(credentials, scope, day), to_sign));
  return absl::StrCat(kAlgorithm, " Credential=", credentials.access_key, "/", place,
                      ", SignedHeaders=", names, ", Signature=", signature);
}

}  // namespace capstan
