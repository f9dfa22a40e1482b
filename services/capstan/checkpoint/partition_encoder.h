// Encodes a partition as of its mark, in pieces, so that its lock is never held for long: Prepare()
// without the lock and Read() with it, in turns.
//
//   store.Mark(...);                               under the lock
//   while (encoder.Prepare()) {
//     Append(encoder.TakePiece());                  if the file should not be in memory as a whole
//     encoder.Read(store);                          under the lock
//   }
//   Append(std::move(encoder).TakeRest());
#ifndef CAPSTAN_CHECKPOINT_PARTITION_ENCODER_H_
#define CAPSTAN_CHECKPOINT_PARTITION_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/content.h"
#include "capstan/checkpoint/entry_blocks.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/store/partition_store.h"

namespace capstan {

// Thread-compatible.
class PartitionEncoder {
 public:
  explicit PartitionEncoder(const PartitionFileOptions& options);

  // Sorts and checksums what was read. Returns false if there is nothing more to read.
  bool Prepare();
  // Reads the next piece: the keys of a table, some rows, or a dense block. Accesses only memory.
  // REQUIRES: Prepare() has returned true; the store is marked, with `changes_only` only if the
  // options name a parent.
  void Read(PartitionStore& store);

  // Returns the next part of the file once enough of it was encoded; otherwise an empty string.
  std::string TakePiece();

  uint64_t rows() const { return rows_; }  // How many rows were read.
  // Returns the rest of the file. REQUIRES: Prepare() has returned false.
  std::string TakeRest() &&;

 private:
  enum class Stage { kHeader, kKeys, kRows, kDense, kEnd };
  struct TableFacts {
    uint32_t id = 0;
    uint32_t dim = 0;
    uint32_t slots = 0;
    uint32_t optimizer = 0;
    uint64_t progress_examples = 0;
    uint64_t rows = 0;
    bool versions = false;
    uint32_t life = 0;
  };

  bool delta() const { return !options_.parent.empty(); }
  Content content() const;
  size_t RowBytes() const;
  void ReadHeader(PartitionStore& store);
  void ReadKeys(Table& table);
  void ReadRows(Table& table);
  void ReadDense(DenseBlocks& blocks);
  void BeginTable();
  void EndTable();

  const PartitionFileOptions options_;
  BlockWriter writer_;
  Stage stage_ = Stage::kHeader;
  uint64_t rows_ = 0;

  size_t table_ = 0;   // Index of the present table.
  size_t tables_ = 0;  // The number of tables.
  TableFacts facts_;   // The facts of the present table, without its keys.
  bool table_begun_ = false;
  std::vector<RowPlace> places_;
  size_t next_place_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<uint64_t> erased_;
  EntryBlocks row_blocks_;

  std::vector<BlockId> dense_;
  size_t next_dense_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_PARTITION_ENCODER_H_
