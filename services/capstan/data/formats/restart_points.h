// Remembers where compressed files can be restarted, so that a reader of their records in random
// order does not decompress each file from its beginning each time.
#ifndef CAPSTAN_DATA_FORMATS_RESTART_POINTS_H_
#define CAPSTAN_DATA_FORMATS_RESTART_POINTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// Keeps points in the content of each file that is read through this object, as many as fit, with
// the first record that begins at or after each of them. When there are too many points, every
// other one is dropped, and from then on their distance is doubled. A record beyond what has been
// read is reached from the last point. So reading all records of a file in any order costs one pass
// over it, plus about half of the distance between two points for each jump.
//
// A file that has changed just before a point is read from its beginning. Thread-compatible.
class RestartPoints : private RestartKeeper {
 public:
  struct Limits {
    // Decompressed bytes between two points, until there are too many. The pieces that make up a
    // shuffled task of a large file have about this size.
    uint64_t distance = uint64_t{512} << 10;
    size_t points = 512;  // For all files together: 20 MiB.
  };

  RestartPoints() : RestartPoints(Limits()) {}
  explicit RestartPoints(const Limits& limits) : limits_(limits) {}
  RestartPoints(const RestartPoints&) = delete;
  RestartPoints& operator=(const RestartPoints&) = delete;

  // The content of a file, beginning with a record.
  struct Start {
    std::unique_ptr<ByteStream> contents;
    uint64_t record = 0;
    // The position of `contents` in the decompressed content. 0: the beginning of the file, even if
    // there is a header before the first record.
    uint64_t offset = 0;
  };
  // Opens the file at the nearest known beginning of a record at or before `record`. The stream
  // that was opened before must not be read any more, and this object must outlive the new one.
  absl::StatusOr<Start> Open(const Source& source, const std::string& path, uint64_t record);

  // Must be called for each record that the reader passes: `record` begins at byte `offset` of the
  // content of the file that was opened last. Costs very little, except for the first record after
  // a new point.
  void Mark(uint64_t record, uint64_t offset) {
    if (offset >= unmarked_) MarkPoints(record, offset);
  }

  // Returns true if a reader at byte `offset` of the content, before `record`, should call Open
  // again: the nearest point is at least the distance of two points ahead of it.
  bool IsNearer(const std::string& path, uint64_t record, uint64_t offset) const;

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Point {
    RestartPoint restart;
    // The first record that begins at the point or after it; kNone: not known yet.
    uint64_t record = kNone;
    uint64_t offset = 0;
  };
  struct File {
    Compression compression = Compression::kNone;
    std::map<uint64_t, Point> points;  // By their byte of the content.
  };

  bool Wants(uint64_t content) const override;
  void Keep(RestartPoint point) override;
  void MarkPoints(uint64_t record, uint64_t offset);
  void Forget(const std::string& path);
  void ForgetUnmarked();
  void ThinOut();
  const Point* Nearest(const std::string& path, uint64_t record) const;
  absl::StatusOr<Start> OpenFront(const Source& source, const std::string& path);

  Limits limits_;
  std::map<std::string, File> files_;
  size_t count_ = 0;           // How many points are kept.
  std::string path_;           // The file that was opened last.
  uint64_t unmarked_ = kNone;  // The first of its points whose record is not known yet.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_RESTART_POINTS_H_
