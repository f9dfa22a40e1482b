// The metrics of a shard; shard_metric_declarations.h explains each. The counters are created once,
// and counting takes no lock.
#ifndef CAPSTAN_PS_PARTITION_SHARD_METRICS_H_
#define CAPSTAN_PS_PARTITION_SHARD_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/staleness.h"
#include "capstan/metrics/declaration.h"
#include "capstan/metrics/registry.h"
#include "capstan/store/memory_limits.h"
#include "capstan/store/table.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/hot_partition.h"
#include "ps/partition/rejection.h"
#include "ps/partition/shard_facts.h"

namespace capstan::ps {

enum class Method { kPull = 0, kPush = 1 };

// *Thread-safe*.
class ShardMetrics {
 public:
  // `registry` must outlive this object.
  explicit ShardMetrics(metrics::Registry& registry);

  struct Request {
    Method method{};
    absl::StatusCode code{};
    absl::Duration duration;  // Without the time that a pull waits for slower trainers.
    size_t request_bytes = 0;
    size_t reply_bytes = 0;
  };
  void CountRequest(const Request& request);
  void AddInFlight(int by) { in_flight_->Add(by); }
  // Sets the number of calls that wait for a thread.
  void SetQueued(int64_t calls) { queued_calls_->Set(static_cast<double>(calls)); }

  // Counts a request that was refused as a whole.
  void CountRejected(Rejection reason);
  // Counts the outcome of a push for one part of one partition under its reason, if the gradient
  // was not applied.
  void CountOutcome(v1::Outcome outcome);
  // Records the staleness of a gradient when it is applied.
  void ObserveStaleness(uint64_t versions, absl::Duration age);
  // Records the staleness of the rows of an update: how many updates each has had since its pull.
  void ObserveRowStaleness(const StalenessCounts& rows);
  // Adds the time that a request has waited for the lock of a partition.
  void AddLockWait(absl::Duration wait) { lock_wait_->Add(absl::ToDoubleSeconds(wait)); }
  // Counts gradients that were added to the sum of a round while it was still open.
  void CountAddedAhead(size_t gradients) {
    if (gradients > 0) added_ahead_->Add(static_cast<double>(gradients));
  }
  // Counts a partition whose updates are held back because its shard keeps too much for copies.
  void CountHeldBack() { held_back_->Add(); }
  // Count the saving or loading of this shard's share of a checkpoint.
  void CountSave(bool ok, uint64_t bytes, absl::Duration took);
  void CountLoad(bool ok, uint64_t bytes, absl::Duration took);
  // Count the bytes of partitions that this shard has sent and received. Set how many partitions
  // are moving from here, and the memory of those that have arrived and are not served yet.
  void CountMoved(uint64_t bytes) { moved_bytes_->Add(static_cast<double>(bytes)); }
  void CountReceived(uint64_t bytes) { received_bytes_->Add(static_cast<double>(bytes)); }
  void SetMovesUnderWay(size_t partitions) { moving_->Set(static_cast<double>(partitions)); }
  void SetStagedBytes(size_t bytes) { staged_bytes_->Set(static_cast<double>(bytes)); }
  // Records how long a partition was frozen for a move, until a view ended the move.
  void ObserveFrozen(absl::Duration took) { frozen_->Observe(absl::ToDoubleSeconds(took)); }
  void ObserveParkedPull(absl::Duration wait) { wait_->Observe(absl::ToDoubleSeconds(wait)); }

  // Sets the gauges.
  void Set(const ShardFacts& facts);

  // Fills in the totals since the start, for the chief: requests, staleness, rejections.
  void Report(v1::ShardReport& report) const;

 private:
  static constexpr int kMethods = 2;
  static constexpr int kCodes = 17;

  struct OfMethod {
    std::array<metrics::Counter*, kCodes> requests;
    metrics::Histogram* duration;
    metrics::Counter* request_bytes;
    metrics::Counter* reply_bytes;
  };
  struct OfTable {
    metrics::Gauge* rows;
    metrics::Gauge* bytes;
    metrics::Counter* evictions;
    metrics::Counter* expirations;
    metrics::Counter* not_admitted;
    metrics::Counter* refused;
    metrics::Counter* stale;
    TableCounters counted;
  };
  struct OfUse {
    metrics::Gauge* held;
    metrics::Gauge* limit;
    metrics::Counter* refused;
  };
  OfMethod AddMethod(std::string_view method, const metrics::CounterDeclaration& requests);
  OfTable& TableSeries(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  struct Transfer {
    metrics::Counter* ok;
    metrics::Counter* failed;
    metrics::Counter* bytes;
    metrics::Histogram* duration;
  };
  Transfer AddTransfer(const metrics::CounterDeclaration& count,
                       const metrics::CounterDeclaration& bytes,
                       const metrics::HistogramDeclaration& duration);
  static void Count(const Transfer& transfer, bool ok, uint64_t bytes, absl::Duration took);

  metrics::Registry& registry_;
  std::array<OfMethod, kMethods> methods_;
  metrics::Gauge* in_flight_;
  metrics::Gauge* queued_calls_;
  metrics::Gauge* hottest_partition_;
  metrics::Gauge* hottest_share_;
  metrics::Gauge* partitions_;
  metrics::Histogram* staleness_versions_;
  metrics::Histogram* staleness_seconds_;
  metrics::Histogram* row_staleness_;
  metrics::Histogram* wait_;
  metrics::Gauge* parked_;
  metrics::Gauge* version_;
  metrics::Gauge* parameters_;
  metrics::Gauge* bytes_;
  metrics::Gauge* queued_;
  metrics::Gauge* waiting_bytes_;
  std::array<OfUse, kMemoryUses> memory_;
  metrics::Gauge* backup_bytes_;
  metrics::Gauge* untaken_bytes_;
  metrics::Counter* lock_wait_;
  metrics::Counter* added_ahead_;
  metrics::Counter* held_back_;
  metrics::Gauge* kept_;
  metrics::Gauge* lost_;
  metrics::Counter* moved_bytes_;
  metrics::Counter* received_bytes_;
  metrics::Gauge* moving_;
  metrics::Gauge* staged_bytes_;
  metrics::Histogram* frozen_;
  Transfer saves_;
  Transfer loads_;
  std::array<metrics::Counter*, kRejections> rejected_;  // By Rejection.

  // Staleness as the reports to the chief contain it.
  struct Staleness {
    void Add(size_t bucket, uint64_t times);
    void RaiseMax(uint64_t to);

    std::array<std::atomic<uint64_t>, kStalenessBuckets> counts{};
    std::atomic<uint64_t> max{0};
  };
  Staleness of_parts_;
  Staleness of_rows_;
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> refused_{0};

  absl::Mutex mu_;
  HotPartition hot_ ABSL_GUARDED_BY(mu_);
  std::array<uint64_t, kMemoryUses> counted_refusals_ ABSL_GUARDED_BY(mu_){};
  std::map<std::string, OfTable> tables_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_SHARD_METRICS_H_
