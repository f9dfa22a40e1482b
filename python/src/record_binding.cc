#include "python/src/record_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"
#include "google/protobuf/util/json_util.h"

namespace nb = nanobind;

namespace capstan::python {
namespace {

// Files as the job reads those of its evaluation, and without their labels, a batch at a time.
// Thread-compatible.
class RecordReader {
 public:
  static absl::StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& json,
                                                            const std::string& path) {
    v1::JobSpec job;
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;  // Of later versions.
    if (!google::protobuf::util::JsonStringToMessage(json, &job, options).ok()) {
      return absl::InvalidArgumentError("job.json: not a job");
    }
    v1::DataSpec& data = *job.mutable_data();
    data.clear_eval_sets();
    data.clear_eval();
    data.add_eval(path);
    std::unique_ptr<RecordReader> reader(new RecordReader(job));
    CAPSTAN_ASSIGN_OR_RETURN(reader->tasks_, PlanTasks(*reader->source_, data,
                                                       {.split = Split::kEval,
                                                        .batch_size = job.train().batch_size(),
                                                        .labels = Labels::kIgnored}));
    return reader;
  }

  // Replaces `batch` with the next one. False: there is none any more.
  absl::StatusOr<bool> Next(Batch& batch) {
    while (loaded_ == nullptr || batch_ == loaded_->batch_count()) {
      if (task_ == tasks_.size()) return false;
      CAPSTAN_ASSIGN_OR_RETURN(
          loaded_, reader_.Read({.task = tasks_[task_].ToTask(task_), .evaluation = true}));
      if (loaded_->bad_records().count() > 0) {
        return absl::InvalidArgumentError(loaded_->bad_records().examples().front());
      }
      ++task_;
      batch_ = 0;
    }
    CAPSTAN_RETURN_IF_ERROR(loaded_->ReadBatch(batch_++, batch));
    return true;
  }

 private:
  static ReaderOptions OptionsOf(const v1::JobSpec& job) {
    ReaderOptions options = ReaderOptionsOf(job);
    options.labels = Labels::kIgnored;
    return options;
  }

  explicit RecordReader(const v1::JobSpec& job)
      : source_(NewDataFiles()), reader_(OptionsOf(job), *source_) {}

  const std::unique_ptr<const Source> source_;
  TaskReader reader_;
  TaskRanges tasks_;
  uint32_t task_ = 0;                         // The next one to be loaded.
  std::shared_ptr<const LoadedTask> loaded_;  // Shared with nobody.
  uint64_t batch_ = 0;                        // The next one of it.
};

std::unique_ptr<RecordReader> OpenRecords(const std::string& json, const std::string& path) {
  auto reader = [&] {
    const nb::gil_scoped_release no_lock;
    return RecordReader::Open(json, path);
  }();
  if (!reader.ok()) throw nb::value_error(std::string(reader.status().message()).c_str());
  return *std::move(reader);
}

// Returns a column as an array of NumPy's, which keeps `owner`. What is empty has an address, too.
template <typename T>
nb::object ArrayOf(std::vector<T>& column, std::vector<size_t> shape, nb::handle owner) {
  static T nothing{};
  T* const data = column.empty() ? &nothing : column.data();
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
}

template <typename T>
nb::object ArrayOf(std::vector<T>& column, nb::handle owner) {
  return ArrayOf(column, {column.size()}, owner);
}

// Returns the columns of the batch, which takes it over.
nb::dict ColumnsOf(std::unique_ptr<Batch> batch) {
  Batch& columns = *batch;
  const nb::capsule owner(batch.release(),
                          [](void* of) noexcept { delete static_cast<Batch*>(of); });
  nb::list bags;
  for (Bags& of : columns.features) {
    bags.append(nb::make_tuple(ArrayOf(of.keys, owner), ArrayOf(of.offsets, owner),
                               ArrayOf(of.weights, owner)));
  }
  nb::dict found;
  found["numbers"] = ArrayOf(columns.dense, {columns.examples(), columns.dense_width}, owner);
  found["keys"] = ArrayOf(columns.keys, owner);
  found["offsets"] = ArrayOf(columns.offsets, owner);
  found["values"] = ArrayOf(columns.values, owner);
  found["bags"] = bags;
  return found;
}

nb::object NextRecords(RecordReader& reader) {
  auto batch = std::make_unique<Batch>();
  const absl::StatusOr<bool> read = [&] {
    const nb::gil_scoped_release no_lock;
    return reader.Next(*batch);
  }();
  if (!read.ok()) throw nb::value_error(std::string(read.status().message()).c_str());
  if (!*read) return nb::none();
  return ColumnsOf(std::move(batch));
}

}  // namespace

void BindRecords(nb::module_& m) {
  nb::class_<RecordReader>(m, "RecordReader", "Records as a job reads them, a batch at a time.")
      .def(nb::new_(&OpenRecords), nb::arg("job"), nb::arg("path"),
           "Of the job.json of an exported model; `path` as data.eval has it.")
      .def("next", &NextRecords,
           "{numbers: [records, numbers of each], keys, offsets, values, bags: (keys, offsets, "
           "weights) of each feature}, where no values and no weights are all 1; None: there are "
           "no more.");
}

}  // namespace capstan::python
