#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/answer.h"
#include "capstan/objectstore/s3/credentials.h"
#include "capstan/objectstore/s3/digest.h"
#include "capstan/objectstore/s3/options.h"
#include "capstan/objectstore/s3/xml.h"

namespace capstan {
namespace {

absl::StatusOr<std::string> TokenService(const S3Options& options) {
  absl::string_view endpoint = options.sts_endpoint;
  if (endpoint.empty()) return absl::StrCat("https://sts.", AwsHost(options.region), "/");
  absl::ConsumeSuffix(&endpoint, "/");
  if (absl::StartsWith(endpoint, "https://") || options.allow_http) {
    return absl::StrCat(endpoint, "/");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "token service ", endpoint, ": only https:// is allowed unless CAPSTAN_S3_ALLOW_HTTP=true"));
}

}  // namespace

absl::StatusOr<S3Credentials> FetchWebIdentity(const S3Options& options, Http& http,
                                               const std::atomic<bool>* cancelled) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string address, TokenService(options));
  CAPSTAN_ASSIGN_OR_RETURN(const std::string token, ReadToken(options.web_identity_token_file));
  // In the body, because urls are often logged.
  const std::string form = CanonicalQuery({{"Action", "AssumeRoleWithWebIdentity"},
                                           {"Version", "2011-06-15"},
                                           {"RoleArn", options.role_arn},
                                           {"RoleSessionName", options.role_session_name},
                                           {"WebIdentityToken", token}});
  CAPSTAN_ASSIGN_OR_RETURN(
      const HttpResponse response,
      http.Send({.method = "POST",
                 .url = address,
                 .headers = {{"content-type", "application/x-www-form-urlencoded"}},
                 .body = form,
                 .timeout = absl::Seconds(10),
                 .cancelled = cancelled}));
  if (response.status != 200) return ReadFailure(response, "AssumeRoleWithWebIdentity").status;
  CAPSTAN_ASSIGN_OR_RETURN(const XmlElement answer, ParseXml(response.body));
  const XmlElement* result = answer.Child("AssumeRoleWithWebIdentityResult");
  const XmlElement* fields = result == nullptr ? nullptr : result->Child("Credentials");
  if (fields == nullptr || fields->ChildText("AccessKeyId").empty() ||
      fields->ChildText("SecretAccessKey").empty()) {
    return absl::DataLossError("AssumeRoleWithWebIdentity: the answer holds no credentials");
  }
  CAPSTAN_ASSIGN_OR_RETURN(const absl::Time expires,
                           ParseExpiration(fields->ChildText("Expiration")));
  return S3Credentials{.access_key = std::string(fields->ChildText("AccessKeyId")),
                       .secret_key = std::string(fields->ChildText("SecretAccessKey")),
                       .session_token = std::string(fields->ChildText("SessionToken")),
                       .expires = expires};
}

}  // namespace capstan
