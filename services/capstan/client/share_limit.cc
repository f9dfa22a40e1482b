#include "capstan/client/share_limit.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/client/parameter_map.h"
#include "capstan/client/request_plan.h"
#include "capstan/rpc/limits.h"
#include "capstan/wire/floats.h"

namespace capstan {
namespace {

// Returns the most keys of `table` that a record can have.
uint64_t KeysOfARecord(const v1::DataSpec& data, const v1::TableSpec& table) {
  uint64_t keys = data.fields();
  for (const v1::FeatureSpec& feature : data.features()) {
    if (feature.table() == table.name()) keys += feature.many() ? feature.most() : 1;
  }
  return keys;
}

// Returns how many keys of `table` a batch draws as negatives.
uint64_t NegativesOf(const v1::DataSpec& data, const v1::TableSpec& table) {
  for (const v1::FeatureSpec& feature : data.features()) {
    if (feature.name() != data.negatives().feature()) continue;
    return feature.table() == table.name() ? data.negatives().per_batch() : 0;
  }
  return 0;
}

}  // namespace

size_t PushedValueBytes(const v1::JobSpec& job, const v1::UpdatePolicy& policy) {
  const bool compensates = policy.stale_gradients() == v1::STALE_GRADIENTS_COMPENSATE;
  return wire::FloatSize(job.train().wire_dtype()) * (compensates ? 2 : 1);
}

absl::Status CheckDenseShares(const v1::JobSpec& job) {
  CAPSTAN_ASSIGN_OR_RETURN(const ParameterMap map, ParameterMap::Create(job));
  RequestPlan plan(map);
  plan.Build({}, /*dense=*/true);
  for (uint32_t partition = 0; partition < map.partition_count(); ++partition) {
    CAPSTAN_RETURN_IF_ERROR(plan.CheckSize(
        {.partitions = {partition}}, PushedValueBytes(job, job.dense_update()), kMaxPushBytes));
  }
  return absl::OkStatus();
}

std::string SparseShareWarning(const v1::JobSpec& job) {
  uint64_t bytes = 0;
  for (const v1::TableSpec& table : job.tables()) {
    const uint64_t keys = job.train().batch_size() * KeysOfARecord(job.data(), table) +
                          NegativesOf(job.data(), table);
    bytes += keys * (sizeof(uint64_t) + table.dim() * PushedValueBytes(job, job.sparse_update()));
  }
  const uint64_t share = bytes / job.partition_count();
  constexpr uint64_t kMost = kMaxPushBytes;
  if (share <= kMost) return "";
  return absl::StrCat("the keys of a batch, were they all different, are ", bytes >> 20, " MiB in ",
                      job.partition_count(), " partitions, ", share >> 20,
                      " MiB each, and a push may be ", kMost >> 20,
                      ": if that comes about the job fails; raise partition_count, or lower "
                      "train.batch_size");
}

}  // namespace capstan
