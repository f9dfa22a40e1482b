// The calls of the chief, independent of the transport: checks whether the caller may make the
// call, and passes it to the machine. ChiefService serves the calls by gRPC.
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

// The peer that makes a call. The server has already checked that its role may make it.
struct ChiefCaller {
  std::string host;  // Its address without the port.
  std::string text;  // For the log: the names in its certificate, and its address.
  // The names in its certificate; nullopt: the connection is without TLS, so every caller may act
  // for every shard.
  std::optional<std::vector<std::string>> names = {};
};

// Serves even before the chief has its job, so that a process that finds the job claimed can reach
// its chief. Until Open is called, Status returns what was last passed to Tell, WatchView works,
// and RegisterWorker works as far as ModelIntake answers it; all other calls return UNAVAILABLE
// with the reason. Thread-safe.
class ChiefDoor {
 public:
  struct Parts {
    ViewFeed& views;
    ModelIntake& models;
    const Clock& clock;
    std::string job = {};  // The job that certificates must name.
    // The chief has a limited number of trainer ids. Each host may take this many of them, or
    // report this many failed programs, at once, and one a second after that.
    double registrations_at_once = 1024;
  };
  // The parts must outlive this object.
  explicit ChiefDoor(const Parts& parts)
      : parts_(parts), registrations_(parts.registrations_at_once, absl::Seconds(1)) {}

  // Sets what Status returns until Open: why there is no job yet. Before the first Tell, Status
  // returns UNAVAILABLE.
  void Tell(const v1::GetStatusReply& status);
  // Returns the error of calls that come before Open.
  absl::Status WhyNotOpen();
  // Passes calls to the machine from now on. Must be called only once. `machine` must outlive every
  // call.
  void Open(MachineAccess& machine) { machine_.store(&machine); }

  // ---- shards. PERMISSION_DENIED: the caller may not act for the shard, according to its
  // certificate or the secret that it shows. The log names the caller. ----

  absl::StatusOr<v1::RegisterShardReply> RegisterShard(const ChiefCaller& caller,
                                                       const v1::RegisterShardRequest& request);
  absl::StatusOr<v1::ShardHeartbeatReply> ShardHeartbeat(const ChiefCaller& caller,
                                                         const v1::ShardHeartbeatRequest& request);

  // ---- workers ----

  // RESOURCE_EXHAUSTED: the host takes trainer ids too often.
  absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(const ChiefCaller& caller,
                                                         const v1::RegisterWorkerRequest& request);
  absl::StatusOr<v1::WorkerHeartbeatReply> WorkerHeartbeat(
      const v1::WorkerHeartbeatRequest& request);

  // Returns the stream of a watcher. A caller that claims to be a shard, but may not act for it, is
  // treated like a watcher that is not a shard.
  grpc::ServerWriteReactor<v1::View>* WatchView(const ChiefCaller& caller,
                                                const v1::WatchViewRequest& request);

  // ---- people. The log names the caller of each order. ----

  absl::StatusOr<v1::GetStatusReply> Status();
  absl::Status StopJob(const ChiefCaller& caller, const v1::StopJobRequest& request);
  // `done` gets the checkpoint's folder or an error; it may be called before this returns.
  void TakeCheckpoint(const ChiefCaller& caller, MachineAccess::OnCheckpoint done);
  absl::StatusOr<v1::RebalanceReply> Rebalance(const ChiefCaller& caller,
                                               const v1::RebalanceRequest& request);

 private:
  // Which proof a caller that acts for a shard has not given.
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
  v1::GetStatusReply told_ ABSL_GUARDED_BY(mu_);  // Set by Tell; state UNSPECIFIED before.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_DOOR_H_
