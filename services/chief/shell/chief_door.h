// The calls of the chief, apart from how they arrive: each is checked as far as that needs who
// calls, and passed to the machine. A process serves them by gRPC (chief_service).
#ifndef CAPSTAN_CHIEF_SHELL_CHIEF_DOOR_H_
#define CAPSTAN_CHIEF_SHELL_CHIEF_DOOR_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/rpc/peer_rate.h"
#include "capstan/v1/chief.pb.h"
#include "chief/shell/machine_access.h"
#include "chief/shell/model_intake.h"
#include "chief/shell/odd_workers.h"
#include "chief/shell/program_failures.h"
#include "chief/shell/view_feed.h"

namespace capstan::chief {

// Who makes a call. Its role may make it: servers check that before.
struct ChiefCaller {
  std::string host;  // Its address without the port.
  std::string text;  // For the log: the names in its certificate, and its address.
  // The names in its certificate; nullopt: without TLS there are none, and everybody may act for
  // every shard.
  std::optional<std::vector<std::string>> names = {};
};

// Serves before the chief has its job, so that a process that finds the job claimed can reach its
// chief. Until Open, Status returns what was last passed to Tell,
// WatchView works, and RegisterWorker as far as ModelIntake answers it; all other calls return
// UNAVAILABLE and the reason. Thread-safe.
class ChiefDoor {
 public:
  struct Parts {
    ViewFeed& views;
    ModelIntake& models;
    const Clock& clock;
    std::string job = {};  // That certificates are to be of.
    // Each host may take so many numbers for trainers at once, of which the chief has only so many,
    // or report so many programs that fail, and then one a second.
    double registrations_at_once = 1024;
  };
  // The parts must outlive this object.
  explicit ChiefDoor(const Parts& parts)
      : parts_(parts), registrations_(parts.registrations_at_once, absl::Seconds(1)) {}

  // Sets what Status returns until Open: why there is no job yet. Before the first Tell it is
  // UNAVAILABLE.
  void Tell(const v1::GetStatusReply& status);
  // Returns how calls end that come before Open.
  absl::Status WhyNotOpen();
  // Passes calls to the machine from now on. To be called once. `machine` must outlive every call.
  void Open(MachineAccess& machine) { machine_.store(&machine); }

  // ---- shards. PERMISSION_DENIED: the caller may not act for the shard, by its certificate or by
  // the secret that it shows. The log says who it was. ----

  absl::StatusOr<v1::RegisterShardReply> RegisterShard(const ChiefCaller& caller,
                                                       const v1::RegisterShardRequest& request);
  absl::StatusOr<v1::ShardHeartbeatReply> ShardHeartbeat(const ChiefCaller& caller,
                                                         const v1::ShardHeartbeatRequest& request);

  // ---- workers ----

  // RESOURCE_EXHAUSTED: the host takes numbers for trainers too often.
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(const ChiefCaller& caller,
                                                         const v1::RegisterWorkerRequest& request);
  absl::StatusOr<v1::WorkerHeartbeatReply> WorkerHeartbeat(
      const v1::WorkerHeartbeatRequest& request);

  // Returns the stream of a watcher. Who says that it is a shard, and may not act for it, watches
  // as one who is none.
  grpc::ServerWriteReactor<v1::View>* WatchView(const ChiefCaller& caller,
                                                const v1::WatchViewRequest& request);

  // ---- people. The log says who has given an order. ----

  absl::StatusOr<v1::GetStatusReply> Status();
  absl::Status StopJob(const ChiefCaller& caller, const v1::StopJobRequest& request);
  // `done` gets the checkpoint's folder, or an error, perhaps within the call.
  void TakeCheckpoint(const ChiefCaller& caller, MachineAccess::OnCheckpoint done);
  absl::StatusOr<v1::RebalanceReply> Rebalance(const ChiefCaller& caller,
                                               const v1::RebalanceRequest& request);

 private:
  // What somebody who acts for a shard lacks.
  enum class Lack { kNothing, kShard, kNumber, kSecret };

  bool ShowsNumber(const ChiefCaller& caller, uint32_t shard) const;
  Lack CertificateLacks(const ChiefCaller& caller, uint32_t shard, const ChiefMachine* chief) const;
  static absl::Status Refuse(Lack lack, const ChiefCaller& caller, uint32_t shard);
  bool MayWatchAsShard(const ChiefCaller& caller, const v1::WatchViewRequest& request);
  void TakeIn(const v1::RegisterWorkerRequest& worker);
  void TakeFailure(const std::string& worker, const v1::UserCodeError& error);

  const Parts parts_;
  PeerRate registrations_;
  std::atomic<MachineAccess*> machine_ = nullptr;
  ProgramFailures failures_;
  OddWorkers odd_workers_;
  absl::Mutex mu_;
  v1::GetStatusReply told_ ABSL_GUARDED_BY(mu_);  // State UNSPECIFIED: nothing was told.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_DOOR_H_
