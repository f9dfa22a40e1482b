// A worker, from its registration to its end, on a thread of its own: the program `worker`, or a
// part of the user's own process.
#ifndef CAPSTAN_WORKER_SHELL_RUNTIME_H_
#define CAPSTAN_WORKER_SHELL_RUNTIME_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/shutdown.h"
#include "capstan/metrics/registry.h"
#include "capstan/process/service.h"
#include "worker/shell/model_source.h"
#include "worker/shell/worker_metrics.h"

namespace capstan::worker {

struct RuntimeOptions {
  std::string chief;  // host:port
  std::string name;   // Unique among the workers of the job.
  std::string host = "0.0.0.0";
  ServiceOptions service;
  absl::Duration chief_deadline = absl::Minutes(5);
  absl::Duration min_step;  // See ComputeOptions.
  // The longest time from the shutdown request to the worker's end. Steps that are not done a
  // second before that are given back, and other workers compute them; in the last second the chief
  // is told. Must be at least a second.
  absl::Duration drain = absl::Seconds(4);
};

// Installs no signal handlers: whoever owns the process requests `shutdown`. Thread-safe.
class Runtime {
 public:
  // Sets the process up (SetUpProcess, LimitHeaps), opens its ports, and begins. `model` and
  // `shutdown` must outlive the runtime.
  static absl::StatusOr<std::unique_ptr<Runtime>> Start(const RuntimeOptions& options,
                                                        ModelSource& model,
                                                        const Shutdown& shutdown);
  // Waits for the worker's end. REQUIRES: the worker has ended, or the shutdown has been requested.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Waits until the worker has ended. OK: it was asked to end, and has given back its leases.
  absl::Status Wait();
  // The same, but waits for `timeout` at the most. Returns whether the worker has ended.
  bool AwaitEnd(absl::Duration timeout);

 private:
  Runtime(const RuntimeOptions& options, ModelSource& model, const Shutdown& shutdown);
  void Run();
  absl::Status Work();
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWithModel(EventLoop& loop, const Channel& chief,
                                                            Incarnation incarnation,
                                                            Incarnation former);
  absl::Status Declare(EventLoop& loop, const Channel& chief, const v1::RegisterWorkerReply& reply,
                       bool has_declared);

  const RuntimeOptions options_;
  ModelSource& model_;
  const Shutdown& shutdown_;
  std::unique_ptr<const Tls> tls_;  // Null: plaintext. Set by Start.
  metrics::Registry registry_;
  WorkerMetrics metrics_;
  std::unique_ptr<SidePorts> side_;
  const DeclaredModel* declared_ = nullptr;  // Only used by thread_.
  absl::Mutex mu_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_RUNTIME_H_
