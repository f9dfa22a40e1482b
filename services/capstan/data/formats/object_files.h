// Files that are objects of a store.
#ifndef CAPSTAN_DATA_FORMATS_OBJECT_FILES_H_
#define CAPSTAN_DATA_FORMATS_OBJECT_FILES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

// Opens the whole bucket "s3://<bucket>". Called once a bucket.
using BucketOpener =
    std::function<absl::StatusOr<std::unique_ptr<ObjectStore>>(const std::string& uri)>;

// Objects as files named s3://bucket/key. In a pattern "*", "?" and "[...]" match within a name,
// not across "/"; what stands before them is listed in whole.
std::unique_ptr<const Source> NewObjectFiles(BucketOpener open);

// The bytes of an object from `offset` on, all of one version: a change while they are read is
// ABORTED. `name` is for messages. Asks for the first piece at once, and reads ahead, in a few
// pieces at once: at most (kMostAhead + 1) * kMostPiece bytes are held. Where the end is known,
// pieces are of kMostPiece, and the last one ends kRecordTail later (of a shorter range, as much
// again), so that the record that crosses the end needs no request of its own; where it is not,
// they grow from kFirstPiece, as the reader may want no more than a few lines. `store` must outlive
// the result.
inline constexpr uint64_t kFirstPiece = uint64_t{256} << 10;
inline constexpr uint64_t kMostPiece = uint64_t{4} << 20;
inline constexpr uint64_t kRecordTail = uint64_t{32} << 10;
inline constexpr size_t kMostAhead = 4;
std::unique_ptr<ByteStream> NewObjectStream(ObjectStore& store, std::string key, std::string name,
                                            uint64_t offset, uint64_t likely_end);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_OBJECT_FILES_H_
