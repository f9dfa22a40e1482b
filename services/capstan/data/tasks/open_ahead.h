// Opens the ranges of a task ahead of their use.
#ifndef CAPSTAN_DATA_TASKS_OPEN_AHEAD_H_
#define CAPSTAN_DATA_TASKS_OPEN_AHEAD_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The streams of a task's ranges of bytes, in their order. While one of them is read the next
// kMostAhead are open, so that an object store, which begins to send when a stream is opened,
// causes one wait, and not one per range. Ranges of records are skipped: a file that can be read
// only from its beginning is kept open between them by its reader. Thread-compatible.
class OpenAhead {
 public:
  static constexpr size_t kMostAhead = 4;

  // `source` must outlive this object.
  OpenAhead(const Source& source, const std::vector<v1::Task>& ranges);

  // Returns where the stream of a range begins: one byte before the range, so that its reader sees
  // whether a record begins exactly there.
  static uint64_t FirstByte(const v1::Task& range) {
    return range.begin() > 0 ? range.begin() - 1 : 0;
  }

  // Returns the stream of the next range of bytes, or the error of opening it. REQUIRES: there is
  // such a range.
  absl::StatusOr<std::unique_ptr<ByteStream>> Next();

 private:
  const Source& source_;
  std::deque<v1::Task> closed_;  // Ranges whose streams were not opened yet.
  std::deque<absl::StatusOr<std::unique_ptr<ByteStream>>> open_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_OPEN_AHEAD_H_
