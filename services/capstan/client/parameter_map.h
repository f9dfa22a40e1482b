// The parameters of a job for a client: its tables and tensors, and the partitions that contain
// them.
#ifndef CAPSTAN_CLIENT_PARAMETER_MAP_H_
#define CAPSTAN_CLIENT_PARAMETER_MAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Immutable after Create, therefore thread-safe.
class ParameterMap {
 public:
  struct Table {
    TableId id{};
    uint64_t seed = 0;
    uint32_t dim = 0;
  };

  // INVALID_ARGUMENT: the job's tables or tensors are wrong; the message says how.
  static absl::StatusOr<ParameterMap> Create(const v1::JobSpec& job);

  uint32_t partition_count() const { return layout_.partition_count(); }
  const std::vector<Table>& tables() const { return tables_; }  // In the order of the job.
  const DenseLayout& layout() const { return layout_; }
  // The blocks of layout().blocks_of(partition) without those of frozen tensors
  // (TENSOR_ROLE_FROZEN).
  absl::Span<const BlockId> changing_blocks_of(PartitionIndex partition) const;
  // The ranges of the frozen tensors in the flat vector of all tensors, in ascending order.
  struct Range {
    uint64_t begin = 0;
    uint64_t count = 0;
  };
  const std::vector<Range>& frozen() const { return frozen_; }

 private:
  ParameterMap(std::vector<Table> tables, DenseLayout layout);
  void FindFrozen(const v1::JobSpec& job);

  std::vector<Table> tables_;
  DenseLayout layout_;
  std::vector<Range> frozen_;
  std::vector<std::vector<BlockId>> changing_;  // By partition; empty if all blocks change.
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_PARAMETER_MAP_H_
