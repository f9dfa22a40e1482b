// The job that is simulated: small, and such that its parameters tell what has become of every
// batch.
//
// Every record has a row for each epoch that belongs to it alone, and every batch an element of
// each block of tensors: with SGD of rate 1 and the gradient -1 they end at the number of times
// that the record was trained in that epoch, and the batch was applied. Besides there are weights
// that all batches share, whose gradients depend on what was pulled: they tell, bit by bit, which
// gradients came when. Gradients are multiples of 1/1024, so sums of them are exact in any order.
//
// Which records a batch holds is read from the task of its lease by the real reader. The plan, by
// which the oracle goes, is what the chief's machine makes of the same ranges.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_JOB_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_JOB_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capstan/data/formats/bad_records.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/v1/job.pb.h"
#include "chief/state/chief_options.h"
#include "tests/simulation/sim/sorted_file.h"

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
  uint32_t pieces = 1;  // Of a task.
  bool bad_lines = true;
  uint32_t lanes = 4;
  uint32_t staleness = 1;
  uint64_t max_steps = 0;  // Of a job of rounds alone; 0: all its data.
  // Gradients that wait for those of lower lanes may take so many bytes on each shard; 0: no bound.
  // REQUIRES that each lane is in each round: otherwise all of them have to fit.
  size_t waiting_bytes = 0;
  uint32_t eval_tasks = 0;
  bool early_stop = false;  // Evaluations choose the result, so training stands still for them.
  std::string uri;          // Of the checkpoints; empty: none.
  double checkpoint_seconds = 0;
  uint32_t max_deltas = 0;
  uint32_t replicas = 0;  // Of each partition, beside its owner.
  v1::Recovery recovery = v1::RECOVERY_ROLLBACK;
  v1::StaleGradients stale = v1::STALE_GRADIENTS_UNSPECIFIED;
  bool eval_fails = false;  // The evaluation data cannot always be read.
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

struct NamedBatch {
  BatchName name;
  std::vector<uint64_t> records;  // By their numbers in the file.
};

// What a worker finds when it reads a task.
struct TaskContent {
  std::vector<NamedBatch> batches;
  uint64_t examples = 0;
  BadRecords bad_records{0};
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
  // Every bit of the end is determined by the round commits.
  bool determined() const {
    return options_.policy == Policy::kSync || options_.policy == Policy::kBackup;
  }

  // Rows are judged by their own updates.
  bool judges_rows() const;

  uint64_t bad_records() const { return file_.bad_records(); }
  uint64_t total_batches() const { return batches_.size(); }
  // Of all of them, or of the lanes' batches that max_steps rounds take.
  uint64_t total_examples() const;
  static constexpr uint32_t kExamples = 4;  // Of every batch but the last of a task.

  // Reads a task as the worker does that has a lease on it.
  TaskContent Read(const v1::Task& task, uint32_t epoch, bool evaluation) const;

  // The batches of a lane, in order.
  std::vector<NamedBatch> LaneBatches(uint32_t lane) const;
  const std::vector<NamedBatch>& AllBatches() const { return batches_; }

  // What a batch touches: rows of the one table, by partition; and every block.
  std::map<uint32_t, std::vector<uint64_t>> KeysOf(const NamedBatch& batch) const;
  // The rows that any batch touches, each once, by partition.
  const std::map<uint32_t, std::vector<uint64_t>>& AllKeys() const { return all_keys_; }
  const DenseLayout& layout() const { return layout_; }
  // The first element of a dense block.
  static uint64_t ElementOf(const Block& block) { return kDenseKey + block.flat_offset; }

  uint32_t PartitionOf(const Cell& cell) const;

  // The weights that belong to the batch, or one of its records, alone.
  std::vector<Cell> CountersOf(const NamedBatch& batch) const;

  // The gradient of every cell that the batch touches, given what was pulled of them.
  Cells Gradient(const NamedBatch& batch, const Cells& pulled) const;
  // Every cell that the batch reads, with its initial value.
  Cells Touched(const NamedBatch& batch) const;

  static constexpr uint32_t kDim = 2;
  static constexpr uint32_t kTable = 1;

 private:
  void MakePlan();
  void MakeParameters();
  void GatherKeys();
  std::vector<uint64_t> OwnKeys(const NamedBatch& batch) const;
  std::vector<uint64_t> KeyList(const NamedBatch& batch) const;

  JobOptions options_;
  SortedFile file_;
  chief::JobPlan plan_;
  std::vector<std::vector<NamedBatch>> places_;  // By place in the order of the tasks.
  std::vector<NamedBatch> batches_;              // Of all of them.
  std::map<BatchName, uint64_t> numbers_;        // Places in batches_.
  std::map<uint32_t, std::vector<uint64_t>> all_keys_;
  DenseLayout layout_;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_JOB_H_
