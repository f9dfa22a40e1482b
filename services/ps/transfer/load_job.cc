#include "ps/transfer/load_job.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "ps/partition/machine_state.h"
#include "ps/shard/coordinator_start.h"

namespace capstan::ps {
namespace {

// Compares the optimizers of two jobs that have the same tables and tensors.
bool SameOptimizers(const v1::JobSpec& a, const v1::JobSpec& b) {
  const auto same = [](const auto& one, const auto& other) {
    return one.optimizer().kind() == other.optimizer().kind();
  };
  return std::equal(a.tables().begin(), a.tables().end(), b.tables().begin(), b.tables().end(),
                    same) &&
         std::equal(a.tensors().begin(), a.tensors().end(), b.tensors().begin(), b.tensors().end(),
                    same);
}

absl::Status Cancelled() { return absl::CancelledError("another order has come"); }

StreamFacts StreamFactsFromProto(const v1::PartialRecoveryStart& alone, uint64_t term) {
  StreamFacts facts{.open = {}, .closed = {}, .term = term};
  for (const v1::OpenStreamFacts& stream : alone.open()) {
    facts.open.push_back(
        {{stream.stream()}, GenerationFromProto(stream.generation()), stream.prefix()});
  }
  for (const v1::StreamClose& close : alone.closed()) {
    facts.closed.push_back({{close.stream()}, close.batches()});
  }
  return facts;
}

}  // namespace

LoadJob::LoadJob(Shard& shard, const v1::LoadPartitionsRequest& order, Outside outside)
    : shard_(shard),
      order_(order),
      told_(StreamFactsFromProto(order.partial(), order.header().epoch().term())),
      outside_(std::move(outside)) {}

absl::Status LoadJob::Run() {
  shard_.contents().Unload();
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("load.unloaded"));
  CAPSTAN_RETURN_IF_ERROR(OpenCheckpoint());
  const auto count = static_cast<size_t>(order_.partitions_size());
  CAPSTAN_RETURN_IF_ERROR(ForEach(count, outside_.background, kHelpers, [this](size_t place) {
    const uint32_t partition = order_.partitions(static_cast<int>(place));
    return cancelled_ ? Cancelled() : LoadOne(static_cast<PartitionIndex>(partition));
  }));
  if (cancelled_) return Cancelled();
  CAPSTAN_ASSIGN_OR_RETURN(const RoundsStart rounds, Rounds());
  return shard_.contents().Serve(order_.header().timeline(), rounds);
}

absl::Status LoadJob::OpenCheckpoint() {
  if (order_.uri().empty()) return absl::OkStatus();
  absl::StatusOr<CheckpointReader> reader =
      CheckpointReader::Open(order_.uri(), outside_.open_store);
  if (absl::IsNotFound(reader.status())) return absl::DataLossError(reader.status().message());
  CAPSTAN_RETURN_IF_ERROR(reader.status());
  reader_ = *std::move(reader);
  return reader_->CheckJob(shard_.catalog().job());
}

absl::Status LoadJob::LoadOne(PartitionIndex partition) {
  const Timeline timeline{order_.header().timeline()};
  absl::StatusOr<PartitionContent> content =
      reader_ ? Restored(partition)
              : InitialContent(shard_.catalog(), partition, timeline, shard_.slabs());
  CAPSTAN_RETURN_IF_ERROR(content.status());
  if (order_.has_partial()) CAPSTAN_RETURN_IF_ERROR(RecoverPartially(*content));
  CAPSTAN_RETURN_IF_ERROR(CheckRound(partition, content->machine.round()));
  rows_ += content->store->row_count();
  shard_.contents().Load(partition, *std::move(content));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("load.partition_loaded"));
  return absl::OkStatus();
}

// Reads the parameters of another job's checkpoint, with their slots if this job's optimizers are
// of the same kinds.
absl::StatusOr<PartitionContent> LoadJob::ParametersOf(PartitionIndex partition) {
  const v1::JobSpec& job = shard_.catalog().job();
  const DenseLayout& layout = shard_.catalog().layout();
  const v1::JobSpec& stored = reader_->manifest().job();
  const bool whole = SameOptimizers(stored, job);
  CAPSTAN_ASSIGN_OR_RETURN(
      DecodedPartition decoded,
      reader_->Read(partition, whole ? job : stored, layout, whole ? &shard_.slabs() : nullptr));
  bytes_ += reader_->bytes_of(partition);
  if (!whole) {
    const std::unique_ptr<PartitionStore> other = std::move(decoded.store);
    CAPSTAN_ASSIGN_OR_RETURN(decoded.store,
                             PartitionStore::Create(job, layout, partition, &shard_.slabs()));
    CAPSTAN_RETURN_IF_ERROR(decoded.store->TakeWeights(*other));
  }
  for (const std::unique_ptr<Table>& table : decoded.store->tables()) table->RestartProgress();
  const Timeline timeline{order_.header().timeline()};
  return PartitionContent{std::move(decoded.store),
                          PartitionMachine(MachineOptions(shard_.catalog(), timeline)),
                          /*base=*/""};
}

absl::StatusOr<PartitionContent> LoadJob::Restored(PartitionIndex partition) {
  if (order_.parameters_only()) return ParametersOf(partition);
  const PartitionOptions options =
      MachineOptions(shard_.catalog(), Timeline{order_.header().timeline()});
  CAPSTAN_ASSIGN_OR_RETURN(
      DecodedPartition decoded,
      reader_->Read(partition, shard_.catalog().job(), shard_.catalog().layout(), &shard_.slabs()));
  bytes_ += reader_->bytes_of(partition);
  CAPSTAN_ASSIGN_OR_RETURN(PartitionState state, DecodeMachineState(decoded.machine));
  // `told_by` fences leases of the timeline in which the checkpoint was saved. No such lease is
  // valid in this timeline.
  for (PartState& part : state.parts) part.ledger.told_by = 0;
  decoded.store->TrackChanges();
  return PartitionContent{std::move(decoded.store),
                          PartitionMachine(options, state, shard_.clock().Now()),
                          reader_->manifest().id()};
}

// The other partitions have advanced: gradients that they have settled, and this copy has not, are
// lost, and are counted.
absl::Status LoadJob::RecoverPartially(PartitionContent& content) {
  const Timeline timeline{order_.header().timeline()};
  CAPSTAN_ASSIGN_OR_RETURN(
      content.machine,
      PartitionMachine::RecoverPartially(MachineOptions(shard_.catalog(), timeline),
                                         content.machine.Snapshot(), told_, shard_.clock().Now()));
  content.base.clear();
  batches_lost_ += BatchesLost(*content.store, content.machine);
  return absl::OkStatus();
}

// Checks that all partitions of a synchronous checkpoint have passed the same round.
absl::Status LoadJob::CheckRound(PartitionIndex partition, uint64_t round) {
  absl::MutexLock lock(&mu_);
  if (!shard_.catalog().HasSync() || !round_) round_ = round;
  if (*round_ == round) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(order_.uri(), ": partition ", Raw(partition),
                                          " is of round ", round, ", another one of ", *round_));
}

absl::StatusOr<RoundsStart> LoadJob::Rounds() const {
  RoundsStart rounds;
  {
    absl::MutexLock lock(&mu_);
    rounds.passed = round_.value_or(0);
  }
  if (!order_.has_coordinator()) return rounds;
  CAPSTAN_ASSIGN_OR_RETURN(rounds.coordinator, CoordinatorStateFromProto(order_.coordinator()));
  const CoordinatorState& coordinator = *rounds.coordinator;
  if (coordinator.last.round == rounds.passed) return rounds;
  return absl::FailedPreconditionError(absl::StrCat("the coordinator shall begin after round ",
                                                    coordinator.last.round,
                                                    ", the partitions after ", rounds.passed));
}

}  // namespace capstan::ps
