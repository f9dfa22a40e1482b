// Keeps a service at the newest version of a model.
#ifndef CAPSTAN_CLI_SERVE_MODEL_FOLLOWER_H_
#define CAPSTAN_CLI_SERVE_MODEL_FOLLOWER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "cli/serve/inference_service.h"
#include "cli/serve/load_pauses.h"
#include "cli/serve/served_model.h"

namespace capstan::cli {

struct FollowerOptions {
  std::string uri;  // A job's folder, a checkpoint or an exported model, as ModelIn takes it.
  absl::Duration every = absl::Seconds(10);  // Time between two looks at the folder.
  bool at_once = false;                      // The first look does not wait.
  // Loads the version in a folder. If it fails, it is called again when LoadPauses says so.
  std::function<absl::StatusOr<std::shared_ptr<ServedModel>>(const std::string&)> load;
  // Waits at most the given time, and returns whether the follower should end.
  std::function<bool(absl::Duration)> ends;
  // Called on the follower's thread: `taken` when a version is served, `failed` with the reason why
  // no newer version can be, once for each reason. That there is no version yet is not reported.
  std::function<void(const ServedModel&)> taken;
  std::function<void(const absl::Status&)> failed;
};

// Looks for versions, loads them, and frees the version before, on a thread of its own, as loading
// a large model takes minutes and freeing it seconds. Thread-compatible.
class ModelFollower {
 public:
  // `service` and `clock` must outlive this object.
  ModelFollower(FollowerOptions options, InferenceService& service, const Clock& clock);
  // Waits until the thread has ended. A version that requests still use then is freed here, or by
  // the last of these requests.
  ~ModelFollower();
  ModelFollower(const ModelFollower&) = delete;

  // Waits at most `timeout` for the thread to end, and returns whether it has. It does not end
  // while it loads a model.
  bool WaitForEnd(absl::Duration timeout) const;

 private:
  void Run();
  absl::Status Look();
  absl::StatusOr<std::shared_ptr<ServedModel>> Load(const std::string& folder);
  void LetGo(std::shared_ptr<ServedModel> model);

  const FollowerOptions options_;
  InferenceService& service_;
  const Clock& clock_;
  LoadPauses pauses_;                     // Used by the thread only.
  std::shared_ptr<ServedModel> leaving_;  // The version before, owned also by requests under way.
  absl::Notification ended_;
  std::thread thread_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_MODEL_FOLLOWER_H_
