// The chief's /metrics, updated from its status once a second. chief_metric_declarations.h explains
// each.
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

// The counters count what happens in this chief's term, from 0. (If they told totals of the job, a
// stored total that is a little older than what an earlier chief had told would look like a counter
// that was reset, and the whole total like an increase.) Confined to the control loop's thread.
class ChiefMetrics {
 public:
  // `registry` must outlive this object. The job waits for so many `shards` at its beginning.
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
  // Removes the series that are not `present` any more.
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
  // Raises a counter to what `total`, a total of the whole job, has grown by since the first call.
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
  bool has_bound_ = false;  // A part is ssp.
  std::map<std::string, WorkerSeries> workers_;
  SeriesByShard partitions_;
  SeriesByShard loads_;  // Shards that serve, or own something.
  std::map<std::pair<std::string, metrics::Labels>, double> before_;  // Totals when the term began.
  std::optional<std::set<std::string>> crew_;                         // Workers that are not lost.
  std::string checkpoint_;                                            // The newest one, which was
  uint64_t checkpoints_taken_ = 0;              // the checkpoints_taken_-th of this term.
  std::optional<uint64_t> checkpoints_failed_;  // As told last.
  std::optional<int> recoveries_;
  bool loss_known_ = false;  // The training loss is known; it is 0 in the status before.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_METRICS_H_
