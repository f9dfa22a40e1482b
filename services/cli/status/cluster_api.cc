#include "cli/status/cluster_api.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  if (!file || stripped.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": cannot be read; is this a pod with a ServiceAccount's token?"));
  }
  return std::string(stripped);
}

absl::StatusOr<std::string> Variable(const char* name) {
  if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return absl::FailedPreconditionError(
      absl::StrCat("$", name, " is not set; is this a pod of a cluster?"));
}

absl::Status StatusOf(const HttpResponse& response, const std::string& what) {
  const std::string message = absl::StrCat(what, ": answered ", response.status);
  switch (response.status) {
    case 200:
      return absl::OkStatus();
    case 401:
      return absl::UnauthenticatedError(message);
    case 403:
      return absl::PermissionDeniedError(
          absl::StrCat(message, "; a Role must allow patch on deployments/scale"));
    case 404:
      return absl::NotFoundError(message);
    default:
      return response.status == 429 || response.status >= 500
                 ? absl::UnavailableError(message)
                 : absl::FailedPreconditionError(message);
  }
}

}  // namespace

absl::StatusOr<ClusterAccess> FindClusterAccess(const std::string& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(std::string host, Variable("KUBERNETES_SERVICE_HOST"));
  CAPSTAN_ASSIGN_OR_RETURN(const std::string port, Variable("KUBERNETES_SERVICE_PORT"));
  if (absl::StrContains(host, ':')) host = absl::StrCat("[", host, "]");  // IPv6.
  ClusterAccess access{.server = absl::StrCat("https://", host, ":", port),
                       .ca_file = folder + "/ca.crt"};
  CAPSTAN_ASSIGN_OR_RETURN(access.token, ReadText(folder + "/token"));
  CAPSTAN_ASSIGN_OR_RETURN(access.kube_namespace, ReadText(folder + "/namespace"));
  return access;
}

absl::Status ScaleDeployment(Http& http, const ClusterAccess& access, const std::string& name,
                             int replicas) {
  const std::string path =
      absl::StrCat("/apis/apps/v1/namespaces/", access.kube_namespace, "/deployments/", name);
  const std::string body = absl::StrCat(R"({"spec":{"replicas":)", replicas, "}}");
  CAPSTAN_ASSIGN_OR_RETURN(
      const HttpResponse response,
      http.Send({.method = "PATCH",
                 .url = absl::StrCat(access.server, path, "/scale"),
                 .headers = {{"Authorization", absl::StrCat("Bearer ", access.token)},
                             {"Content-Type", "application/merge-patch+json"}},
                 .body = body,
                 .timeout = kTimeout,
                 .direct = true}));
  return StatusOf(response, path);
}

}  // namespace capstan::cli
