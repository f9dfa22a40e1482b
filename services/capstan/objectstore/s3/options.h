// The options of S3 clients, from the environment variables that AWS's own tools use.
#ifndef CAPSTAN_OBJECTSTORE_S3_OPTIONS_H_
#define CAPSTAN_OBJECTSTORE_S3_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan {

// In virtual-host style the bucket is a part of the host's name; in path style it is in the path.
enum class S3Addressing { kAutomatic, kPath, kVirtualHost };

struct S3Options {
  std::string region = "us-east-1";
  std::string endpoint = {};      // "https://host[:port]"; empty: AWS's endpoint of the region.
  std::string sts_endpoint = {};  // The same for the token service.
  // kAutomatic: kPath if `endpoint` is set or the bucket's name has a dot.
  S3Addressing addressing = S3Addressing::kAutomatic;
  bool allow_http = false;
  bool checksums = true;  // Send CRC32C with every object; old servers refuse it.
  std::string ca_file = {};

  // Credentials: the first of the following that is set.
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};
  // The files in it are named after the three variables above, and read again every few seconds.
  std::string keys_folder = {};
  std::string role_arn = {};  // Web identity.
  std::string web_identity_token_file = {};
  std::string role_session_name = "capstan";
  std::string container_credentials_uri = {};
  std::string container_token_file = {};

  // Retries: a call makes at most `attempts` requests, and begins none after the deadline. A pause
  // is drawn from [0, first_pause * 2^n), limited to most_pause; a time requested by the server is
  // respected. If a read has received some bytes, these are kept, and the rest of the read gets all
  // attempts and time again.
  int attempts = 8;
  absl::Duration deadline = absl::Minutes(2);
  absl::Duration request_timeout = absl::Minutes(1);
  absl::Duration first_pause = absl::Milliseconds(100);
  absl::Duration most_pause = absl::Seconds(10);
  // Also retry after refusals of keys, tokens, certificates and routes, because a Secret that is
  // rotated, or created later, reaches a process only after a minute or two. For callers that can
  // only wait; others should fail at once.
  bool outlasts_refusals = false;
  // Called with each failure that is retried, and with OK when a call is over that had such a
  // failure. Must be thread-safe; may be null.
  std::function<void(const absl::Status&)> on_trouble = {};

  // The size of a part of an upload; S3 requires at least 5 MiB.
  uint64_t part_bytes = uint64_t{8} << 20;
  size_t parts_at_once = 4;  // At least 1: how many parts of one upload are in memory.
};

// Reads the options from these variables: CAPSTAN_S3_KEYS, a folder with the keys; AWS_REGION or
// AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; AWS_ENDPOINT_URL_STS; AWS_CA_BUNDLE;
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; AWS_ROLE_ARN,
// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_SESSION_NAME; AWS_CONTAINER_CREDENTIALS_FULL_URI or
// _RELATIVE_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
// AWS_REQUEST_CHECKSUM_CALCULATION=when_required; CAPSTAN_S3_ADDRESSING=path|virtual;
// CAPSTAN_S3_ALLOW_HTTP=true. INVALID_ARGUMENT: a variable has another value; no message contains a
// secret. `get` returns the value of a variable, or null; without it, the environment of the
// process is read.
using Environment = std::function<const char*(const char* name)>;
absl::StatusOr<S3Options> S3OptionsFromEnvironment(const Environment& get);
absl::StatusOr<S3Options> S3OptionsFromEnvironment();

struct S3Location {
  std::string bucket;
  std::string prefix;  // Without a slash at either end; empty: the whole bucket.
};

// Parses an address "s3://bucket[/prefix]". INVALID_ARGUMENT: it is not such an address.
absl::StatusOr<S3Location> ParseS3Uri(std::string_view uri);

// Returns the suffix of the names of AWS's hosts in a region: "eu-west-1.amazonaws.com".
std::string AwsHost(const std::string& region);

// Where the objects of a bucket are.
struct S3Endpoint {
  std::string origin;  // "https://host[:port]"
  std::string host;    // As in the header Host.
  std::string base;    // In front of every key: "/" or "/bucket/".
};

// INVALID_ARGUMENT: the endpoint is not an address. FAILED_PRECONDITION: it is http://, and that is
// not allowed.
absl::StatusOr<S3Endpoint> FindEndpoint(const S3Options& options, const std::string& bucket);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_OPTIONS_H_
