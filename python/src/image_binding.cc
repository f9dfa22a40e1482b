#include "python/src/image_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"
#include "google/protobuf/util/json_util.h"

namespace nb = nanobind;

namespace capstan::python {
namespace {

using Numbers = nb::ndarray<nb::numpy, float, nb::ndim<2>>;

// Files of images as the job reads those of its evaluation, and without their labels, a batch at a
// time. Thread-compatible.
class ImageReader {
 public:
  static absl::StatusOr<std::unique_ptr<ImageReader>> Open(const std::string& json,
                                                           const std::string& path) {
    v1::JobSpec job;
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;  // Of later versions.
    if (!google::protobuf::util::JsonStringToMessage(json, &job, options).ok()) {
      return absl::InvalidArgumentError("job.json: not a job");
    }
    v1::DataSpec& data = *job.mutable_data();
    if (!IsImageFormat(data.format()) || !data.has_image()) {
      return absl::InvalidArgumentError("job.json: a job without images in archives or folders");
    }
    data.clear_eval_sets();
    data.clear_eval();
    data.add_eval(path);
    std::unique_ptr<ImageReader> reader(new ImageReader(job));
    CAPSTAN_ASSIGN_OR_RETURN(
        reader->tasks_, PlanTasks(*reader->source_, data,
                                  {.split = Split::kEval, .batch_size = job.train().batch_size()}));
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

  explicit ImageReader(const v1::JobSpec& job)
      : source_(NewDataFiles()), reader_(OptionsOf(job), *source_) {}

  const std::unique_ptr<const Source> source_;
  TaskReader reader_;
  TaskRanges tasks_;
  uint32_t task_ = 0;                         // The next one to be loaded.
  std::shared_ptr<const LoadedTask> loaded_;  // Shared with nobody.
  uint64_t batch_ = 0;                        // The next one of it.
};

std::unique_ptr<ImageReader> OpenImages(const std::string& json, const std::string& path) {
  auto reader = [&] {
    const nb::gil_scoped_release no_lock;
    return ImageReader::Open(json, path);
  }();
  if (!reader.ok()) throw nb::value_error(std::string(reader.status().message()).c_str());
  return *std::move(reader);
}

std::optional<Numbers> NextImages(ImageReader& reader) {
  auto batch = std::make_unique<Batch>();
  const absl::StatusOr<bool> read = [&] {
    const nb::gil_scoped_release no_lock;
    return reader.Next(*batch);
  }();
  if (!read.ok()) throw nb::value_error(std::string(read.status().message()).c_str());
  if (!*read) return std::nullopt;
  float* const data = batch->dense.data();
  const size_t shape[] = {batch->examples(), batch->dense_width};
  const nb::capsule owner(batch.release(),
                          [](void* of) noexcept { delete static_cast<Batch*>(of); });
  return Numbers(data, 2, shape, owner);
}

}  // namespace

void BindImages(nb::module_& m) {
  nb::class_<ImageReader>(m, "ImageReader", "Images as a job reads them, a batch at a time.")
      .def(nb::new_(&OpenImages), nb::arg("job"), nb::arg("path"),
           "Of the job.json of an exported model; `path` as data.eval has it.")
      .def("next", &NextImages, "[images, numbers of each]; None: there are no more.");
}

}  // namespace capstan::python
