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
  absl::Duration every = absl::Seconds(10);  // Between two looks.
  bool at_once = false;                      // The first look does not wait.
  // Reads the version in a folder; again, if it cannot, when LoadPauses says.
  std::function<absl::StatusOr<std::shared_ptr<ServedModel>>(const std::string&)> load;
  // Returns, after the time that it is given or earlier, whether to end.
  std::function<bool(absl::Duration)> ends;
  // What is told, on the thread of the follower: a version that is taken, and why none can be, once
  // for each reason. That there is none yet is not told.
  std::function<void(const ServedModel&)> taken;
  std::function<void(const absl::Status&)> failed;
};

// Looks, reads, and frees the version before, on a thread of its own: reading a large model takes
// minutes, and freeing it seconds. Thread-compatible.
class ModelFollower {
 public:
  // `service` and `clock` must outlive this object.
  ModelFollower(FollowerOptions options, InferenceService& service, const Clock& clock);
  // Waits until the thread has ended. A version that requests still had then is freed here, or by
  // the last of them.
  ~ModelFollower();
  ModelFollower(const ModelFollower&) = delete;

  // Returns whether the thread has ended, at the latest after `timeout`. It does not while it
  // reads.
  bool WaitForEnd(absl::Duration timeout) const;

 private:
  void Run();
  absl::Status Look();
  absl::StatusOr<std::shared_ptr<ServedModel>> Load(const std::string& folder);
  void LetGo(std::shared_ptr<ServedModel> model);

  const FollowerOptions options_;
  InferenceService& service_;
  const Clock& clock_;
  LoadPauses pauses_;                     // The thread's alone.
  std::shared_ptr<ServedModel> leaving_;  // The version before; requests own it, too.
  absl::Notification ended_;
  std::thread thread_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_MODEL_FOLLOWER_H_
