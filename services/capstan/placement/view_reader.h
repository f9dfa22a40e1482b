// What a stream of views tells: whole views of its messages, which are whole views or differences.
#ifndef CAPSTAN_PLACEMENT_VIEW_READER_H_
#define CAPSTAN_PLACEMENT_VIEW_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// Reads one stream; the next stream, also of the same chief, needs a new reader. Thread-compatible.
class ViewReader {
 public:
  // `most_bytes`: the most that a view may have which differences have made, as a message.
  explicit ViewReader(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Returns the view that the next message of the stream tells. After an error the stream is of no
  // use: its watcher ends it and watches anew. FAILED_PRECONDITION: the message is a difference to
  // another view than the one that this stream told last; otherwise as of ApplyDifference.
  absl::StatusOr<v1::View> Read(v1::View message);

 private:
  size_t most_bytes_;
  bool begun_ = false;  // A whole view has come.
  v1::View last_;       // What the last message told.
};

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_VIEW_READER_H_
