#include "tests/simulation/sim/job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/staleness.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/placement/placement.h"
#include "chief/work/work.h"

namespace capstan::sim {
namespace {

constexpr uint64_t kTableSeed = 5;
constexpr uint64_t kSharedKeys = 6;
constexpr uint32_t kTensors = 2;
constexpr uint64_t kFirstOwnKey = 1000;  // Of rows that belong to one record.
constexpr float kQuantum = 1024;

void SetSgd(v1::OptimizerSpec& optimizer) {
  optimizer.set_kind(v1::OPTIMIZER_KIND_SGD);
  optimizer.set_learning_rate(1);
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
  if (!sync) policy.set_stale_gradients(options.stale);
}

}  // namespace

std::string NameOf(Policy policy) {
  constexpr const char* kNames[] = {"async",  "aggregate", "ssp",          "sync",
                                    "backup", "hybrid",    "hybrid-backup"};
  return kNames[static_cast<size_t>(policy)];
}

Job::Job(const JobOptions& options)
    : options_(options),
      file_({.ranges = options.tasks, .batch_size = kExamples, .bad_lines = options.bad_lines}),
      layout_(*DenseLayout::Create({}, 1)) {
  v1::JobSpec& spec = plan_.spec;
  spec.set_job("simulated");
  spec.set_seed(1);
  spec.set_partition_count(options.partitions);
  spec.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  spec.mutable_data()->set_format(v1::DATA_FORMAT_LIBSVM);
  spec.mutable_data()->set_max_bad_records(bad_records());
  if (options.pieces > 1) {
    spec.mutable_data()->set_shuffle(true);
    spec.mutable_data()->set_pieces(options.pieces);
    spec.mutable_data()->set_numbered_in_order(true);
  }
  spec.mutable_train()->set_batch_size(kExamples);
  spec.mutable_train()->set_epochs(options.epochs);
  spec.mutable_train()->set_max_steps(options.max_steps);
  spec.mutable_train()->set_compute_threads(1);
  spec.mutable_train()->set_sum_loss(true);
  spec.mutable_train()->set_push_window(3);
  spec.mutable_train()->set_prefetch_batches(1);
  if (options.early_stop) {
    spec.mutable_train()->mutable_early_stop()->set_metric("logloss");
    spec.mutable_train()->mutable_early_stop()->set_patience(10000);
  }
  spec.mutable_lease()->set_heartbeat_seconds(0.5);
  spec.mutable_lease()->set_worker_lease_seconds(3);
  spec.mutable_lease()->set_data_stall_seconds(2);
  spec.mutable_checkpoint()->set_uri(options.uri);
  spec.mutable_checkpoint()->set_every_seconds(options.checkpoint_seconds);
  spec.mutable_checkpoint()->set_keep(2);
  spec.mutable_checkpoint()->set_max_deltas(options.max_deltas);
  spec.set_recovery(options.recovery);
  spec.set_replicas(options.replicas);
  spec.mutable_lease()->set_shard_lease_seconds(4);
  SetPolicy(options, *spec.mutable_dense_update(), /*dense=*/true);
  SetPolicy(options, *spec.mutable_sparse_update(), /*dense=*/false);
  MakePlan();
  MakeParameters();
  GatherKeys();
}

void Job::MakePlan() {
  plan_.train = file_.Ranges("train.libsvm", options_.tasks);
  plan_.eval = file_.Ranges("eval.libsvm", options_.eval_tasks);
  chief::TaskSequence sequence = chief::SequenceOf(plan_);
  for (uint64_t place = 0; place < sequence.size(); ++place) {
    const chief::Place at = sequence.At(place);
    places_.push_back(Read(sequence.task(at), at.epoch, /*evaluation=*/false).batches);
    for (const NamedBatch& batch : places_.back()) {
      numbers_[batch.name] = batches_.size();
      batches_.push_back(batch);
    }
  }
}

void Job::MakeParameters() {
  v1::TableSpec& table = *plan_.spec.add_tables();
  table.set_id(kTable);
  table.set_name("features");
  table.set_dim(kDim);
  table.set_seed(kTableSeed);
  SetSgd(*table.mutable_optimizer());
  v1::TableSegment& segment = *table.add_segments();
  segment.set_name("all");
  segment.set_width(kDim);
  segment.set_learning_rate_scale(1);
  for (uint32_t i = 0; i < kTensors; ++i) {
    v1::TensorSpec& tensor = *plan_.spec.add_tensors();
    tensor.set_id(i);
    tensor.set_name(i == 0 ? "w" : "b");
    // The last element is shared.
    tensor.add_shape(static_cast<uint32_t>(total_batches() + 1));
    SetSgd(*tensor.mutable_optimizer());
  }
  layout_ = *DenseLayout::Create(plan_.spec.tensors(), options_.partitions);
}

void Job::GatherKeys() {
  for (const NamedBatch& batch : batches_) {
    for (const auto& [partition, keys] : KeysOf(batch)) {
      std::vector<uint64_t>& all = all_keys_[partition];
      all.insert(all.end(), keys.begin(), keys.end());
    }
  }
  for (auto& [partition, keys] : all_keys_) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  }
}

bool Job::judges_rows() const { return CountsRowUpdates(spec().sparse_update()); }

TaskContent Job::Read(const v1::Task& task, uint32_t epoch, bool evaluation) const {
  TaskReader reader(ReaderOptionsOf(spec()), file_);
  const auto loaded = reader.Read({.task = task, .data_epoch = epoch, .evaluation = evaluation});
  CAPSTAN_CHECK(loaded.ok());
  TaskContent content{.examples = (*loaded)->examples(), .bad_records = (*loaded)->bad_records()};
  for (uint64_t seq = 0; seq < (*loaded)->batch_count(); ++seq) {
    Batch read;
    CAPSTAN_CHECK((*loaded)->ReadBatch(seq, read).ok());
    content.batches.push_back({{epoch, task.index(), seq}, std::move(read.keys)});
  }
  return content;
}

uint64_t Job::total_examples() const {
  if (options_.max_steps == 0) return file_.records() * options_.epochs;
  uint64_t examples = 0;
  for (uint32_t lane = 0; lane < options_.lanes; ++lane) {
    const std::vector<NamedBatch> batches = LaneBatches(lane);
    for (size_t i = 0; i < std::min(batches.size(), size_t{options_.max_steps}); ++i) {
      examples += batches[i].records.size();
    }
  }
  return examples;
}

std::vector<NamedBatch> Job::LaneBatches(uint32_t lane) const {
  std::vector<NamedBatch> batches;
  for (size_t place = lane; place < places_.size(); place += options_.lanes) {
    batches.insert(batches.end(), places_[place].begin(), places_[place].end());
  }
  return batches;
}

std::vector<uint64_t> Job::OwnKeys(const NamedBatch& batch) const {
  std::vector<uint64_t> keys;
  for (uint64_t record : batch.records) {
    keys.push_back(kFirstOwnKey + batch.name.epoch * file_.records() + record);
  }
  return keys;
}

std::vector<uint64_t> Job::KeyList(const NamedBatch& batch) const {
  std::vector<uint64_t> keys = OwnKeys(batch);
  const uint64_t mixed = uint64_t{batch.name.epoch} + 3 * batch.name.task + batch.name.seq;
  keys.push_back(mixed % kSharedKeys);
  keys.push_back((mixed + 2) % kSharedKeys);
  return keys;
}

std::map<uint32_t, std::vector<uint64_t>> Job::KeysOf(const NamedBatch& batch) const {
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

// What another plan makes of the data has no name in this one: its records have rows alone.
std::vector<Cell> Job::CountersOf(const NamedBatch& batch) const {
  std::vector<Cell> cells;
  for (uint64_t key : OwnKeys(batch)) cells.push_back({key, 0});
  const auto number = numbers_.find(batch.name);
  if (number == numbers_.end()) return cells;
  for (const Block& block : layout_.blocks())
    cells.push_back({ElementOf(block) + number->second, 0});
  return cells;
}

Cells Job::Touched(const NamedBatch& batch) const {
  Cells cells;
  for (uint64_t key : KeyList(batch)) {
    for (uint32_t column = 0; column < kDim; ++column) cells[{key, column}] = 0;
  }
  for (const Block& block : layout_.blocks()) {
    for (uint32_t i = 0; i < block.length; ++i) cells[{ElementOf(block) + i, 0}] = 0;
  }
  return cells;
}

Cells Job::Gradient(const NamedBatch& batch, const Cells& pulled) const {
  double mood = 0;  // Of all that was pulled.
  for (const auto& [cell, value] : pulled) {
    mood += Unit(Draw(cell.first, cell.second, 0)) * static_cast<double>(value);
  }
  Cells gradient;
  for (const auto& [cell, value] : pulled) gradient[cell] = 0;
  for (const Cell& cell : CountersOf(batch)) gradient[cell] = -1;
  const uint64_t stream = StreamId::Task(batch.name.epoch, batch.name.task).value;
  const auto shared = [&](uint64_t of) {
    const double whole = mood * 7.31 + Unit(Draw(stream, of, 1 + batch.name.seq));
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
