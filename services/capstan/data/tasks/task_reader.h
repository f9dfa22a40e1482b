// Reads a task and cuts it into batches.
#ifndef CAPSTAN_DATA_TASKS_TASK_READER_H_
#define CAPSTAN_DATA_TASKS_TASK_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/bad_records.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/dictionary_keys.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/data/tasks/batch_cut.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

class Candidates;
class TaskImages;

// The negatives that are drawn for the batches of a task. A value type.
struct NegativeDraws {
  // Shared by all tasks and their reader. Null: no negatives are drawn.
  std::shared_ptr<const Candidates> candidates;
  uint64_t seed = 0;
  uint64_t stream = 0;  // Identifies the task and its epoch.
};

// The records of one task in memory, in the order in which they are trained. Immutable once
// PackKeys() was called, or if it is not called; therefore thread-safe.
class LoadedTask {
 public:
  // `records` in file order; `order` is empty (file order) or a permutation. `bad_records`: the
  // records of the task that could not be parsed and are not in `records`.
  LoadedTask(Batch records, BadRecords bad_records, std::vector<uint32_t> order, BatchCut cut);
  // The same for a task whose dense input is decoded from `images`, which has one image per record.
  LoadedTask(Batch records, std::unique_ptr<const TaskImages> images, BadRecords bad_records,
             std::vector<uint32_t> order, BatchCut cut, NegativeDraws negatives = {});
  ~LoadedTask();

  // Stores the keys of the records as DictionaryKeys from now on, if that saves memory. Batches do
  // not change. REQUIRES: was not called before.
  void PackKeys();

  uint64_t examples() const { return records_.examples(); }
  uint64_t batch_count() const;
  // Returns the size in bytes of the records and their order, without images.
  uint64_t bytes() const;
  const BadRecords& bad_records() const { return bad_records_; }
  // Returns the values of the label with index `place`, in file order, of the records that have
  // this label. REQUIRES: the data have such a label.
  std::vector<float> LabelsAt(size_t place) const;

  // Replaces `batch`, whose memory is reused, by batch `k` of the cut. INVALID_ARGUMENT: an image
  // of the batch cannot be decoded; the message names its place. REQUIRES: k < batch_count().
  absl::Status ReadBatch(uint64_t k, Batch& batch) const;

 private:
  // Empties `batch`, and reserves memory for the records with the indexes [first, end) of the
  // order.
  void Clear(size_t first, size_t end, Batch& batch) const;
  size_t RecordAt(size_t place) const { return order_.empty() ? place : order_[place]; }
  // Returns how many keys the records with the indexes [first, end) of the order have. `offsets`:
  // where the keys of each record begin, and where those of the last one end.
  size_t KeysOf(size_t first, size_t end, const std::vector<uint32_t>& offsets) const;
  void AppendBag(size_t feature, size_t record, Batch& batch) const;

  Batch records_;                                    // Without the keys that are packed.
  std::optional<DictionaryKeys> keys_;               // The packed keys of the records, if any.
  std::vector<std::optional<DictionaryKeys>> bags_;  // The packed keys of each of their bags.
  std::unique_ptr<const TaskImages> images_;         // Null if the records have no images.
  BadRecords bad_records_;
  std::vector<uint32_t> order_;
  BatchCut cut_;
  NegativeDraws negatives_;
};

// Whether each image is decoded once when it is read, so that one that cannot be decoded is a bad
// record. kTolerated: only if data.max_bad_records is above 0. Without the check, an image that
// cannot be decoded makes its batch fail.
enum class ImageCheck { kTolerated, kAlways, kNever };

struct ReaderOptions {
  v1::DataSpec data;                  // As DeriveDataSpec has filled it in.
  v1::Loss loss = v1::LOSS_LOGISTIC;  // Determines which labels are valid.
  uint32_t classes = 1;               // softmax: labels are 0 .. classes - 1.
  // kIgnored: for text formats, Parquet, and images in tar, TFRecord and folders only.
  Labels labels = Labels::kRequired;
  ImageCheck images = ImageCheck::kTolerated;
  uint32_t batch_size = 1;
  bool shares_end = false;  // BatchCut::shares_end.
  uint64_t seed = 0;
  // The vocabularies of data.features. If empty, the TaskReader reads them itself.
  Vocabularies vocabularies = {};
};

ReaderOptions ReaderOptionsOf(const v1::JobSpec& job);

// Reads tasks one after the other. Keeps the decompressor of the last file open, so that the next
// task in the same file need not decompress again what is before it, and remembers where files of
// text and of samples can be restarted (formats/restart_points.h), so that a task elsewhere in the
// file costs little. Keeps one task in memory while it loads. Thread-compatible: each reading
// thread needs its own.
class TaskReader {
 public:
  // `source` must outlive this object.
  TaskReader(ReaderOptions options, const Source& source);
  ~TaskReader();

  struct Load {
    v1::Task task;
    uint32_t data_epoch = 0;
    bool evaluation = false;  // The records are not shuffled, and their groups are read.
    bool packed = false;      // LoadedTask::PackKeys().
  };

  // Every batch is a pure function of (seed, data epoch, task, file). An error names the file and
  // the record or byte: NOT_FOUND, INVALID_ARGUMENT (more bad records in this task than
  // data.max_bad_records), DATA_LOSS (compression, truncation), FAILED_PRECONDITION (the
  // vocabularies of data.features, which are read for the first task, or the candidates of
  // data.negatives, which are read for the first training task, have changed).
  absl::StatusOr<std::shared_ptr<const LoadedTask>> Read(const Load& load);

 private:
  class Impl;
  absl::Status Begin();

  ReaderOptions options_;
  const Source& source_;
  std::unique_ptr<Impl> trained_;  // Null before the first task.
  // Reads evaluation tasks, with groups. Null if the data have no groups: then trained_ reads all
  // tasks.
  std::unique_ptr<Impl> judged_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASK_READER_H_
