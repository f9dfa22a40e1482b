#include "capstan/objectstore/s3/options.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

// The host of ECS, to which relative addresses refer.
constexpr char kContainerHost[] = "http://169.254.170.2";

// Returns the first variable that is set and not empty.
std::string First(const Environment& get, std::initializer_list<const char*> names,
                  std::string otherwise = "") {
  for (const char* name : names) {
    const char* value = get(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return otherwise;
}

absl::Status ReadAddressing(const Environment& get, S3Options& options) {
  const std::string style = First(get, {"CAPSTAN_S3_ADDRESSING"});
  if (style.empty()) return absl::OkStatus();
  if (style != "path" && style != "virtual") {
    return absl::InvalidArgumentError(
        absl::StrCat("CAPSTAN_S3_ADDRESSING is '", style, "'; expected path or virtual"));
  }
  options.addressing = style == "path" ? S3Addressing::kPath : S3Addressing::kVirtualHost;
  return absl::OkStatus();
}

void ReadCredentials(const Environment& get, S3Options& options) {
  options.keys_folder = First(get, {"CAPSTAN_S3_KEYS"});
  options.access_key = First(get, {"AWS_ACCESS_KEY_ID"});
  options.secret_key = First(get, {"AWS_SECRET_ACCESS_KEY"});
  options.session_token = First(get, {"AWS_SESSION_TOKEN"});
  options.role_arn = First(get, {"AWS_ROLE_ARN"});
  options.web_identity_token_file = First(get, {"AWS_WEB_IDENTITY_TOKEN_FILE"});
  options.role_session_name = First(get, {"AWS_ROLE_SESSION_NAME"}, options.role_session_name);
  options.container_credentials_uri = First(get, {"AWS_CONTAINER_CREDENTIALS_FULL_URI"});
  const std::string relative = First(get, {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"});
  if (options.container_credentials_uri.empty() && !relative.empty()) {
    options.container_credentials_uri = kContainerHost + relative;
  }
  options.container_token_file = First(get, {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"});
}

bool IsBucket(std::string_view bucket) {
  if (bucket.size() < 3 || bucket.size() > 63) return false;
  for (char c : bucket) {
    if (!absl::ascii_isdigit(c) && !absl::ascii_islower(c) && c != '-' && c != '.') return false;
  }
  return absl::ascii_isalnum(bucket.front()) && absl::ascii_isalnum(bucket.back()) &&
         !absl::StrContains(AbslView(bucket), "..");
}

}  // namespace

absl::StatusOr<S3Options> S3OptionsFromEnvironment(const Environment& get) {
  S3Options options;
  options.region = First(get, {"AWS_REGION", "AWS_DEFAULT_REGION"}, options.region);
  options.endpoint = First(get, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  options.sts_endpoint = First(get, {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"});
  options.ca_file = First(get, {"AWS_CA_BUNDLE"});
  options.checksums = First(get, {"AWS_REQUEST_CHECKSUM_CALCULATION"}) != "when_required";
  options.allow_http = First(get, {"CAPSTAN_S3_ALLOW_HTTP"}) == "true";
  CAPSTAN_RETURN_IF_ERROR(ReadAddressing(get, options));
  ReadCredentials(get, options);
  return options;
}

absl::StatusOr<S3Options> S3OptionsFromEnvironment() {
  return S3OptionsFromEnvironment([](const char* name) { return std::getenv(name); });
}

absl::StatusOr<S3Location> ParseS3Uri(std::string_view uri) {
  absl::string_view rest = AbslView(uri);
  const bool is_s3 = absl::ConsumePrefix(&rest, "s3://");
  const size_t slash = rest.find('/');
  S3Location location{.bucket = std::string(rest.substr(0, slash))};
  if (slash != absl::string_view::npos) location.prefix = std::string(rest.substr(slash + 1));
  while (absl::EndsWith(location.prefix, "/")) location.prefix.pop_back();
  if (is_s3 && IsBucket(location.bucket)) return location;
  return absl::InvalidArgumentError(
      absl::StrCat("'", AbslView(uri), "' is no address in S3; expected s3://bucket/prefix"));
}

std::string AwsHost(const std::string& region) {
  // AWS in China is a partition with its own domain.
  return absl::StrCat(region, ".amazonaws.com", absl::StartsWith(region, "cn-") ? ".cn" : "");
}

absl::StatusOr<S3Endpoint> FindEndpoint(const S3Options& options, const std::string& bucket) {
  std::string endpoint = options.endpoint;
  if (endpoint.empty()) endpoint = absl::StrCat("https://s3.", AwsHost(options.region));
  absl::string_view host = endpoint;
  const bool https = absl::ConsumePrefix(&host, "https://");
  const bool http = !https && absl::ConsumePrefix(&host, "http://");
  absl::ConsumeSuffix(&host, "/");
  if ((!https && !http) || host.empty() || absl::StrContains(host, "/") ||
      absl::StrContains(host, "@")) {
    return absl::InvalidArgumentError(
        absl::StrCat("S3 endpoint '", host, "': expected https://host[:port]"));
  }
  if (http && !options.allow_http) {
    return absl::FailedPreconditionError(
        absl::StrCat("S3 endpoint http://", host,
                     ": only https:// is allowed unless CAPSTAN_S3_ALLOW_HTTP=true"));
  }
  const absl::string_view scheme = https ? "https://" : "http://";
  // A certificate for *.host covers no bucket with a dot in its name.
  const bool path = options.addressing == S3Addressing::kPath ||
                    (options.addressing == S3Addressing::kAutomatic &&
                     (!options.endpoint.empty() || absl::StrContains(bucket, ".")));
  const std::string full = path ? std::string(host) : absl::StrCat(bucket, ".", host);
  return S3Endpoint{.origin = absl::StrCat(scheme, full),
                    .host = full,
                    .base = path ? absl::StrCat("/", bucket, "/") : "/"};
}

}  // namespace capstan
