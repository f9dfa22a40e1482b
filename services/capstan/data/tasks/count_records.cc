#include "capstan/data/tasks/count_records.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/line_reader.h"

namespace capstan {
namespace {

// Counts the bytes that pass. Thread-compatible.
class CountingSource : public Source {
 public:
  explicit CountingSource(const Source& source) : source_(source) {}

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    return source_.List(pattern);
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

}  // namespace

absl::StatusOr<uint64_t> CountRecords(const Source& source, const std::string& path,
                                      Compression compression, bool header) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents,
                           OpenContents(source, path, compression, Source::kToTheEnd));
  LineReader lines(path, std::move(contents), 0);
  std::string_view line;
  uint64_t count = 0;
  while (lines.Next(line)) ++count;
  CAPSTAN_RETURN_IF_ERROR(lines.status());
  return header && count > 0 ? count - 1 : count;
}

absl::StatusOr<RecordSample> SampleRecords(const Source& source, const std::string& path,
                                           Compression compression, bool header,
                                           uint64_t text_bytes) {
  CountingSource counted(source);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents,
                           OpenContents(counted, path, compression, text_bytes));
  LineReader lines(path, std::move(contents), 0);
  std::string_view line;
  if (header) lines.Next(line);
  const uint64_t begin = lines.next_offset();
  RecordSample sample;
  while (lines.next_offset() < text_bytes && lines.Next(line)) ++sample.records;
  CAPSTAN_RETURN_IF_ERROR(lines.status());
  sample.bytes = static_cast<double>(compression == Compression::kNone ? lines.next_offset() - begin
                                                                       : counted.bytes());
  return sample;
}

}  // namespace capstan
