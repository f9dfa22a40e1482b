// The state of a copy of a partition's rows and blocks as of one moment, which is read in pieces
// while updates go on: the stage of the copy, and how much memory is kept for it.
#ifndef CAPSTAN_PS_PARTITION_STORE_COPY_H_
#define CAPSTAN_PS_PARTITION_STORE_COPY_H_

#include <cstdint>
#include <string>

#include "capstan/store/partition_store.h"
#include "ps/partition/kept_bytes.h"

namespace capstan::ps {

// A copy is begun, being read, read, and settled; then the next one may be begun.
// *Thread-compatible*: guarded by its partition's lock.
class StoreCopy {
 public:
  // `kept`: the bytes kept for copies of all partitions of the shard; must outlive this object.
  explicit StoreCopy(KeptBytes& kept) : kept_(kept) {}

  // Replaces the store, which must outlive its copies; null: no store. Abandons a copy of the
  // previous store. `base`: the checkpoint from which all of the store was read; empty: none.
  void Reset(PartitionStore* store, std::string base);

  // Begins a copy as of now: marks the store. If the copy will only contain the changes since the
  // checkpoint `parent`, returns `parent`. The store knows its changes since one checkpoint: the
  // last one that contains a copy of the store, or else the one from which it was read. For any
  // other `parent` returns "", and the copy will contain everything. REQUIRES: there is a store,
  // and the previous copy has been settled.
  std::string Begin(const std::string& parent);
  // Returns true while a copy is being read, for which the former state of changed rows is kept.
  bool reading() const { return stage_ == Stage::kReading; }
  // The store has changed: updates the count of what is kept for the copy.
  void CountKept();
  // Returns true if a copy is being read, and the shard keeps too much for its copies.
  bool full() const { return reading() && kept_.full(); }
  // All of the copy has been read, and nothing is kept for it any more. Returns false and does
  // nothing if no copy is being read.
  bool End();
  // The copy is stored as the checkpoint, or the file of a move, called `id`; empty: the copy was
  // abandoned. Returns false and does nothing if there is no copy that has been read.
  bool Settle(const std::string& id);

 private:
  enum class Stage { kNone, kReading, kRead };

  KeptBytes& kept_;
  PartitionStore* store_ = nullptr;
  Stage stage_ = Stage::kNone;
  std::string base_;           // The checkpoint since which changes are known.
  int64_t counted_bytes_ = 0;  // This object's part of kept_.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_STORE_COPY_H_
