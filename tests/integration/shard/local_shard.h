// Real shards behind real gRPC on loopback, without a chief: the test hands them job and view
// itself.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_LOCAL_SHARD_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_LOCAL_SHARD_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/door/ps_service.h"
#include "ps/partition/shard_metrics.h"
#include "ps/process/replica_sender.h"
#include "ps/shard/shard.h"
#include "ps/transfer/loader.h"
#include "ps/transfer/replicator.h"
#include "ps/transfer/saver.h"
#include "ps/transfer/view_followers.h"

namespace capstan {

// A job of one table "features" (SGD with rate 1, rows from 0) and one tensor "w", 8 partitions,
// async.
v1::JobSpec SmallJob(uint32_t dim, uint32_t dense_width);

// One shard of a job. *Thread-safe*.
class LocalShard {
 public:
  LocalShard(const v1::JobSpec& job, int index, const ServerOptions& server);
  ~LocalShard();

  int port() const { return server_->port(); }
  ps::Shard& shard() { return *shard_; }
  ps::Saver& saver() { return *saver_; }
  ps::Loader& loader() { return *loader_; }
  ps::Mover& mover() { return *mover_; }
  ps::StagedPartitions& staged() { return *staged_; }
  ps::Replicator& replicator() { return *replicator_; }
  // As the process does when a view comes.
  void SetView(const v1::View& view);
  // What its heartbeat tells the chief.
  v1::ShardReport Report() const { return shard_->Report(shard_->accounts().Facts()); }
  // As a scrape shows it.
  std::string Metrics() const { return registry_.Text(); }

 private:
  const ps::ShardIdentity identity_;
  const SteadyClock clock_;
  metrics::Registry registry_;
  ps::ShardMetrics metrics_;
  ps::PsService service_;
  std::unique_ptr<ps::Shard> shard_;
  Threads threads_;
  Threads gentle_threads_{ps::Saver::kNiceness};
  std::optional<ps::Saver> saver_;
  std::optional<ps::Loader> loader_;
  std::optional<ps::Mover> mover_;
  std::optional<ps::StagedPartitions> staged_;
  std::optional<ps::Replicator> replicator_;
  std::optional<ps::ViewFollowers> followers_;
  std::optional<ps::ServedShard> served_;
  std::optional<ps::ReplicaSender> sender_;  // With replicas.
  std::unique_ptr<Server> server_;
  std::atomic<bool> stopping_{false};
  std::thread ticker_;
};

// Some shards and the view that names them.
class LocalShards {
 public:
  // `first_port`: of the first shard, the others follow; 0: any free ones. `server`: of all, but
  // for the address.
  // `owners`: so many of them own partitions, the others are served without any; 0: all.
  LocalShards(const v1::JobSpec& job, int count, int first_port = 0, ServerOptions server = {},
              int owners = 0);

  // What a view says of a shard that listens on this port.
  static v1::ShardInfo InfoOf(int index, int port);

  // An order to load, with initial values, what the view gives to a shard.
  v1::LoadPartitionsRequest LoadOrder(int index) const;

  const v1::View& view() const { return view_; }
  const v1::JobSpec& job() const { return job_; }
  int size() const { return static_cast<int>(shards_.size()); }
  LocalShard& at(int index) { return *shards_[static_cast<size_t>(index)]; }
  // Ends its process, so to speak; nobody tells the others.
  void Kill(int index) { shards_[static_cast<size_t>(index)].reset(); }
  bool lives(int index) const { return shards_[static_cast<size_t>(index)] != nullptr; }
  // Publishes the view with these trainers, whose clocks begin at 0.
  void SetTrainers(const std::vector<uint64_t>& trainers);
  // Publishes the view with another timeline, which the shards have loaded.
  void SetTimeline(uint64_t timeline);
  // Publishes the view with another address of a shard: a proxy's.
  void SetAddress(int index, const std::string& address);
  // Publishes the view as the test changes it.
  void Change(absl::FunctionRef<void(v1::View&)> change);
  // The same, and only these shards hear of it.
  void ChangeFor(const std::vector<int>& hearers, absl::FunctionRef<void(v1::View&)> change);

 private:
  void Publish();

  const v1::JobSpec job_;
  std::vector<std::unique_ptr<LocalShard>> shards_;
  v1::View view_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_LOCAL_SHARD_H_
