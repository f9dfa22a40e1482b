#include "cli/serve/model_follower.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "cli/model/stored_job.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kRequestsPause = absl::Milliseconds(100);

}  // namespace

ModelFollower::ModelFollower(FollowerOptions options, InferenceService& service, const Clock& clock)
    : options_(std::move(options)),
      service_(service),
      clock_(clock),
      pauses_(options_.every),
      thread_([this] { Run(); }) {}

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

// Looks once for a newer version and serves it. If it cannot be read, for instance because it is
// being deleted, the present version stays.
absl::Status ModelFollower::Look() {
  std::shared_ptr<ServedModel> served = service_.model();
  const absl::StatusOr<std::string> newest = ModelIn(options_.uri);
  if (served == nullptr && absl::IsNotFound(newest.status())) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(newest.status());
  if (served != nullptr && *newest == served->folder()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<ServedModel> model, Load(*newest));
  service_.Replace(model);
  options_.taken(*model);
  LetGo(std::move(served));
  return absl::OkStatus();
}

// Waits until no request uses the model any more and frees it here, as otherwise the last request
// would free it before it is answered.
void ModelFollower::LetGo(std::shared_ptr<ServedModel> model) {
  leaving_ = std::move(model);
  while (leaving_.use_count() > 1) {
    if (options_.ends(kRequestsPause)) return;
  }
  leaving_.reset();
}

absl::StatusOr<std::shared_ptr<ServedModel>> ModelFollower::Load(const std::string& folder) {
  CAPSTAN_RETURN_IF_ERROR(pauses_.Standing(folder, clock_.Now()));
  absl::StatusOr<std::shared_ptr<ServedModel>> model = options_.load(folder);
  if (!model.ok()) pauses_.Failed(folder, model.status(), clock_.Now());
  return model;
}

}  // namespace capstan::cli
