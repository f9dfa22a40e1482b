// The chief's /metrics, updated from its status once a second. See chief_metric_declarations.h for
// the meaning of each metric.
#ifndef CAPSTAN_CHIEF_SHELL_CHIEF_METRICS_H_
#define CAPSTAN_CHIEF_SHELL_CHIEF_METRICS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "capstan/metrics/declaration.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan::chief {

// Counters start at 0 in each chief's term. (If they were totals of the job, a new chief whose
// stored total is a little lower than what its predecessor had exported would look like a counter
// reset, so that monitoring would add the whole total.) Confined to the control loop's thread.
class ChiefMetrics {
 public:
  // `registry` must outlive this object. `shards` is the number that the job waits for at its
  // start.
  ChiefMetrics(metrics::Registry& registry, v1::JobSpec spec, uint32_t shards);

  void Update(const v1::GetStatusReply& status);
  void SetView(const v1::View& view);
  void SetStateFailing(bool failing);

 private:
  using SeriesByShard = std::map<uint32_t, metrics::Gauge*>;

  void UpdateProgress(const v1::GetStatusReply& status);
  void UpdateTasks(const v1::GetStatusReply& status);
  void UpdateWorkers(const v1::GetStatusReply& status);
  void UpdateShards(const v1::GetStatusReply& status);
  void UpdatePartitions(const v1::GetStatusReply& status);
  // Removes the series in `before` that are not `present` any more.
  void Replace(SeriesByShard present, SeriesByShard& before);
  void UpdateReplicas(const v1::GetStatusReply& status);
  void UpdateLearningRates(uint64_t examples);
  void UpdateLosses(const v1::GetStatusReply& status);
  void UpdateRecoveries(const v1::GetStatusReply& status, absl::Time now);
  void UpdateLostUpdates(const v1::GetStatusReply& status);
  void UpdateDurability(const v1::GetStatusReply& status);
  void Set(const metrics::GaugeDeclaration& metric, double value,
           const metrics::Labels& labels = {});
  void SetTime(const metrics::GaugeDeclaration& metric, absl::Time at);
  // Raises a counter to the growth since the first call of `total`, a total of the whole job.
  void RaiseTo(const metrics::CounterDeclaration& metric, double total,
               const metrics::Labels& labels = {});

  struct WorkerSeries {
    metrics::Gauge* heartbeat = nullptr;
    metrics::Gauge* rate = nullptr;
    metrics::Gauge* straggler = nullptr;
    metrics::Gauge* lag = nullptr;  // Null: no part is ssp.
  };

  metrics::Registry& registry_;
  const v1::JobSpec spec_;
  bool has_bound_ = false;  // A part is ssp, so lag is exported.
  std::map<std::string, WorkerSeries> workers_;
  SeriesByShard partitions_;
  SeriesByShard loads_;  // Shards that serve, or own something.
  std::map<std::pair<std::string, metrics::Labels>, double> before_;  // Totals when the term began.
  std::optional<std::set<std::string>> crew_;                         // Workers that are not lost.
  std::string checkpoint_;                                            // The newest checkpoint,
  uint64_t checkpoints_taken_ = 0;              // and how many this term had when it was taken.
  std::optional<uint64_t> checkpoints_failed_;  // The number in the last status.
  std::optional<int> recoveries_;
  bool loss_known_ = false;  // The training loss is known; before that the status has 0.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_METRICS_H_
