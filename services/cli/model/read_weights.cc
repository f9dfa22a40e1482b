#include "cli/model/read_weights.h"

#include <utility>

#include "capstan/base/background.h"
#include "capstan/base/status.h"
#include "capstan/placement/dense_layout.h"
#include "cli/model/weights_alone.h"

namespace capstan::cli {
namespace {

constexpr int kHelpers = 3;
constexpr int kNiceness = 10;

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<PartitionStore>>> ReadWeights(
    const CheckpointReader& reader) {
  const v1::JobSpec& job = reader.manifest().job();
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  std::vector<std::unique_ptr<PartitionStore>> partitions(job.partition_count());
  Threads threads(kNiceness);
  CAPSTAN_RETURN_IF_ERROR(ForEach(partitions.size(), threads, kHelpers, [&](size_t i) {
    CAPSTAN_ASSIGN_OR_RETURN(DecodedPartition decoded,
                             reader.Read(static_cast<PartitionIndex>(i), job, layout));
    CAPSTAN_ASSIGN_OR_RETURN(partitions[i], WeightsAlone(std::move(decoded.store), job, layout));
    return absl::OkStatus();
  }));
  return partitions;
}

}  // namespace capstan::cli
