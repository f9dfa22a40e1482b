// What Kubernetes says of a release's pods, as `kubectl get statefulset,pod --output=json` tells
// it.
#ifndef CAPSTAN_CLI_STATUS_PODS_H_
#define CAPSTAN_CLI_STATUS_PODS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan::cli {

struct ReleasePods {
  bool has_chief = false;  // A StatefulSet of the chief's.
  std::string chief;       // Its pod; empty: there is none at the moment.
  bool chief_runs = false;
  // A sentence for each pod with which something is, or was, the matter: it waits for a node or an
  // image, ends again and again, was killed for its memory.
  std::vector<std::string> troubles;
};

// DATA_LOSS: that is no such answer.
absl::StatusOr<ReleasePods> ReadReleasePods(std::string_view json);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_PODS_H_
