// Reads a long range of an object from front to end, prefetching some pieces.
#ifndef CAPSTAN_OBJECTSTORE_RANGE_READER_H_
#define CAPSTAN_OBJECTSTORE_RANGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/base/background.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

struct RangeReaderOptions {
  uint64_t piece_bytes = uint64_t{8} << 20;
  size_t at_once = 4;  // At least 1: how many pieces are being read ahead of the one in use.
};

// Each piece is a request of its own, which the store retries by itself, so that a timeout never
// affects more than a piece. The reader's memory is at_once + 1 pieces, however long the range is.
// All pieces are of one version. A range of one piece is read by the caller's thread itself.
// Thread-compatible.
class RangeReader {
 public:
  // Reads [begin, begin + length) of the object. `store` must outlive this object.
  RangeReader(ObjectStore& store, std::string key, uint64_t begin, uint64_t length,
              const RangeReaderOptions& options = {});

  // Returns the next piece; an empty one if there are no more. Errors are those of
  // ObjectStore::Read: OUT_OF_RANGE: the object ends before the range; ABORTED: the object was
  // replaced meanwhile. Must not be called after an error.
  absl::StatusOr<std::string> Next();

  // Returns the size of the whole object. REQUIRES: Next() has returned a piece that is not empty.
  uint64_t object_bytes() const { return object_bytes_; }

 private:
  struct Piece {
    ReadRange range;
    absl::StatusOr<Object> object = absl::UnknownError("under way");
    std::unique_ptr<Background::Work> work = {};
  };

  ReadRange TakeRange();
  void BeginPieces();

  ObjectStore& store_;
  const std::string key_;
  const RangeReaderOptions options_;
  uint64_t at_;  // Where the next piece to be read begins.
  const uint64_t end_;
  ObjectVersion version_;
  uint64_t object_bytes_ = 0;
  Threads threads_;
  std::deque<std::unique_ptr<Piece>> under_way_;
};

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_RANGE_READER_H_
