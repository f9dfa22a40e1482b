// Reads bytes at any position of a file.
#ifndef CAPSTAN_DATA_PARQUET_RANGED_FILE_H_
#define CAPSTAN_DATA_PARQUET_RANGED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan::parquet {

// Reads forward in one stream as long as the wanted bytes are at most kMostPassed bytes ahead, and
// otherwise opens a new stream. Thread-compatible.
class RangedFile {
 public:
  static constexpr uint64_t kMostPassed = uint64_t{256} << 10;

  // `source` must outlive this object.
  RangedFile(const Source& source, FileInfo file) : source_(source), file_(std::move(file)) {}

  // A hint: the bytes that will be read are before byte `end`.
  void Expect(uint64_t end) { likely_end_ = end; }

  // Returns `most` bytes beginning at `offset`, or fewer if the file ends before. Valid until the
  // next call. REQUIRES: offset <= bytes().
  absl::StatusOr<std::string_view> Peek(uint64_t offset, size_t most);

  // Replaces `bytes` by `size` bytes beginning at `offset`. Never allocates much more memory than
  // it has read from the file. DATA_LOSS: the file ends before.
  absl::Status Read(uint64_t offset, uint64_t size, std::vector<char>& bytes);

  uint64_t bytes() const { return file_.bytes; }
  const std::string& path() const { return file_.path; }

 private:
  absl::Status Seek(uint64_t offset);
  absl::StatusOr<size_t> Fill(char* to, size_t size);

  const Source& source_;
  const FileInfo file_;
  uint64_t likely_end_ = Source::kToTheEnd;
  std::unique_ptr<ByteStream> stream_;
  uint64_t at_ = 0;           // The position in the file of the stream's next byte.
  std::vector<char> window_;  // The bytes of the file just before at_.
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_RANGED_FILE_H_
