// Reads a long range of an object from front to end, some pieces ahead of the caller.
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
  size_t at_once = 4;  // At least 1: so many pieces are being read beside the one in use.
};

// Each piece is a request of its own, which the store repeats by itself if need be, so that a
// timeout never concerns more than a piece. The reader's memory is at_once + 1 pieces, however long
// the range is. All pieces are of one version. A range of one piece is read by the caller's thread
// alone. Thread-compatible.
class RangeReader {
 public:
  // Reads [begin, begin + length) of the object. `store` must outlive this object.
  RangeReader(ObjectStore& store, std::string key, uint64_t begin, uint64_t length,
              const RangeReaderOptions& options = {});

  // Returns the next piece; empty: there is no more. Errors as of ObjectStore::Read: OUT_OF_RANGE:
  // the object ends before the range; ABORTED: the object was replaced meanwhile. Not to be called
  // after an error.
  absl::StatusOr<std::string> Next();

  // The size of the whole object. REQUIRES: a piece that is not empty was given.
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
