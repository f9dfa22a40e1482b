// Calls the Kubernetes API from a pod, with the token of its ServiceAccount.
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

// Reads the access of this container from its environment and the files mounted in `folder`. The
// token is renewed while the pod lives, so call this for each use. FAILED_PRECONDITION: this is no
// pod, or one without a token.
absl::StatusOr<ClusterAccess> FindClusterAccess(const std::string& folder = kServiceAccountFolder);

// Sets the replicas of a Deployment in the pod's own namespace. NOT_FOUND: there is no such
// Deployment. PERMISSION_DENIED: a Role must allow `patch` on deployments/scale. Otherwise the
// errors of Http::Send, or UNAVAILABLE.
absl::Status ScaleDeployment(Http& http, const ClusterAccess& access, const std::string& name,
                             int replicas);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_CLUSTER_API_H_
