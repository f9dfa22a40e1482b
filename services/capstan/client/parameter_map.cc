#include "capstan/client/parameter_map.h"

#include <utility>

#include "capstan/base/status.h"
#include "capstan/rpc/limits.h"

namespace capstan {

size_t MostPushBytes(const v1::JobSpec& job) {
  return MostPushBytes(/*replicated=*/job.replicas() > 0);
}

absl::StatusOr<ParameterMap> ParameterMap::Create(const v1::JobSpec& job) {
  CAPSTAN_ASSIGN_OR_RETURN(DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  std::vector<Table> tables;
  for (const v1::TableSpec& table : job.tables()) {
    tables.push_back({TableId{table.id()}, table.seed(), table.dim()});
  }
  return ParameterMap(std::move(tables), std::move(layout), MostPushBytes(job));
}

ParameterMap::ParameterMap(std::vector<Table> tables, DenseLayout layout, size_t most_push_bytes)
    : tables_(std::move(tables)), layout_(std::move(layout)), most_push_bytes_(most_push_bytes) {}

}  // namespace capstan
