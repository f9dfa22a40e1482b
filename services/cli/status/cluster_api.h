// What a pod may ask of the Kubernetes API, with the token of its ServiceAccount.
#ifndef CAPSTAN_CLI_STATUS_CLUSTER_API_H_
#define CAPSTAN_CLI_STATUS_CLUSTER_API_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/http/http.h"

namespace capstan::cli {

inline constexpr char kServiceAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

struct ClusterAccess {
  std::string server;  // https://host:port
  std::string token;
  std::string kube_namespace;
  std::string ca_file;
};

// As a container finds it, in its environment and in the files that are mounted there. The token
// is renewed while the pod lives, so it is read when it is used. FAILED_PRECONDITION: this is no
// pod, or one without a token.
absl::StatusOr<ClusterAccess> FindClusterAccess(const std::string& folder = kServiceAccountFolder);

// Sets the replicas of a Deployment of the pod's own namespace. NOT_FOUND, PERMISSION_DENIED (a
// Role must allow `patch` on deployments/scale), UNAVAILABLE, DEADLINE_EXCEEDED, and what Http
// says.
absl::Status ScaleDeployment(Http& http, const ClusterAccess& access, const std::string& name,
                             int replicas);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_CLUSTER_API_H_
