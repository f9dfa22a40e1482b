#include "capstan/data/tasks/count_records.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/line_reader.h"
#include "capstan/data/formats/samples.h"

namespace capstan {
namespace {

// A Source that counts the bytes read through it. Thread-compatible.
class CountingSource : public Source {
 public:
  explicit CountingSource(const Source& source) : source_(source) {}

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    return source_.List(pattern);
  }

  absl::StatusOr<FileInfo> Find(const std::string& path) const override {
    return source_.Find(path);
  }

  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override {
    bytes_ = 0;
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                             source_.Open(path, offset, likely_end));
    return std::make_unique<Stream>(std::move(stream), bytes_);
  }

  uint64_t bytes() const { return bytes_; }  // Since a file was last opened.

 private:
  class Stream : public ByteStream {
   public:
    Stream(std::unique_ptr<ByteStream> stream, uint64_t& bytes)
        : stream_(std::move(stream)), bytes_(bytes) {}
    absl::StatusOr<size_t> Read(std::span<char> buffer) override {
      CAPSTAN_ASSIGN_OR_RETURN(size_t n, stream_->Read(buffer));
      bytes_ += n;
      return n;
    }

   private:
    const std::unique_ptr<ByteStream> stream_;
    uint64_t& bytes_;
  };

  const Source& source_;
  mutable uint64_t bytes_ = 0;
};

// Iterates over the records of a file, text or samples. Thread-compatible.
class Passage {
 public:
  Passage(const std::string& path, const v1::DataSpec& data, std::unique_ptr<ByteStream> contents) {
    if (IsSampleFormat(data.format())) {
      samples_ = NewSampleStream(data, std::move(contents), {});
      return;
    }
    lines_ = std::make_unique<LineReader>(path, std::move(contents), 0);
    std::string_view names;
    if (data.header()) lines_->Next(names);
  }

  // Advances to the next record. Returns false at the end of the file.
  absl::StatusOr<bool> Next() {
    if (samples_ != nullptr) return samples_->Next(sample_);
    std::string_view line;
    const bool more = lines_->Next(line);
    if (!more) CAPSTAN_RETURN_IF_ERROR(lines_->status());
    return more;
  }

  uint64_t offset() const {
    return samples_ != nullptr ? samples_->offset() : lines_->next_offset();
  }

 private:
  std::unique_ptr<LineReader> lines_;      // Set for text formats.
  std::unique_ptr<SampleStream> samples_;  // Set for formats of samples.
  Sample sample_;
};

}  // namespace

absl::StatusOr<uint64_t> CountRecords(const Source& source, const std::string& path,
                                      Compression compression, const v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents,
                           OpenContents(source, path, compression, Source::kToTheEnd));
  Passage passage(path, data, std::move(contents));
  for (uint64_t count = 0;; ++count) {
    CAPSTAN_ASSIGN_OR_RETURN(const bool more, passage.Next());
    if (!more) return count;
  }
}

absl::StatusOr<RecordSample> SampleRecords(const Source& source, const std::string& path,
                                           Compression compression, const v1::DataSpec& data,
                                           uint64_t content_bytes) {
  CountingSource counted(source);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents,
                           OpenContents(counted, path, compression, content_bytes));
  Passage passage(path, data, std::move(contents));
  const uint64_t begin = passage.offset();
  RecordSample sample;
  while (passage.offset() < content_bytes) {
    CAPSTAN_ASSIGN_OR_RETURN(const bool more, passage.Next());
    if (!more) break;
    ++sample.records;
  }
  sample.bytes = static_cast<double>(compression == Compression::kNone ? passage.offset() - begin
                                                                       : counted.bytes());
  return sample;
}

}  // namespace capstan
