// Reads files that are objects of a store.
#ifndef CAPSTAN_DATA_FORMATS_OBJECT_FILES_H_
#define CAPSTAN_DATA_FORMATS_OBJECT_FILES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

// Opens the whole bucket "s3://<bucket>". Called once for each bucket.
using BucketOpener =
    std::function<absl::StatusOr<std::unique_ptr<ObjectStore>>(const std::string& uri)>;

// Returns a source of objects as files named s3://bucket/key. In a pattern "*", "?" and "[...]"
// match within a name, not across "/"; all objects that begin with the text before them are listed.
// Hidden names (IsHidden of glob_pattern.h) are omitted.
std::unique_ptr<const Source> NewObjectFiles(BucketOpener open);

// Returns the bytes of an object beginning at `offset`, all of one version. ABORTED: the object has
// changed while it was read. `name` is for messages. The first piece is requested at once, and up
// to kMostAhead pieces ahead of the reader: at most (kMostAhead + 1) * kMostPiece bytes are in
// memory. If `likely_end` is known, pieces have kMostPiece bytes, and the last one ends kRecordTail
// after it (a range shorter than kRecordTail is doubled instead), so that the record that crosses
// the end needs no request of its own. Otherwise pieces grow from kFirstPiece, as the reader may
// want only a few lines. `store` must outlive the result.
inline constexpr uint64_t kFirstPiece = uint64_t{256} << 10;
inline constexpr uint64_t kMostPiece = uint64_t{4} << 20;
inline constexpr uint64_t kRecordTail = uint64_t{32} << 10;
inline constexpr size_t kMostAhead = 4;
std::unique_ptr<ByteStream> NewObjectStream(ObjectStore& store, std::string key, std::string name,
                                            uint64_t offset, uint64_t likely_end);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_OBJECT_FILES_H_
