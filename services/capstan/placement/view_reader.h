// Restores whole views from the messages of a stream, which are whole views or differences.
#ifndef CAPSTAN_PLACEMENT_VIEW_READER_H_
#define CAPSTAN_PLACEMENT_VIEW_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// Reads one stream; another stream, even of the same chief, needs a new reader. Thread-compatible.
class ViewReader {
 public:
  // `most_bytes`: the size limit, as a message, of views that are restored from differences.
  explicit ViewReader(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Returns the view of the next message of the stream. After an error the stream is unusable: the
  // watcher must end it and watch anew. FAILED_PRECONDITION: the message is a difference to another
  // view than the last one of this stream. Other errors are those of ApplyDifference.
  absl::StatusOr<v1::View> Read(v1::View message);

 private:
  size_t most_bytes_;
  bool begun_ = false;  // A whole view has been received.
  v1::View last_;       // The last view.
};

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_VIEW_READER_H_
