#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/answer.h"
#include "capstan/objectstore/s3/credentials.h"
#include "capstan/objectstore/s3/flat_json.h"

namespace capstan {
namespace {

// The token is sent over plain HTTP only to this machine and to the agents of ECS and EKS.
absl::Status CheckAddress(const std::string& uri) {
  if (absl::StartsWith(uri, "https://")) return absl::OkStatus();
  for (absl::string_view host :
       {"127.0.0.1", "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"}) {
    absl::string_view rest = uri;
    if (!absl::ConsumePrefix(&rest, absl::StrCat("http://", host))) continue;
    // The text before an "@" is a user name: the host is what follows.
    const absl::string_view port = rest.substr(0, rest.find_first_of("/?#"));
    if (absl::StrContains(port, "@")) break;
    if (port.empty() || port.front() == ':') return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI: neither https:// nor an address of this machine");
}

}  // namespace

absl::StatusOr<S3Credentials> FetchContainerCredentials(const S3Options& options, Http& http,
                                                        const std::atomic<bool>* cancelled) {
  CAPSTAN_RETURN_IF_ERROR(CheckAddress(options.container_credentials_uri));
  HttpHeaders headers;
  if (!options.container_token_file.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(std::string token, ReadToken(options.container_token_file));
    headers.emplace_back("authorization", std::move(token));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const HttpResponse response,
                           http.Send({.method = "GET",
                                      .url = options.container_credentials_uri,
                                      .headers = std::move(headers),
                                      .timeout = absl::Seconds(5),
                                      .direct = true,
                                      .cancelled = cancelled}));
  if (response.status != 200) return ReadFailure(response, "container credentials").status;
  CAPSTAN_ASSIGN_OR_RETURN(auto fields, ParseFlatJson(response.body));
  if (fields["AccessKeyId"].empty() || fields["SecretAccessKey"].empty()) {
    return absl::DataLossError("container credentials: the answer holds none");
  }
  CAPSTAN_ASSIGN_OR_RETURN(const absl::Time expires, ParseExpiration(fields["Expiration"]));
  return S3Credentials{.access_key = std::move(fields["AccessKeyId"]),
                       .secret_key = std::move(fields["SecretAccessKey"]),
                       .session_token = std::move(fields["Token"]),
                       .expires = expires};
}

}  // namespace capstan
