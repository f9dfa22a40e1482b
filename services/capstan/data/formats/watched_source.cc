#include "capstan/data/formats/watched_source.h"

#include <utility>

#include "capstan/base/status.h"

namespace capstan {

// A read is under way as long as this object exists.
class WatchedSource::Mark {
 public:
  Mark(const WatchedSource& source, const std::string& file) : source_(source) {
    absl::MutexLock lock(&source_.mu_);
    ++source_.reads_;
    source_.file_ = file;
  }
  ~Mark() {
    absl::MutexLock lock(&source_.mu_);
    source_.file_.clear();
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  const WatchedSource& source_;
};

class WatchedSource::Stream : public ByteStream {
 public:
  Stream(const WatchedSource& source, std::string file, std::unique_ptr<ByteStream> stream)
      : source_(source), file_(std::move(file)), stream_(std::move(stream)) {}

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    const Mark mark(source_, file_);
    return stream_->Read(buffer);
  }

 private:
  const WatchedSource& source_;
  const std::string file_;
  const std::unique_ptr<ByteStream> stream_;
};

absl::StatusOr<std::vector<FileInfo>> WatchedSource::List(const std::string& pattern) const {
  const Mark mark(*this, pattern);
  return source_->List(pattern);
}

absl::StatusOr<FileInfo> WatchedSource::Find(const std::string& path) const {
  const Mark mark(*this, path);
  return source_->Find(path);
}

absl::StatusOr<std::unique_ptr<ByteStream>> WatchedSource::Open(const std::string& path,
                                                                uint64_t offset,
                                                                uint64_t likely_end) const {
  const Mark mark(*this, path);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                           source_->Open(path, offset, likely_end));
  return std::make_unique<Stream>(*this, path, std::move(stream));
}

std::optional<ReadUnderWay> WatchedSource::under_way() const {
  absl::MutexLock lock(&mu_);
  if (file_.empty()) return std::nullopt;
  return ReadUnderWay{reads_, file_, source_->Trouble()};
}

}  // namespace capstan
