#include "tests/simulation/sim/job.h"

#include <algorithm>
#include <cmath>

#include "capstan/base/hash.h"
#include "capstan/placement/placement.h"

namespace capstan::sim {
namespace {

constexpr uint64_t kTableSeed = 5;
constexpr uint64_t kSharedKeys = 6;
constexpr uint32_t kTensors = 2;
constexpr uint64_t kOwnKeys = 3;  // Rows that belong to one batch.
constexpr float kQuantum = 1024;

void SetSgd(v1::OptimizerSpec& optimizer) {
  optimizer.set_kind(v1::OPTIMIZER_KIND_SGD);
  optimizer.set_learning_rate(1);
}

void AddParameters(uint64_t batches, v1::JobSpec& spec) {
  v1::TableSpec& table = *spec.add_tables();
  table.set_id(Job::kTable);
  table.set_name("features");
  table.set_dim(Job::kDim);
  table.set_seed(kTableSeed);
  SetSgd(*table.mutable_optimizer());
  v1::TableSegment& segment = *table.add_segments();
  segment.set_name("all");
  segment.set_width(Job::kDim);
  segment.set_learning_rate_scale(1);
  for (uint32_t i = 0; i < kTensors; ++i) {
    v1::TensorSpec& tensor = *spec.add_tensors();
    tensor.set_id(i);
    tensor.set_name(i == 0 ? "w" : "b");
    tensor.add_shape(static_cast<uint32_t>(batches + 1));  // The last element is shared.
    SetSgd(*tensor.mutable_optimizer());
  }
}

void SetPolicy(const JobOptions& options, v1::UpdatePolicy& policy, bool dense) {
  policy.set_kind(v1::POLICY_KIND_ASYNC);
  policy.set_aggregate(1);
  const bool sync = options.policy == Policy::kSync || options.policy == Policy::kBackup ||
                    (dense && options.policy >= Policy::kHybrid);
  if (sync) {
    policy.set_kind(v1::POLICY_KIND_SYNC);
    policy.set_lanes(options.lanes);
    const bool backup =
        options.policy == Policy::kBackup || options.policy == Policy::kHybridBackup;
    policy.set_backup_workers(backup ? 1 : 0);
  } else if (options.policy == Policy::kSsp || options.policy == Policy::kHybrid) {
    policy.set_kind(v1::POLICY_KIND_SSP);
    policy.set_staleness(options.staleness);
  } else if (options.policy == Policy::kAggregate) {
    policy.set_aggregate(3);
  }
}

std::vector<v1::Task> Tasks(const std::string& file, uint32_t count, const Job& job) {
  std::vector<v1::Task> tasks;
  for (uint32_t i = 0; i < count; ++i) {
    v1::Task& task = tasks.emplace_back();
    task.set_index(i);
    task.set_file(file);
    task.set_by_records(true);
    task.set_expected_records(job.BatchesOf(i) * Job::kExamples);
  }
  return tasks;
}

}  // namespace

std::string NameOf(Policy policy) {
  constexpr const char* kNames[] = {"async",  "aggregate", "ssp",          "sync",
                                    "backup", "hybrid",    "hybrid-backup"};
  return kNames[static_cast<size_t>(policy)];
}

Job::Job(const JobOptions& options) : options_(options), layout_(*DenseLayout::Create({}, 1)) {
  for (uint32_t task = 0; task < options.tasks; ++task) epoch_batches_ += BatchesOf(task);
  total_batches_ = epoch_batches_ * options.epochs;
  v1::JobSpec& spec = plan_.spec;
  spec.set_job("simulated");
  spec.set_seed(1);
  spec.set_partition_count(options.partitions);
  spec.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  spec.mutable_train()->set_batch_size(kExamples);
  spec.mutable_train()->set_epochs(options.epochs);
  spec.mutable_train()->set_compute_threads(1);
  spec.mutable_train()->set_sum_loss(true);
  spec.mutable_train()->set_push_window(3);
  spec.mutable_train()->set_prefetch_batches(1);
  spec.mutable_lease()->set_heartbeat_seconds(0.5);
  spec.mutable_lease()->set_worker_lease_seconds(3);
  spec.mutable_checkpoint()->set_uri(options.uri);
  spec.mutable_checkpoint()->set_every_seconds(options.checkpoint_seconds);
  spec.mutable_checkpoint()->set_keep(2);
  spec.mutable_checkpoint()->set_max_deltas(options.max_deltas);
  spec.set_recovery(options.recovery);
  SetPolicy(options, *spec.mutable_dense_update(), /*dense=*/true);
  SetPolicy(options, *spec.mutable_sparse_update(), /*dense=*/false);
  AddParameters(total_batches_, spec);
  plan_.train = Tasks("train.csv", options.tasks, *this);
  plan_.eval = Tasks("eval.csv", options.eval_tasks, *this);
  layout_ = *DenseLayout::Create(spec.tensors(), options.partitions);
}

uint64_t Job::Number(const BatchName& batch) const {
  uint64_t number = batch.epoch * epoch_batches_ + batch.seq;
  for (uint32_t task = 0; task < batch.task; ++task) number += BatchesOf(task);
  return number;
}

std::vector<BatchName> Job::AllBatches() const {
  std::vector<BatchName> batches;
  for (uint32_t epoch = 0; epoch < options_.epochs; ++epoch) {
    for (uint32_t task = 0; task < options_.tasks; ++task) {
      for (uint64_t seq = 0; seq < BatchesOf(task); ++seq) batches.push_back({epoch, task, seq});
    }
  }
  return batches;
}

std::vector<BatchName> Job::LaneBatches(uint32_t lane) const {
  std::vector<BatchName> batches;
  const uint32_t places = options_.tasks * options_.epochs;
  for (uint32_t place = lane; place < places; place += options_.lanes) {
    const uint32_t task = place % options_.tasks;
    for (uint64_t seq = 0; seq < BatchesOf(task); ++seq) {
      batches.push_back({place / options_.tasks, task, seq});
    }
  }
  return batches;
}

std::vector<uint64_t> Job::KeyList(const BatchName& batch) const {
  const uint64_t number = Number(batch);
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < kOwnKeys; ++i) keys.push_back(1000 + number * kOwnKeys + i);
  keys.push_back(number % kSharedKeys);
  keys.push_back((number + 2) % kSharedKeys);
  return keys;
}

std::map<uint32_t, std::vector<uint64_t>> Job::KeysOf(const BatchName& batch) const {
  std::map<uint32_t, std::vector<uint64_t>> keys;
  for (uint64_t key : KeyList(batch)) {
    const PartitionIndex partition = PartitionOfKey(key, kTableSeed, options_.partitions);
    keys[static_cast<uint32_t>(Raw(partition))].push_back(key);
  }
  return keys;
}

uint32_t Job::PartitionOf(const Cell& cell) const {
  if (cell.first < kDenseKey) {
    const PartitionIndex of = PartitionOfKey(cell.first, kTableSeed, options_.partitions);
    return static_cast<uint32_t>(Raw(of));
  }
  const auto& blocks = layout_.blocks();
  const auto block = std::find_if(blocks.begin(), blocks.end(), [&](const Block& one) {
    return cell.first < ElementOf(one) + one.length;  // They are in the order of their elements.
  });
  return static_cast<uint32_t>(Raw(block->partition));
}

std::vector<Cell> Job::CountersOf(const BatchName& batch) const {
  std::vector<Cell> cells;
  const uint64_t number = Number(batch);
  for (uint64_t i = 0; i < kOwnKeys; ++i) cells.push_back({1000 + number * kOwnKeys + i, 0});
  for (const Block& block : layout_.blocks()) cells.push_back({ElementOf(block) + number, 0});
  return cells;
}

Cells Job::Touched(const BatchName& batch) const {
  Cells cells;
  for (uint64_t key : KeyList(batch)) {
    for (uint32_t column = 0; column < kDim; ++column) cells[{key, column}] = 0;
  }
  for (const Block& block : layout_.blocks()) {
    for (uint32_t i = 0; i < block.length; ++i) cells[{ElementOf(block) + i, 0}] = 0;
  }
  return cells;
}

Cells Job::Gradient(const BatchName& batch, const Cells& pulled) const {
  double mood = 0;  // Of all that was pulled.
  for (const auto& [cell, value] : pulled) {
    mood += Unit(Draw(cell.first, cell.second, 0)) * static_cast<double>(value);
  }
  Cells gradient;
  for (const auto& [cell, value] : pulled) gradient[cell] = 0;
  for (const Cell& cell : CountersOf(batch)) gradient[cell] = -1;
  const uint64_t number = Number(batch);
  const auto shared = [&](uint64_t of) {
    const double whole = mood * 7.31 + Unit(Draw(number, of, 1));
    return static_cast<float>(std::floor((whole - std::floor(whole)) * kQuantum)) / kQuantum - 0.5F;
  };
  for (uint64_t key : KeyList(batch)) gradient[{key, 1}] = shared(key);
  for (const Block& block : layout_.blocks()) {
    const uint64_t last = ElementOf(block) + block.length - 1;
    gradient[{last, 0}] = shared(last);
  }
  return gradient;
}

}  // namespace capstan::sim
