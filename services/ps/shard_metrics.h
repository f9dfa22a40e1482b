// What a shard counts; docs/metrics.md explains each. Made once, moved without a lock.
#ifndef CAPSTAN_PS_SHARD_METRICS_H_
#define CAPSTAN_PS_SHARD_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/metrics/registry.h"
#include "capstan/store/table.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"

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
    absl::Duration duration;
    size_t request_bytes = 0;
    size_t reply_bytes = 0;
  };
  void CountRequest(const Request& request);
  void AddInFlight(int by) { in_flight_->Add(by); }

  // `reason`: shape, nan, unknown, session, not_owner. For whole requests that were refused.
  void CountRejected(std::string_view reason);
  // Of one part of one partition of a push. Counts what was not applied by its reason.
  void CountFate(v1::Fate fate);
  // Of one gradient, when it is applied.
  void ObserveStaleness(uint64_t versions, absl::Duration age);
  // A request waited for a partition that others were using.
  void AddLockWait(absl::Duration wait) { lock_wait_->Add(absl::ToDoubleSeconds(wait)); }
  // A partition waits because its shard keeps too much for copies.
  void CountHeldBack() { held_back_->Add(); }
  // Of this shard's share of a checkpoint.
  void CountSave(bool ok, uint64_t bytes, absl::Duration took);
  void CountLoad(bool ok, uint64_t bytes, absl::Duration took);
  void ObserveParkedPull(absl::Duration wait) { wait_->Observe(absl::ToDoubleSeconds(wait)); }

  struct TableFacts {
    std::string name;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    uint64_t slot_bytes = 0;
    uint64_t hot_rows = 0;
    uint64_t hot_rows_unsaved = 0;
    TableCounters counters;
  };
  struct ShardFacts {
    uint64_t rows = 0;
    uint64_t parameters = 0;
    uint64_t bytes = 0;
    uint64_t version = 0;
    uint64_t queued = 0;
    uint64_t parked = 0;
    uint64_t kept = 0;  // Bytes, for copies.
    uint64_t lost = 0;  // Batches, summed over partitions.
    std::vector<TableFacts> tables;
    std::map<std::string, uint64_t> lags;  // Of each worker's slowest member, in clocks.
  };
  // Moves the gauges.
  void Set(const ShardFacts& facts);

  // Totals since the start, for the chief: requests, staleness, rejections.
  void Report(v1::ShardReport& report) const;

 private:
  static constexpr int kMethods = 2;
  static constexpr int kCodes = 17;
  static constexpr int kStalenessBuckets = 40;

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
    TableCounters counted;
  };
  OfMethod AddMethod(std::string_view method);
  OfTable& TableSeries(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetLags(const std::map<std::string, uint64_t>& lags) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  struct Transfer {
    metrics::Counter* ok;
    metrics::Counter* failed;
    metrics::Counter* bytes;
    metrics::Histogram* duration;
  };
  Transfer AddTransfer(const std::string& name, const std::string& what);
  static void Count(const Transfer& transfer, bool ok, uint64_t bytes, absl::Duration took);

  metrics::Registry& registry_;
  std::array<OfMethod, kMethods> methods_;
  metrics::Gauge* in_flight_;
  metrics::Histogram* staleness_versions_;
  metrics::Histogram* staleness_seconds_;
  metrics::Histogram* wait_;
  metrics::Gauge* parked_;
  metrics::Gauge* version_;
  metrics::Gauge* parameters_;
  metrics::Gauge* bytes_;
  metrics::Gauge* queued_;
  metrics::Counter* lock_wait_;
  metrics::Counter* held_back_;
  metrics::Gauge* kept_;
  metrics::Gauge* lost_;
  Transfer saves_;
  Transfer loads_;
  std::map<std::string, metrics::Counter*, std::less<>> rejected_;  // Never changes.

  std::array<std::atomic<uint64_t>, kStalenessBuckets> staleness_{};
  std::atomic<uint64_t> max_staleness_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> refused_{0};

  absl::Mutex mu_;
  std::map<std::string, OfTable> tables_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, metrics::Gauge*> lags_ ABSL_GUARDED_BY(mu_);
};

// Bucket of a staleness in ShardReport.staleness_counts: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15 ...
int StalenessBucket(uint64_t versions);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_METRICS_H_
