// AWS Signature Version 4: proves that a request was made by the holder of a secret key, without
// containing the key. Pure functions.
#ifndef CAPSTAN_OBJECTSTORE_S3_SIGV4_H_
#define CAPSTAN_OBJECTSTORE_S3_SIGV4_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/http/http.h"

namespace capstan {

struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token = {};  // Only temporary credentials have one.
  absl::Time expires = absl::InfiniteFuture();
};

struct SigningScope {
  std::string region;
  std::string service;
  absl::Time time;
};

struct SigningInput {
  std::string method;
  std::string path;                                             // Encoded, with the leading slash.
  std::vector<std::pair<std::string, std::string>> query = {};  // Not encoded, in any order.
  HttpHeaders headers = {};                                     // All headers to be signed.
  std::string payload_sha256;                                   // In hexadecimal digits.
};

// Returns the time as in the header x-amz-date: "20150830T123600Z".
std::string SigningTime(absl::Time time);

// Returns the query in the form in which it is signed, and in which it must be sent after "?".
std::string CanonicalQuery(std::vector<std::pair<std::string, std::string>> query);

// Returns the value of the header Authorization.
std::string Authorization(const SigningInput& input, const S3Credentials& credentials,
                          const SigningScope& scope);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_SIGV4_H_
