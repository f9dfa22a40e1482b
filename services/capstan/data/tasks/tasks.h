// The data of a job as tasks: ranges of records, on one of which a trainer works at a time.
//
// A plain text file is cut by bytes: a record belongs to the range that contains its first byte.
// Plain tar and TFRecord files (formats/samples.h) are cut in the same way. A folder of images is
// cut by the indexes of its files in their order; a range names the folder of one class, so that
// only the process that plans the job has to list all folders. Compressed, idx, Parquet and
// synthetic data are cut by records, Parquet at the ends of row groups if these are not larger than
// a task; in compressed text a record is a line after the header, including blank ones, so that
// record and line numbers agree. Compressed text is read once to count its records, as long as it
// has at most kCountedBytes in the whole split, in at most kMostSampled files. Beyond these limits
// the records of a file are estimated from its beginning; if more than kMostSampled files are not
// counted, the size of a record is measured in kMostSampled of them, evenly distributed, and
// assumed for all others. Tasks are planned beyond the estimate: such tasks may turn out to be
// short or empty, and the last one is open-ended.
#ifndef CAPSTAN_DATA_TASKS_TASKS_H_
#define CAPSTAN_DATA_TASKS_TASKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

inline constexpr uint64_t kCountedBytes = uint64_t{256} << 20;
inline constexpr size_t kMostSampled = 1024;

// The value of task.file for synthetic data.
inline constexpr char kSyntheticTrain[] = "synthetic:train";
inline constexpr char kSyntheticEval[] = "synthetic:eval";

enum class Split { kTrain, kEval };

// Fills in the fields of `data` that depend on the files, from the first training file (or
// evaluation file, if nothing is trained): the columns that the schema names, `columns`, `fields`
// and `dense_width` (csv, tsv, Parquet, idx, images, synthetic), `image_shape` (idx, images),
// `label_classes` (folder), `numeric_scale` if it is 0, and what is known of the candidates of
// `negatives` and of the vocabularies of `features`. Must be called once, by the process that plans
// the job, before the model is laid out. INVALID_ARGUMENT: the first file does not fit the schema,
// or the file of the candidates, or of a vocabulary, is malformed.
absl::Status DeriveDataSpec(const Source& source, v1::DataSpec& data);

struct PlanOptions {
  Split split = Split::kTrain;
  uint32_t batch_size = 1;
  Labels labels = Labels::kRequired;
  // The most bytes of compressed text that are read to count records.
  uint64_t counted_bytes = kCountedBytes;
  // Called at intervals, from any thread: `done` of `files` files have been examined.
  std::function<void(size_t done, size_t files)> progress = nullptr;
};

// Returns the ranges of a split, in the order of its files. Their expected records are exact if
// they are counted, otherwise an estimate. data.task_bytes and data.task_records give the size of a
// range. If these are 0, the size is chosen so that even small data have at least 8 ranges, as long
// as each contains a batch; the lengths of ranges of records are then multiples of the batch,
// except at the end of a row group of Parquet. A split that names no files has no ranges.
// NOT_FOUND: no such file. INVALID_ARGUMENT: no data.
absl::StatusOr<TaskRanges> PlanTasks(const Source& source, const v1::DataSpec& data,
                                     const PlanOptions& options);

// Returns true if PlanTasks would return `ranges` for the present files of the split. Only the
// names and lengths of the files are compared; no file is opened. Also returns false if these are
// not sufficient: for synthetic data and folders of images, which are planned without opening a
// file, and if ranges.listing() is not known and a range is one of records.
absl::StatusOr<bool> StillFit(const Source& source, const v1::DataSpec& data, Split split,
                              const TaskRanges& ranges);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASKS_H_
