// Where compressed files that have been read can be restarted, so that whoever wants their records
// in any order does not read each file from its front each time.
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

// Remembers, of the files that are read through it, a point every few MiB of their content, with
// the record that begins behind it. Where the points are too many, every other one is forgotten,
// and from then on they lie twice as far apart. A record that lies beyond all that has been read is
// come to from the last point; so all records of a file in any order cost one pass over it, and for
// each jump to one about half of the distance between two points.
//
// A file that is not the same any more at a point is read from its front. Thread-compatible.
class RestartPoints : private RestartKeeper {
 public:
  struct Limits {
    uint64_t distance = uint64_t{4} << 20;  // Between two points, of content.
    size_t points = 512;                    // For all files together: 20 MiB.
  };

  RestartPoints() : RestartPoints(Limits()) {}
  explicit RestartPoints(const Limits& limits) : limits_(limits) {}
  RestartPoints(const RestartPoints&) = delete;
  RestartPoints& operator=(const RestartPoints&) = delete;

  // The contents of a file from the begin of a record on.
  struct Start {
    std::unique_ptr<ByteStream> contents;
    uint64_t record = 0;
    uint64_t offset =
        0;  // In the content. 0: from the front, whatever stands before the first record.
  };
  // The nearest known begin of a record at or before `record`. The stream that was opened before
  // must not be read any more, and this object must outlive the new one.
  absl::StatusOr<Start> Open(const Source& source, const std::string& path, uint64_t record);

  // To be told of each record that is gone by: `record` begins at `offset` of the content of the
  // file opened last. Costs next to nothing but behind a new point.
  void Mark(uint64_t record, uint64_t offset) {
    if (offset >= unmarked_) MarkPoints(record, offset);
  }

  // Whether Open would begin so much nearer to `record` that it is worth it, for one who stands at
  // `offset` of the content of the file, before that record.
  bool IsNearer(const std::string& path, uint64_t record, uint64_t offset) const;

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  struct Point {
    RestartPoint restart;
    uint64_t record = kNone;  // That begins at `offset`, the first one at the point or behind it.
    uint64_t offset = 0;
  };
  struct File {
    Compression compression = Compression::kNone;
    std::map<uint64_t, Point> points;  // By their place in the content.
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
