// Says which read of a file is under way, so that others can see one that does not return: of a
// file server that is gone, for instance, against which no system call has a time limit.
#ifndef CAPSTAN_DATA_FORMATS_WATCHED_SOURCE_H_
#define CAPSTAN_DATA_FORMATS_WATCHED_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// Opening a file, or reading a piece of it. Another one has another number.
struct ReadUnderWay {
  uint64_t number = 0;
  std::string file;
  std::string why = {};  // What its store answers, if that is tried again; empty: nothing yet.
};

// What one thread reads through it, all may watch.
class WatchedSource : public Source {
 public:
  // `source` is owned by this object and by whoever made it.
  explicit WatchedSource(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override;
  absl::StatusOr<FileInfo> Find(const std::string& path) const override;
  // The stream must not outlive this object.
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override;
  std::string Trouble() const override { return source_->Trouble(); }
  void Cancel() const override { source_->Cancel(); }

  // Nothing: the thread is not waiting for a file.
  std::optional<ReadUnderWay> under_way() const;

 private:
  class Stream;
  class Mark;

  const std::shared_ptr<const Source> source_;
  mutable absl::Mutex mu_;
  mutable uint64_t reads_ ABSL_GUARDED_BY(mu_) = 0;
  mutable std::string file_ ABSL_GUARDED_BY(mu_);  // Empty: none is being read.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_WATCHED_SOURCE_H_
