// The data of the simulated job: a text file whose records are sorted by their labels, each named
// by its number. Some lines are no records.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_SORTED_FILE_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_SORTED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan::sim {

// Every path is this file. Immutable.
class SortedFile final : public Source {
 public:
  struct Options {
    uint32_t ranges = 1;  // Of 2 to 4 batches each.
    uint32_t batch_size = 1;
    bool bad_lines = true;
  };
  explicit SortedFile(const Options& options);

  uint64_t records() const { return records_; }
  uint64_t bad_records() const { return bad_records_; }

  // The first ranges of the file, as the chief's plan has them.
  std::vector<v1::Task> Ranges(const std::string& path, uint32_t count) const;

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override;
  absl::StatusOr<FileInfo> Find(const std::string& path) const override;
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override;

 private:
  std::string text_;
  std::vector<v1::Task> ranges_;
  uint64_t records_ = 0;
  uint64_t bad_records_ = 0;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_SORTED_FILE_H_
