// Records which read of a file is under way, so that another thread can detect a read that does not
// return, for instance because a file server is gone: system calls have no timeout for that.
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

// The opening of a file, or the reading of a piece of it. Each has a unique number.
struct ReadUnderWay {
  uint64_t number = 0;
  std::string file;
  std::string why =
      {};  // What the store has answered, if the read is being retried; empty otherwise.
};

// One thread reads through this object; under_way() may be called from any thread.
class WatchedSource : public Source {
 public:
  // `source` is shared by this object and its creator.
  explicit WatchedSource(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override;
  absl::StatusOr<FileInfo> Find(const std::string& path) const override;
  // The stream must not outlive this object.
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override;
  std::string Trouble() const override { return source_->Trouble(); }
  void Cancel() const override { source_->Cancel(); }

  // Returns the read in which the reading thread is; nullopt if it is in none.
  std::optional<ReadUnderWay> under_way() const;

 private:
  class Stream;
  class Mark;

  const std::shared_ptr<const Source> source_;
  mutable absl::Mutex mu_;
  mutable uint64_t reads_ ABSL_GUARDED_BY(mu_) = 0;
  mutable std::string file_ ABSL_GUARDED_BY(mu_);  // Empty if none is being read.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_WATCHED_SOURCE_H_
