// All parameters of one partition: its rows of every table, and its dense blocks.
#ifndef CAPSTAN_STORE_PARTITION_STORE_H_
#define CAPSTAN_STORE_PARTITION_STORE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/dense_blocks.h"
#include "capstan/store/table.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Thread-compatible: guarded by its partition's mutex.
class PartitionStore {
 public:
  // `layout`: computed from job.tensors and job.partition_count. `arena`, if any, must outlive the
  // store.
  static absl::StatusOr<std::unique_ptr<PartitionStore>> Create(const v1::JobSpec& job,
                                                                const DenseLayout& layout,
                                                                PartitionIndex partition,
                                                                SlabArena* arena = nullptr);

  PartitionIndex partition() const { return partition_; }

  // Returns null if the job has no such table.
  Table* FindTable(TableId id);
  // Returns the table's index in tables(), without accessing any table; tables().size() if there is
  // no such table.
  size_t PlaceOf(TableId id) const;
  const std::vector<std::unique_ptr<Table>>& tables() const { return tables_; }  // As in the job.

  DenseBlocks& blocks() { return *blocks_; }
  const DenseBlocks& blocks() const { return *blocks_; }

  // Copies the weights of a partition with the same tables and blocks, which may come from other
  // optimizers; slots are initialized. FAILED_PRECONDITION: tables have other widths. REQUIRES:
  // nothing was pushed to, or restored in, this store before.
  absl::Status TakeWeights(const PartitionStore& other);

  // ---- a copy as of one moment; see Table ----

  void Mark(bool changes_only);
  void Unmark();
  void SettleMark(bool safe);
  void TrackChanges();
  bool changes_known() const;
  size_t kept_bytes() const;

  size_t row_count() const;
  size_t memory_bytes() const;

 private:
  explicit PartitionStore(PartitionIndex partition) : partition_(partition) {}

  PartitionIndex partition_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<TableId> ids_;  // The ids of tables_, in their order.
  std::unique_ptr<DenseBlocks> blocks_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_PARTITION_STORE_H_
