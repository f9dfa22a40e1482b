// Remembers where compressed files can be restarted, so that a reader that wants their records in
// any order does not read each file from its front each time.
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

// Keeps points in the content of each file that is read through this object, as many as there is
// room for, with the first record that begins at or behind each of them. When there are too many
// points, every other one is forgotten, and from then on they lie twice as far apart. A record
// beyond what has been read is reached from the last point. So reading all records of a file in any
// order costs one pass over it, and for each jump about half of the distance between two points.
//
// A file that has changed just before a point is read from its front. Thread-compatible.
class RestartPoints : private RestartKeeper {
 public:
  struct Limits {
    // Decompressed bytes between two points, until there are too many. The pieces of which a
    // shuffled task of a large file is made have about as many.
    uint64_t distance = uint64_t{512} << 10;
    size_t points = 512;  // For all files together: 20 MiB.
  };

  RestartPoints() : RestartPoints(Limits()) {}
  explicit RestartPoints(const Limits& limits) : limits_(limits) {}
  RestartPoints(const RestartPoints&) = delete;
  RestartPoints& operator=(const RestartPoints&) = delete;

  // The contents of a file from the begin of a record on.
  struct Start {
    std::unique_ptr<ByteStream> contents;
    uint64_t record = 0;
    // Where `contents` begins in the decompressed content. 0: at the front of the file, also if a
    // header stands before the first record.
    uint64_t offset = 0;
  };
  // Opens the file at the nearest known begin of a record at or before `record`. The stream that
  // was opened before must not be read any more, and this object must outlive the new one.
  absl::StatusOr<Start> Open(const Source& source, const std::string& path, uint64_t record);

  // Must be called for each record that the reader passes: `record` begins at byte `offset` of the
  // content of the file opened last. Costs next to nothing, except for the first record behind a
  // new point.
  void Mark(uint64_t record, uint64_t offset) {
    if (offset >= unmarked_) MarkPoints(record, offset);
  }

  // Returns whether a reader that stands at byte `offset` of the content, before `record`, should
  // call Open again: the nearest point is then at least the distance of two points ahead of it.
  bool IsNearer(const std::string& path, uint64_t record, uint64_t offset) const;

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Point {
    RestartPoint restart;
    // The first record that begins at the point or behind it; kNone: not known yet.
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
  std::string path_;           // The file opened last.
  uint64_t unmarked_ = kNone;  // The first of its points whose record is not known yet.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_RESTART_POINTS_H_
