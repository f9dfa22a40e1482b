// A job on Kubernetes, reached through kubectl: its chief's pod holds this command as well.
#ifndef CAPSTAN_CLI_KUBECTL_H_
#define CAPSTAN_CLI_KUBECTL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace capstan::cli {

struct KubernetesJob {
  std::string release;         // Of Helm.
  std::string kube_namespace;  // Empty: that of kubectl's context.
};

// Runs `capstan <arguments>` in the pod of the release's chief, in the place of this process, with
// its terminal: returns only if that cannot be. NOT_FOUND: no kubectl, or no such release;
// UNAVAILABLE: kubectl has failed, and has said why on standard error.
absl::Status RunBesideChief(const KubernetesJob& job, const std::vector<std::string>& arguments);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_KUBECTL_H_
