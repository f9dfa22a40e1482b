// What the tests of the data library share: short ways to write and read files.
#ifndef TESTS_UNIT_DATA_FILES_H_
#define TESTS_UNIT_DATA_FILES_H_

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {

std::string Gzip(std::string_view text);
std::string Zstd(std::string_view text);
std::string ReadFile(const std::string& path);

// Everything a stream holds.
absl::StatusOr<std::string> ReadAll(ByteStream& stream);

// Gives out a text in pieces of at most `piece` bytes.
std::unique_ptr<ByteStream> NewTextStream(std::string text, size_t piece);
// Where one text is every file. `text` must outlive it.
std::unique_ptr<const Source> NewTextSource(std::string_view text);

// Local files, and how many of their bytes are read. Thread-safe.
class MeteredFiles : public Source {
 public:
  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override;
  absl::StatusOr<FileInfo> Find(const std::string& path) const override;
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override;
  uint64_t bytes() const { return bytes_; }

 private:
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  mutable std::atomic<uint64_t> bytes_ = 0;
};

// A csv of one file: the label in column 0, the others as said.
v1::DataSpec CsvSpec(const std::string& path, std::vector<uint32_t> numeric,
                     std::vector<uint32_t> categorical);

// Options of a reader of `data`, which is derived first; batches of 4, logistic loss.
absl::StatusOr<ReaderOptions> Derived(v1::DataSpec data);

// The records of all training tasks, task by task, in the order of training.
absl::StatusOr<std::vector<Batch>> ReadTasks(const ReaderOptions& options,
                                             const std::vector<v1::Task>& tasks,
                                             Split split = Split::kTrain);

// The same joined to one batch, with tasks planned for `options`.
absl::StatusOr<Batch> ReadEverything(const ReaderOptions& options, Split split = Split::kTrain);

Batch Join(const std::vector<Batch>& batches);

// The folder of real data, or empty with a loud line on stderr.
std::string RealData(const std::string& file);

}  // namespace capstan

#endif  // TESTS_UNIT_DATA_FILES_H_
