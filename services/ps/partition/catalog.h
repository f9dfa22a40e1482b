// What a shard knows of the job, and the checks of requests that follow from it.
#ifndef CAPSTAN_PS_PARTITION_CATALOG_H_
#define CAPSTAN_PS_PARTITION_CATALOG_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/decisions.h"
#include "capstan/consistency/staleness.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/packed.h"
#include "capstan/v1/job.pb.h"
#include "capstan/wire/payload.h"

namespace capstan::ps {

// *Immutable after Create, therefore thread-safe.*
class Catalog {
 public:
  // INVALID_ARGUMENT: the job is wrong; the message says how.
  static absl::StatusOr<Catalog> Create(const v1::JobSpec& job);

  // The job, reduced to the fields that a shard uses for its parameters, checks and updates; these
  // never change during a job. All other fields may change, and are omitted so that no code reads
  // an outdated value here.
  const v1::JobSpec& job() const { return job_; }
  // Returns true if `job` has the same values in the fields that job() keeps.
  bool IsOf(const v1::JobSpec& job) const;
  const DenseLayout& layout() const { return layout_; }
  const v1::UpdatePolicy& policy(Part part) const {
    return part == Part::kDense ? job_.dense_update() : job_.sparse_update();
  }

  bool IsSync(Part part) const { return policy(part).kind() == v1::POLICY_KIND_SYNC; }
  bool IsSsp(Part part) const { return policy(part).kind() == v1::POLICY_KIND_SSP; }
  bool HasSync() const { return IsSync(Part::kDense) || IsSync(Part::kSparse); }
  // The number of lanes; 0: no part is synchronous.
  uint32_t lanes() const {
    return std::max(IsSync(Part::kDense) ? job_.dense_update().lanes() : 0,
                    IsSync(Part::kSparse) ? job_.sparse_update().lanes() : 0);
  }
  bool HasSsp() const { return IsSsp(Part::kDense) || IsSsp(Part::kSparse); }

  // Returns true if gradients wait on the shard before they are applied: staged for rounds, or in
  // queues.
  bool KeepsGradients() const {
    return HasSync() || AggregateOf(job_.dense_update()) > 1 ||
           AggregateOf(job_.sparse_update()) > 1;
  }

  // Returns true if rows have versions, which pulls return and pushes send back.
  bool CountsRowUpdates() const { return capstan::CountsRowUpdates(job_.sparse_update()); }

  // Returns null if the job has no such table.
  const v1::TableSpec* FindTable(uint32_t id) const;

  // The checks of one request, each in one line with names and numbers. INVALID_ARGUMENT: wrong
  // shapes; NOT_FOUND: no such table or block here; FAILED_PRECONDITION: keys of another partition.
  absl::Status CheckDtype(v1::Dtype dtype) const;
  absl::Status CheckPartition(uint32_t partition) const;
  absl::Status CheckPartitions(absl::Span<const wire::PartitionPart> parts) const;
  absl::StatusOr<const v1::TableSpec*> CheckTable(uint32_t id, const wire::Bytes& keys) const;
  absl::Status CheckKeys(const v1::TableSpec& table, PackedKeys keys, uint32_t partition) const;
  absl::StatusOr<const Block*> CheckBlock(uint32_t id, uint32_t partition) const;

 private:
  Catalog(const v1::JobSpec& job, DenseLayout layout);

  v1::JobSpec job_;
  DenseLayout layout_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_CATALOG_H_
