#include "worker/shell/model_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/model/network.h"
#include "worker/shell/compute_thread.h"

namespace capstan::worker {

absl::StatusOr<const DeclaredModel*> TowerSource::Declare(const v1::JobSpec& job) {
  return absl::FailedPreconditionError(absl::StrCat(
      "model.user: this job is computed by ", job.model().user(),
      ", and not by `worker`; start its workers with it: capstan train --worker 'python ",
      job.model().user(), "'"));
}

absl::StatusOr<std::unique_ptr<Computer>> TowerSource::NewComputer(const v1::JobSpec& job,
                                                                   const ComputeOptions& options,
                                                                   EventLoop& loop) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, Network::Create(job));
  return std::make_unique<ComputeThread>(std::move(network), options, loop);
}

}  // namespace capstan::worker
