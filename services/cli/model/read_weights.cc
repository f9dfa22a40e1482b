#include "cli/model/read_weights.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/background.h"
#include "capstan/base/status.h"
#include "capstan/placement/dense_layout.h"
#include "cli/model/weights_alone.h"

namespace capstan::cli {
namespace {

constexpr size_t kMostThreads = 4;
constexpr int kNiceness = 10;

// Thread-safe, but for Take.
class Reading {
 public:
  Reading(const CheckpointReader& reader, DenseLayout layout)
      : reader_(reader), layout_(std::move(layout)), partitions_(job().partition_count()) {}

  // On any number of threads: returns when all partitions are read, or one cannot be.
  void Work() {
    for (size_t i = next_++; i < partitions_.size(); i = next_++) {
      auto read = ReadOne(static_cast<PartitionIndex>(i));
      if (read.ok()) {
        partitions_[i] = *std::move(read);
        continue;
      }
      next_ = partitions_.size();
      absl::MutexLock lock(&mu_);
      failure_.Update(read.status());
    }
  }

  // REQUIRES: no thread works any more.
  absl::StatusOr<std::vector<std::unique_ptr<PartitionStore>>> Take() {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(failure_);
    return std::move(partitions_);
  }

 private:
  const v1::JobSpec& job() const { return reader_.manifest().job(); }

  absl::StatusOr<std::unique_ptr<PartitionStore>> ReadOne(PartitionIndex partition) const {
    CAPSTAN_ASSIGN_OR_RETURN(DecodedPartition decoded, reader_.Read(partition, job(), layout_));
    return WeightsAlone(std::move(decoded.store), job(), layout_);
  }

  const CheckpointReader& reader_;
  const DenseLayout layout_;
  std::vector<std::unique_ptr<PartitionStore>> partitions_;  // Each is its reader's alone.
  std::atomic<size_t> next_ = 0;
  absl::Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<PartitionStore>>> ReadWeights(
    const CheckpointReader& reader) {
  const v1::JobSpec& job = reader.manifest().job();
  CAPSTAN_ASSIGN_OR_RETURN(DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  Reading reading(reader, std::move(layout));
  Threads threads(kNiceness);
  std::vector<std::unique_ptr<Background::Work>> helpers;
  for (size_t i = 1; i < std::min<size_t>(kMostThreads, job.partition_count()); ++i) {
    helpers.push_back(threads.Begin([&reading] { reading.Work(); }));
  }
  reading.Work();
  helpers.clear();  // Each has ended.
  return reading.Take();
}

}  // namespace capstan::cli
