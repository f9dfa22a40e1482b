#include "cli/serve/model_follower.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "cli/model/stored_job.h"
#include "cli/serve/served_model.h"

namespace capstan::cli {

ModelFollower::ModelFollower(FollowerOptions options, InferenceService& service)
    : options_(std::move(options)), service_(service), thread_([this] { Run(); }) {}

ModelFollower::~ModelFollower() { thread_.join(); }

bool ModelFollower::WaitForEnd(absl::Duration timeout) const {
  return ended_.WaitForNotificationWithTimeout(timeout);
}

void ModelFollower::Run() {
  std::string complaint;
  for (bool now = options_.at_once; now || !options_.ends(options_.every); now = false) {
    const absl::Status status = Look();
    const bool told = !status.ok() && complaint != status.message();
    if (told) options_.failed(status);
    complaint = std::string(status.message());
  }
  ended_.Notify();
}

// A version that cannot be read, as it is being deleted, changes nothing.
absl::Status ModelFollower::Look() {
  const std::shared_ptr<ServedModel> served = service_.model();
  const absl::StatusOr<std::string> newest = ModelIn(options_.uri);
  if (served == nullptr && absl::IsNotFound(newest.status())) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(newest.status());
  if (served != nullptr && *newest == served->folder()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<ServedModel> model,
                           ServedModel::Load(*newest, options_.program));
  service_.Replace(model);
  options_.taken(*model);
  return absl::OkStatus();
}

}  // namespace capstan::cli
