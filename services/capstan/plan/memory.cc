#include "capstan/plan/memory.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "capstan/base/divide.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/partition_pack.h"
#include "capstan/client/ps_client.h"
#include "capstan/client/request_plan.h"
#include "capstan/consistency/batches_ahead.h"
#include "capstan/consistency/decisions.h"
#include "capstan/consistency/job_lanes.h"
#include "capstan/consistency/lanes_at_work.h"
#include "capstan/data/feed/batch_prefetcher.h"
#include "capstan/model/slices.h"
#include "capstan/optim/optimizer.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/placement/placement.h"
#include "capstan/rpc/limits.h"
#include "capstan/store/memory_limits.h"
#include "capstan/store/row_index.h"
#include "capstan/store/table.h"

namespace capstan {
namespace {

constexpr uint64_t kFloat = sizeof(float);
// Size of a row in a partition file without its state: key, frequency, touched (FORMAT.md).
constexpr uint64_t kStoredRowBytes = 20;
constexpr uint64_t kBitsAByte = 8;
// While the chief makes the list of the data's ranges and stores it, copies and texts of the list
// take up to six times as much memory as the list itself, and the allocator keeps that memory
// afterwards: 5.6 times with 100,000 objects, whose list takes 19 MiB, beside the 31 MiB of an idle
// chief (tests/bench/RESULTS.md, section large, 2026-11-30).
constexpr uint64_t kListsWhileStored = 6;

// The memory of a worker beyond what is calculated item by item: what towers, calls and their
// messages use for a moment, and gaps between freed pieces, which the allocator does not return.
// The gaps are at most a third of what is calculated, and no more than kMostFragments, since large
// pieces leave none: .31 of it with 25 lanes of a small model whose tasks are packed
// (tests/bench/RESULTS.md, section lanes, 2026-12-01).
constexpr uint64_t kScratchBytes = uint64_t{3} << 20;
constexpr uint64_t kMostFragments = uint64_t{8} << 20;

// Size of one row in memory, including its index entry, and in a file. With several tables each row
// counts as one of the widest table, as it is not known how many rows each will have.
struct RowSizes {
  uint64_t held = 0;
  uint64_t stored = 0;
};

absl::StatusOr<RowSizes> RowSizesOf(const v1::JobSpec& job) {
  RowSizes sizes;
  for (const v1::TableSpec& spec : job.tables()) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<Table> table,
                             Table::Create(spec, job.partition_count()));
    sizes.held = std::max<uint64_t>(sizes.held, table->row_bytes() + RowIndex::kMaxBytesPerRow);
    sizes.stored = std::max<uint64_t>(
        sizes.stored, kStoredRowBytes + kFloat * (spec.dim() + table->slot_count()));
  }
  return sizes;
}

// Returns how many rows the tables have in the end, as far as their byte budget allows.
uint64_t RowsOf(const v1::JobSpec& job, const DataFacts& facts, const RowSizes& row) {
  const uint64_t budget = job.table_limits().byte_budget();
  if (row.held == 0) return 0;
  return budget > 0 ? std::min(facts.rows, budget / row.held) : facts.rows;
}

// Returns the number of floats of all tensors, including frozen tensors, which are pulled once.
uint64_t DenseFloats(const v1::JobSpec& job) {
  uint64_t floats = 0;
  for (const v1::TensorSpec& tensor : job.tensors()) {
    floats += std::accumulate(tensor.shape().begin(), tensor.shape().end(), uint64_t{1},
                              std::multiplies<>());
  }
  return floats;
}

uint64_t RowFloats(const v1::JobSpec& job) {
  uint64_t floats = 0;
  for (const v1::TableSpec& table : job.tables()) floats = std::max<uint64_t>(floats, table.dim());
  return floats;
}

// Returns how many steps of a trainer with `lanes` lanes (0: no rounds) hold their parameters and
// gradients at the same time. If shards add gradients in the order of the lanes, one lane below all
// that are at work may begin in addition (worker/machines/lane_turns): the first of a round begins
// while the last ones of the previous round wait for the answers to their pushes.
uint64_t StepsUnderWay(const v1::JobSpec& job, uint64_t lanes, uint64_t dense_bytes) {
  if (lanes == 0) return 1 + job.train().push_window();
  const bool in_order = AddsAhead(job.dense_update()) || AddsAhead(job.sparse_update());
  return std::min(lanes, LanesAtWork(dense_bytes) + (in_order ? 1 : 0));
}

// Returns how many gradients one batch needs while it is computed: one for each slice, and their
// sum if there are several slices.
uint64_t GradientsOfABatch(const v1::JobSpec& job) {
  const uint64_t slices = job.model().user().empty() ? SlicesFor(job.train().step_threads()) : 1;
  return slices == 1 ? 1 : slices + 1;
}

// Returns how many clients push to a shard, or pull from it, at the same time: the trainers, or
// their lanes at work.
uint64_t ClientsOf(const v1::JobSpec& job, const Scale& scale, uint64_t dense_bytes) {
  const uint64_t trainers =
      uint64_t{job.train().compute_threads()} * static_cast<uint64_t>(scale.workers);
  const uint64_t lanes = LanesOfATrainer(job, scale);
  if (lanes == 0) return trainers;
  return std::min(LanesOf(job), trainers * StepsUnderWay(job, lanes, dense_bytes));
}

// Returns the most bytes that one client has under way to or from one shard, if a call has at most
// `call_bytes`.
uint64_t CallsInFlight(uint64_t call_bytes) {
  return PsClientOptions{}.chunks_in_flight *
         std::max<uint64_t>(call_bytes, RequestPlan::kChunkBytes);
}

// What a connection takes at each of its ends without the messages on it: the additional memory of
// a hundred workers and ten shards compared with the plan, divided by the connections of the
// process (tests/bench/RESULTS.md, section crowd, 2026-11-30), for the policy with the most.
constexpr uint64_t kShardConnectionBytes = uint64_t{72} << 10;
constexpr uint64_t kWorkerConnectionBytes = uint64_t{480}
                                            << 10;  // Including its channel and stubs.
constexpr uint64_t kChiefConnectionBytes = uint64_t{136}
                                           << 10;  // Including what it knows of the peer.

// Returns the memory that a shard may use; if it is not known, the largest number.
uint64_t ShardMemoryOf(const Scale& scale) {
  if (scale.shard_memory_bytes > 0) return scale.shard_memory_bytes;
  return std::numeric_limits<uint64_t>::max();
}

ShardNeeds NeedsOfShard(const v1::JobSpec& job, const Traffic& traffic, const Scale& scale,
                        uint64_t dense, uint64_t row_bytes, uint64_t rows) {
  const uint64_t shard_rows = DivideUp(rows, static_cast<uint64_t>(scale.shards));
  const uint64_t parameters = dense + shard_rows * row_bytes;
  const Share& busiest = traffic.busiest;
  const uint64_t call = std::min<uint64_t>(busiest.largest_push_bytes, kMaxMessageBytes);
  const bool in_pieces = busiest.largest_push_bytes > uint64_t{kMaxMessageBytes};
  // A checkpoint copies one partition after the other. In rounds all images, up to their limit, may
  // wait for the store. Otherwise the bytes that wait for the store have been read from the
  // partition already, and need no image.
  const bool in_rounds = LanesOf(job) > 0;
  const bool twice = IsHeldTwice(job, scale.shards);
  const uint64_t partition =
      DivideUp(parameters * static_cast<uint64_t>(scale.shards), job.partition_count());
  const uint64_t read = in_rounds ? partition : std::min(partition, kWaitingForStoreLimit);
  ShardNeeds needs;
  needs.dense = dense;
  needs.rows = shard_rows * row_bytes;
  needs.round_sum = RoundSumBytes(job, busiest, shard_rows);
  needs.backups = twice ? parameters + needs.round_sum : 0;
  needs.images = in_rounds ? MostImages(parameters) : partition - read;
  needs.read = read;
  needs.clients = ClientsOf(job, scale, traffic.worker.floats * kFloat);
  needs.pushed = std::min<uint64_t>(busiest.pushed_bytes, CallsInFlight(call));
  needs.pulled = std::min<uint64_t>(busiest.pulled_bytes, CallsInFlight(call));
  needs.push_in_pieces = in_pieces ? busiest.largest_push_bytes : 0;
  needs.waiting = WaitingBytes(job, busiest);
  needs.copies = twice ? 2 : 1;
  needs.waiting_is_needed = NeedsRoomForAll(job);
  return needs;
}

// Returns how many of `batches` are read ahead, if the limit of their total size may be reached
// before the last one.
uint64_t WithinReadAhead(uint64_t batches, uint64_t batch_bytes) {
  return std::min(batches, kReadAheadBytes / std::max<uint64_t>(batch_bytes, 1) + 1);
}

// Returns how many batches the runner of a thread, or of one of its `lanes` (0: no rounds), holds
// that are not read ahead. A lane works on one until its round is closed. On a task a batch is held
// until its push is answered, as are the steps under way, and the one after these is read at once;
// so is the first one of the next task, which begins beside them (worker/session/held_leases).
uint64_t BatchesAtWork(const v1::JobSpec& job, uint64_t lanes) {
  return lanes > 0 ? 1 : StepsUnderWay(job, lanes, /*dense_bytes=*/0) + 2;
}

// Returns the memory of steps for the keys of their batch, in addition to the batch and before
// anything is pulled (worker/shell/step, client/request_plan), if the batch has `keys` distinct
// ones: each key as it is pulled and in the order of the partitions, with the index of its row, and
// the row of each of its occurrences in the batch; and for each partition which keys are its own,
// and its versions.
uint64_t StepKeyBytes(const v1::JobSpec& job, uint64_t keys) {
  constexpr uint64_t kOfKey = 2 * sizeof(uint64_t) + 3 * sizeof(uint32_t);
  constexpr uint64_t kOfPartition = 2 * sizeof(uint64_t) + 3 * sizeof(uint32_t);
  constexpr uint64_t kOfTable = 5 * sizeof(uint32_t);
  const uint64_t tables = static_cast<uint64_t>(job.tables_size());
  return keys * kOfKey + job.partition_count() * (kOfPartition + tables * kOfTable);
}

// Returns the memory of the tasks of all `feeds` of a worker. Those of more feeds than
// kUnpackedFeeds are packed, each after it was parsed.
uint64_t TasksBeingRead(const v1::JobSpec& job, const DataFacts& facts, uint64_t feeds) {
  const uint64_t unpacked = std::min(feeds, kUnpackedFeeds * job.train().compute_threads());
  if (feeds == unpacked) return feeds * facts.task_bytes;
  return (unpacked + 1) * facts.task_bytes + (feeds - unpacked) * facts.packed_task_bytes;
}

// Returns the memory of a worker. Each step under way, or lane at work, holds the pulled parameters
// and the gradient.
ProcessMemory WorkerMemory(const v1::JobSpec& job, const Traffic& traffic, const DataFacts& facts,
                           const Scale& scale) {
  const uint64_t trainers = job.train().compute_threads();
  const uint64_t dense = DenseFloats(job) * kFloat;
  const uint64_t rows = traffic.worker.rows * RowFloats(job) * kFloat;
  const uint64_t lanes = LanesOfATrainer(job, scale);
  const uint64_t feeds = trainers * std::max<uint64_t>(lanes, 1);
  const uint64_t steps = StepsUnderWay(job, lanes, dense);
  const uint64_t calls =
      static_cast<uint64_t>(scale.shards) * CallsInFlight(traffic.worker.largest_push_bytes);
  const uint64_t messages = std::min<uint64_t>(traffic.worker.pulled_bytes, calls) +
                            std::min<uint64_t>(traffic.worker.pushed_bytes, calls);
  const uint64_t batch = job.train().batch_size() * facts.record_bytes;
  // What runners request ahead of time and what the prefetcher cuts beyond that have a limit each.
  const uint64_t read =
      feeds * BatchesAtWork(job, lanes) + WithinReadAhead(BatchesAhead(job), batch);
  const uint64_t cut = WithinReadAhead(feeds * BatchesCutAhead(job), batch);
  // A program may write to what was pulled, and a push that is compensated contains the pulled
  // weights.
  const uint64_t copies = !job.model().user().empty() && Compensates(job) ? 1 : 0;
  ProcessMemory memory;
  memory.parts = {
      {"copies of what was pulled", trainers * steps * copies * (dense + rows)},
      {"parameters and gradients of steps under way", trainers * steps * 2 * (dense + rows)},
      {"gradient being computed", trainers * GradientsOfABatch(job) * (dense + rows)},
      {"messages on their way, at most", trainers * steps * messages},
      {"tasks being read", TasksBeingRead(job, facts, feeds)},
      {"batches read ahead", (read + cut) * batch},
      {"keys of batches", read * StepKeyBytes(job, traffic.worker.rows)}};
  memory.parts.push_back(
      {"kept by the allocator", kScratchBytes + std::min(memory.bytes() / 3, kMostFragments)});
  return memory;
}

void AddBase(double bytes, ProcessMemory& memory) {
  memory.parts.push_back({"the process itself", static_cast<uint64_t>(bytes)});
  std::erase_if(memory.parts, [](const MemoryPart& part) { return part.bytes == 0; });
}

// Returns the most objects of a checkpoint. Each shard closes an object as soon as it is large
// enough, and has one more for the rest.
uint64_t ObjectsOf(uint64_t shard_bytes, const v1::JobSpec& job, const Scale& scale) {
  const uint64_t shards = static_cast<uint64_t>(scale.shards);
  const uint64_t of_shard =
      std::min(DivideUp(job.partition_count(), shards), shard_bytes / PartitionPack::kEnough + 1);
  return shards * of_shard + 1;
}

}  // namespace

uint64_t LanesOf(const v1::JobSpec& job) { return UsesLanes(job) ? LaneCount(job) : 0; }

uint64_t LanesOfATrainer(const v1::JobSpec& job, const Scale& scale) {
  return DivideUp(LanesOf(job),
                  uint64_t{job.train().compute_threads()} * static_cast<uint64_t>(scale.workers));
}

bool IsHeldTwice(const v1::JobSpec& job, int shards) { return job.replicas() > 0 && shards > 1; }

uint64_t WaitingBytes(const v1::JobSpec& job, const Share& busiest) {
  const auto most = [](const v1::UpdatePolicy& policy) -> uint64_t {
    if (!GathersGradients(policy)) return 0;
    if (!IsSync(policy)) return AggregateOf(policy);
    return policy.backup_workers() > 0 ? policy.lanes() : policy.lanes() - 1;
  };
  return std::max(most(job.dense_update()), most(job.sparse_update())) * busiest.pushed_bytes;
}

uint64_t RoundSumBytes(const v1::JobSpec& job, const Share& busiest, uint64_t rows) {
  uint64_t bytes = IsSync(job.dense_update()) ? busiest.floats * kFloat : 0;
  if (IsSync(job.sparse_update())) {
    const uint64_t distinct = std::min(LanesOf(job) * busiest.rows, rows);
    bytes += distinct * (sizeof(uint64_t) + 2 * sizeof(uint32_t) + RowFloats(job) * kFloat);
  }
  return bytes;
}

absl::StatusOr<std::vector<uint64_t>> DenseBytes(const v1::JobSpec& job, int shards) {
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  const std::vector<uint32_t> owners =
      FirstShardMap(job.partition_count(), static_cast<uint32_t>(shards));
  std::vector<uint64_t> bytes(static_cast<size_t>(shards), 0);
  for (const Block& block : layout.blocks()) {
    const v1::OptimizerSpec& spec = job.tensors(static_cast<int>(block.tensor)).optimizer();
    CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<Optimizer> optimizer, MakeOptimizer(spec));
    bytes[owners[Raw(block.partition)]] +=
        kFloat * (block.length + optimizer->SlotCount(block.length));
  }
  return bytes;
}

absl::StatusOr<uint64_t> RowBytes(const v1::JobSpec& job) {
  CAPSTAN_ASSIGN_OR_RETURN(const RowSizes sizes, RowSizesOf(job));
  return sizes.held;
}

absl::StatusOr<Sizes> SizesOf(const v1::JobSpec& job, const Traffic& traffic,
                              const DataFacts& facts, const Scale& scale, const Rates& rates) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<uint64_t> dense, DenseBytes(job, scale.shards));
  CAPSTAN_ASSIGN_OR_RETURN(const RowSizes row, RowSizesOf(job));
  const uint64_t most_dense = *std::max_element(dense.begin(), dense.end());
  const uint64_t rows = RowsOf(job, facts, row);
  Sizes sizes;
  sizes.row_bytes = row.held;
  ShardNeeds needs = NeedsOfShard(job, traffic, scale, most_dense, row.held, rows);
  needs.process = static_cast<uint64_t>(rates.shard_bytes);
  const auto shards = static_cast<uint64_t>(scale.shards);
  const auto workers = static_cast<uint64_t>(scale.workers);
  const uint64_t of_a_worker = ConnectionsOfAWorker(job);
  needs.connections = (workers * of_a_worker + shards) * kShardConnectionBytes;
  const uint64_t shard_memory = ShardMemoryOf(scale);
  sizes.shard = ShardMemoryIn(needs, shard_memory);
  sizes.least_shard_memory = LeastShardMemory(needs);
  sizes.worker = WorkerMemory(job, traffic, facts, scale);
  sizes.worker.parts.push_back(
      {"connections", (shards * of_a_worker + 1) * kWorkerConnectionBytes});
  AddBase(rates.worker_bytes, sizes.worker);
  sizes.chief.parts = {{"ranges of the data", facts.range_bytes},
                       {"making and storing them", kListsWhileStored * facts.range_bytes},
                       {"which tasks are done", facts.tasks / kBitsAByte},
                       {"connections", (workers + shards) * kChiefConnectionBytes}};
  AddBase(rates.chief_bytes, sizes.chief);
  sizes.waiting_bytes = needs.waiting;
  sizes.waiting_limit = WaitingLimitIn(needs, shard_memory);
  sizes.checkpoint_bytes =
      std::accumulate(dense.begin(), dense.end(), uint64_t{0}) + rows * row.stored;
  sizes.shard_checkpoint_bytes = most_dense + DivideUp(rows, shards) * row.stored;
  sizes.checkpoint_objects = ObjectsOf(sizes.shard_checkpoint_bytes, job, scale);
  return sizes;
}

}  // namespace capstan
