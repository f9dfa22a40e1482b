// The job that is simulated: small, and such that its parameters tell what has become of every
// batch.
//
// Each weight that belongs to one batch alone has SGD with rate 1 and gets the gradient -1 from it:
// it ends at the number of times that the batch was applied. Besides there are weights that all
// batches share, whose gradients depend on what was pulled: they tell, bit by bit, which gradients
// came when. Gradients are multiples of 1/1024, so sums of them are exact in any order.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_JOB_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_JOB_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capstan/placement/dense_layout.h"
#include "capstan/v1/job.pb.h"
#include "chief/chief_options.h"

namespace capstan::sim {

enum class Policy {
  kAsync,
  kAggregate,
  kSsp,
  kSync,
  kBackup,
  kHybrid,        // Dense synchronous, sparse bounded.
  kHybridBackup,  // Dense with backup workers, sparse asynchronous.
};
inline constexpr Policy kAllPolicies[] = {Policy::kAsync,       Policy::kAggregate, Policy::kSsp,
                                          Policy::kSync,        Policy::kBackup,    Policy::kHybrid,
                                          Policy::kHybridBackup};
std::string NameOf(Policy policy);

struct JobOptions {
  Policy policy = Policy::kAsync;
  uint32_t partitions = 4;
  uint32_t tasks = 6;
  uint32_t epochs = 1;
  uint32_t lanes = 4;
  uint32_t staleness = 1;
  uint32_t eval_tasks = 0;
  std::string uri;  // Of the checkpoints; empty: none.
  double checkpoint_seconds = 0;
  uint32_t max_deltas = 0;
  v1::Recovery recovery = v1::RECOVERY_ROLLBACK;
};

// Parameters by name: {table row key, column} or {kDenseKey + element, 0}.
using Cell = std::pair<uint64_t, uint32_t>;
inline constexpr uint64_t kDenseKey = uint64_t{1} << 40;
using Cells = std::map<Cell, float>;

// A batch by its name in the streams.
struct BatchName {
  uint32_t epoch = 0;
  uint32_t task = 0;
  uint64_t seq = 0;
  friend auto operator<=>(const BatchName&, const BatchName&) = default;
};

// Immutable.
class Job {
 public:
  explicit Job(const JobOptions& options);

  const JobOptions& options() const { return options_; }
  const chief::JobPlan& plan() const { return plan_; }
  const v1::JobSpec& spec() const { return plan_.spec; }

  bool sync() const { return options_.policy >= Policy::kSync; }
  bool hybrid() const { return options_.policy >= Policy::kHybrid; }
  bool ssp() const { return options_.policy == Policy::kSsp || options_.policy == Policy::kHybrid; }
  bool aggregates() const { return options_.policy == Policy::kAggregate; }
  // Every bit of the end is determined by the closed sets.
  bool determined() const {
    return options_.policy == Policy::kSync || options_.policy == Policy::kBackup;
  }

  uint64_t BatchesOf(uint32_t task) const { return 2 + task % 3; }
  uint64_t total_batches() const { return total_batches_; }
  uint64_t total_examples() const { return total_batches_ * kExamples; }
  static constexpr uint32_t kExamples = 4;  // Of every batch.

  // The batches of a lane, in order.
  std::vector<BatchName> LaneBatches(uint32_t lane) const;
  std::vector<BatchName> AllBatches() const;

  // What a batch touches: rows of the one table, by partition; and every block.
  std::map<uint32_t, std::vector<uint64_t>> KeysOf(const BatchName& batch) const;
  const DenseLayout& layout() const { return layout_; }
  // The first element of a dense block.
  static uint64_t ElementOf(const Block& block) { return kDenseKey + block.flat_offset; }

  uint32_t PartitionOf(const Cell& cell) const;

  // The weights that belong to the batch alone.
  std::vector<Cell> CountersOf(const BatchName& batch) const;

  // The gradient of every cell that the batch touches, given what was pulled of them.
  Cells Gradient(const BatchName& batch, const Cells& pulled) const;
  // Every cell that the batch reads, with its initial value.
  Cells Touched(const BatchName& batch) const;

  static constexpr uint32_t kDim = 2;
  static constexpr uint32_t kTable = 1;

 private:
  uint64_t Number(const BatchName& batch) const;  // Its place among all batches.
  std::vector<uint64_t> KeyList(const BatchName& batch) const;

  JobOptions options_;
  chief::JobPlan plan_;
  uint64_t epoch_batches_ = 0;
  uint64_t total_batches_ = 0;
  DenseLayout layout_;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_JOB_H_
