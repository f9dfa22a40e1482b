// A copy of a partition's rows and blocks as of a moment, which is read in pieces while updates go
// on: how far it is, and what is kept for it.
#ifndef CAPSTAN_PS_SHARD_STORE_COPY_H_
#define CAPSTAN_PS_SHARD_STORE_COPY_H_

#include <cstdint>
#include <string>

#include "capstan/store/partition_store.h"
#include "ps/shard/kept_bytes.h"

namespace capstan::ps {

// A copy begins, is read, has been read and is settled; then the next one may begin. Of the
// partition itself it knows nothing but the store. *Thread-compatible*: guarded by its partition's
// lock.
class StoreCopy {
 public:
  // `kept`: of all partitions of the shard; must outlive this object.
  explicit StoreCopy(KeptBytes& kept) : kept_(kept) {}

  // Another store, which must outlive its copies; nullptr: none. The copy of the one before comes
  // to nothing. `base`: the checkpoint that the store was read from whole; empty: none.
  void Reset(PartitionStore* store, std::string base);

  // The moment: marks the store. Returns `parent` if the copy is to hold what has changed since
  // that checkpoint, which has to be the last one that holds a copy; empty: it is to hold
  // everything. REQUIRES: there is a store, and its copy before has been settled.
  std::string Begin(const std::string& parent);
  // The copy is being read: what changes is kept for it.
  bool reading() const { return stage_ == Stage::kReading; }
  // The store has changed: what is kept for the copy is counted again.
  void CountKept();
  // It is being read, and the shard keeps too much for its copies.
  bool full() const { return reading() && kept_.full(); }
  // All has been read: nothing is kept any more. False, and nothing is done: none was being read.
  bool End();
  // The checkpoint `id` holds the copy, or (empty) it has come to nothing. False, and nothing is
  // done: there is none that has been read.
  bool Settle(const std::string& id);

 private:
  enum class Stage { kNone, kReading, kRead };

  KeptBytes& kept_;
  PartitionStore* store_ = nullptr;
  Stage stage_ = Stage::kNone;
  std::string base_;           // The checkpoint that changes are known to.
  int64_t counted_bytes_ = 0;  // In kept_.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_STORE_COPY_H_
