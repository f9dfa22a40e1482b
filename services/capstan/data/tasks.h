// The data of a job as tasks: ranges of records that one member trains on at a time.
//
// A plain text file is cut by bytes: a record belongs to the range in which its first byte lies.
// Compressed, idx and synthetic data is cut by records; in compressed text a record is a line after
// the header, blank ones included, so that record and line numbers agree. A compressed text file
// below kCountedBytes is read once to count its records. For a larger one the count is estimated
// from its front and tasks are laid beyond the estimate; such tasks may turn out short or empty,
// and the last one is open-ended.
#ifndef CAPSTAN_DATA_TASKS_H_
#define CAPSTAN_DATA_TASKS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

inline constexpr uint64_t kCountedBytes = uint64_t{256} << 20;
inline constexpr uint64_t kToTheEnd = ~uint64_t{0};

enum class Split { kTrain, kEval };

// Fills in what only the files tell: `columns` (csv, tsv), `fields` and `dense_width`,
// `image_shape` (idx) and the `numeric_scale`, from the first training file (or evaluation file, if
// nothing is trained). Fields that are set are checked instead. To be called once, by whoever plans
// the job, before the model is laid out. Errors name the file.
absl::Status DeriveDataSpec(const Source& source, v1::DataSpec& data);

struct PlanOptions {
  Split split = Split::kTrain;
  uint32_t batch_size = 1;  // Ranges of records are multiples of it.
};

// All tasks of a split, in order of the files; task.index is the place in the result, and
// task.expected_records is exact for ranges of counted records, otherwise an estimate. Sizes are
// those of `task_bytes` and `task_records`; where these are 0, they are chosen so that even small
// data makes at least 8 tasks, as long as each holds a batch. NOT_FOUND: no such file.
// INVALID_ARGUMENT: no data at all.
absl::StatusOr<std::vector<v1::Task>> PlanTasks(const Source& source, const v1::DataSpec& data,
                                                const PlanOptions& options);

// Sum of expected_records.
uint64_t EstimateRecords(std::span<const v1::Task> tasks);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_H_
