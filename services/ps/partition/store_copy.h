// The state of a copy of a partition's rows and blocks as of one moment, which is read in pieces
// while updates go on: how far the copy is, and how much is kept for it.
#ifndef CAPSTAN_PS_PARTITION_STORE_COPY_H_
#define CAPSTAN_PS_PARTITION_STORE_COPY_H_

#include <cstdint>
#include <string>

#include "capstan/store/partition_store.h"
#include "ps/partition/kept_bytes.h"

namespace capstan::ps {

// A copy begins, is read, has been read and is settled; then the next copy may begin.
// *Thread-compatible*: guarded by its partition's lock.
class StoreCopy {
 public:
  // `kept`: the bytes kept for copies of all partitions of the shard; must outlive this object.
  explicit StoreCopy(KeptBytes& kept) : kept_(kept) {}

  // Replaces the store, which must outlive its copies; nullptr: no store. A copy of the store
  // before comes to nothing. `base`: the checkpoint that the store was read from, all of it; empty:
  // none.
  void Reset(PartitionStore* store, std::string base);

  // Begins a copy as of now: marks the store. Returns `parent` if the copy holds only what has
  // changed since that checkpoint. The store knows that of one checkpoint: the last one that holds
  // a copy of the store, or else the one that it was read from. For any other `parent` returns "",
  // and the copy holds everything. REQUIRES: there is a store, and the copy before has been
  // settled.
  std::string Begin(const std::string& parent);
  // Returns true while a copy is being read: the former state of what changes is kept for it.
  bool reading() const { return stage_ == Stage::kReading; }
  // The store has changed: counts again what is kept for the copy.
  void CountKept();
  // Returns true if a copy is being read, and the shard keeps too much for its copies.
  bool full() const { return reading() && kept_.full(); }
  // All of the copy has been read: nothing is kept for it any more. Returns false and does nothing
  // if no copy is being read.
  bool End();
  // The checkpoint, or file of a move, called `id` holds the copy; empty: the copy has come to
  // nothing. Returns false and does nothing if there is no copy that has been read.
  bool Settle(const std::string& id);

 private:
  enum class Stage { kNone, kReading, kRead };

  KeptBytes& kept_;
  PartitionStore* store_ = nullptr;
  Stage stage_ = Stage::kNone;
  std::string base_;           // The checkpoint since which changes are known.
  int64_t counted_bytes_ = 0;  // What of kept_ is this object's.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_STORE_COPY_H_
