#include "capstan/store/partition_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/consistency/staleness.h"

namespace capstan {

absl::StatusOr<std::unique_ptr<PartitionStore>> PartitionStore::Create(const v1::JobSpec& job,
                                                                       const DenseLayout& layout,
                                                                       PartitionIndex partition,
                                                                       SlabArena* arena) {
  std::unique_ptr<PartitionStore> store(new PartitionStore(partition));
  for (const v1::TableSpec& spec : job.tables()) {
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Table> table,
                             Table::Create(spec, job.partition_count(), arena));
    if (CountsRowUpdates(job.sparse_update())) table->CountUpdates();
    store->ids_.push_back(table->id());
    store->tables_.push_back(std::move(table));
  }
  CAPSTAN_ASSIGN_OR_RETURN(store->blocks_, DenseBlocks::Create(job, layout, partition));
  return store;
}

Table* PartitionStore::FindTable(TableId id) {
  const size_t place = PlaceOf(id);
  return place < tables_.size() ? tables_[place].get() : nullptr;
}

size_t PartitionStore::PlaceOf(TableId id) const {
  const size_t likely = Raw(id);  // Jobs number their tables in order.
  if (likely < ids_.size() && ids_[likely] == id) return likely;
  return static_cast<size_t>(std::find(ids_.begin(), ids_.end(), id) - ids_.begin());
}

absl::Status PartitionStore::TakeWeights(const PartitionStore& other) {
  CAPSTAN_CHECK(other.tables_.size() == tables_.size());
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (other.tables_[i]->dim() != tables_[i]->dim()) {
      return absl::FailedPreconditionError(
          absl::StrCat("table ", tables_[i]->spec().name(), ": stored with dim ",
                       other.tables_[i]->dim(), ", the job has ", tables_[i]->dim()));
    }
    absl::Status status;
    other.tables_[i]->ForEachRow(
        [&](const RowState& row) { status.Update(tables_[i]->RestoreWeights(row)); });
    other.tables_[i]->ForEachCandidate([&](const Candidate& candidate) {
      status.Update(tables_[i]->RestoreCandidate(candidate));
    });
    CAPSTAN_RETURN_IF_ERROR(status);
  }
  for (const Block& block : blocks_->blocks()) {
    blocks_->RestoreWeights(block.id, other.blocks_->Weights(block.id));
  }
  return absl::OkStatus();
}

void PartitionStore::Mark(bool changes_only) {
  for (const std::unique_ptr<Table>& table : tables_) table->Mark(changes_only);
  blocks_->Mark(changes_only);
}

void PartitionStore::Unmark() {
  for (const std::unique_ptr<Table>& table : tables_) table->Unmark();
  blocks_->Unmark();
}

void PartitionStore::SettleMark(bool safe) {
  for (const std::unique_ptr<Table>& table : tables_) table->SettleMark(safe);
  blocks_->SettleMark(safe);
}

void PartitionStore::TrackChanges() {
  for (const std::unique_ptr<Table>& table : tables_) table->TrackChanges();
  blocks_->TrackChanges();
}

bool PartitionStore::changes_known() const {
  return std::all_of(tables_.begin(), tables_.end(),
                     [](const auto& table) { return table->changes_known(); });
}

size_t PartitionStore::kept_bytes() const {
  size_t bytes = blocks_->kept_bytes();
  for (const std::unique_ptr<Table>& table : tables_) bytes += table->kept_bytes();
  return bytes;
}

size_t PartitionStore::row_count() const {
  size_t rows = 0;
  for (const std::unique_ptr<Table>& table : tables_) rows += table->row_count();
  return rows;
}

size_t PartitionStore::memory_bytes() const {
  size_t bytes = blocks_->memory_bytes();
  for (const std::unique_ptr<Table>& table : tables_) bytes += table->memory_bytes();
  return bytes;
}

}  // namespace capstan
