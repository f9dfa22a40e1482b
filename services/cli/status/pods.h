// Reads what `kubectl get deployment,statefulset,pod --output=json` says of a release's pods.
#ifndef CAPSTAN_CLI_STATUS_PODS_H_
#define CAPSTAN_CLI_STATUS_PODS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan::cli {

struct ReleasePods {
  bool has_chief = false;  // The chief's StatefulSet exists.
  std::string chief;       // The name of the chief's pod; empty: there is none at the moment.
  bool chief_runs = false;
  // A sentence for each pod that has, or had, a problem: it waits for a node or an image, ends
  // again and again, or was killed for its memory; and one for workers that cannot be made.
  std::vector<std::string> troubles;
};

// DATA_LOSS: `json` is no such output.
absl::StatusOr<ReleasePods> ReadReleasePods(std::string_view json);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_PODS_H_
