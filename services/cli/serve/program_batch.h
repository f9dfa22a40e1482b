// A batch as a user's program is given it: the records, and the rows of their keys.
#ifndef CAPSTAN_CLI_SERVE_PROGRAM_BATCH_H_
#define CAPSTAN_CLI_SERVE_PROGRAM_BATCH_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "capstan/data/feed/deduplicate.h"
#include "capstan/data/formats/batch.h"
#include "capstan/v1/job.pb.h"
#include "cli/model/finished_model.h"

namespace capstan::cli {

// Immutable.
class ProgramBatch {
 public:
  // Both must outlive this object. REQUIRES: the batch has an example.
  ProgramBatch(const FinishedModel& model, const Batch& batch);

  // The parts of its message: the numbers of the records (float32), the values of their keys
  // (float32; none: all are 1), where the keys of each of data.features begin in its table's index
  // (uint64); of each feature the offsets (uint32, examples + 1) and the weights of its keys
  // (float32; none: all are 1), or the offsets of whole records alone; and of each table, of which
  // there is one at least, the distinct keys (uint64), the index (uint32, a key's place among
  // these) and their rows (float32).
  std::vector<std::string_view> parts() const;

 private:
  struct OfTable {
    UniqueKeys keys;
    std::vector<float> rows;
  };
  std::vector<uint64_t> KeysOf(const v1::JobSpec& job, int table);

  const Batch& batch_;
  std::vector<uint64_t> begins_;
  std::vector<OfTable> tables_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_PROGRAM_BATCH_H_
