// The chief's /metrics, read off its status once a second. docs/metrics.md explains each.
#ifndef CAPSTAN_CHIEF_CHIEF_METRICS_H_
#define CAPSTAN_CHIEF_CHIEF_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "capstan/metrics/registry.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan::chief {

// Confined to the control loop's thread.
class ChiefMetrics {
 public:
  // `registry` must outlive this object.
  ChiefMetrics(metrics::Registry& registry, v1::JobSpec spec);

  void Update(const v1::GetStatusReply& status);
  void SetView(const v1::View& view);
  void SetStateFailing(bool failing);

 private:
  void UpdateProgress(const v1::GetStatusReply& status);
  void UpdateTasks(const v1::GetStatusReply& status);
  void UpdateWorkers(const v1::GetStatusReply& status);
  void UpdateShards(const v1::GetStatusReply& status);
  void UpdateLearningRates(uint64_t examples);
  void UpdateLosses(const v1::GetStatusReply& status);
  void UpdateLostUpdates(const v1::GetStatusReply& status);
  void UpdateDurability(const v1::GetStatusReply& status);
  void Set(std::string_view name, std::string_view help, double value,
           const metrics::Labels& labels = {});
  void RaiseTo(std::string_view name, std::string_view help, double total,
               const metrics::Labels& labels = {});

  struct WorkerSeries {
    metrics::Gauge* heartbeat = nullptr;
    metrics::Gauge* rate = nullptr;
  };

  metrics::Registry& registry_;
  const v1::JobSpec spec_;
  std::map<std::string, WorkerSeries> workers_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_CHIEF_METRICS_H_
