#include "capstan/data/tasks/check_first_records.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/idx.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/tasks/extents.h"
#include "capstan/data/tasks/in_parallel.h"
#include "capstan/data/tasks/other_format.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {
namespace {

constexpr uint64_t kFrontBytes = uint64_t{64} << 10;
constexpr uint64_t kFrontRecords = 1000;
constexpr uint64_t kFrontImages = 32;  // How many images of a compressed file are decoded.
constexpr uint64_t kFrontOfClass = 4;  // How many images of a class's folder are decoded.

// A file, with the path of its labels if it is an idx file of images; or a folder, for which
// file.bytes is the number of its images that are checked.
struct Input {
  FileInfo file;
  std::string labels = {};
};

absl::StatusOr<std::vector<Input>> ListFolders(const Source& source, const v1::DataSpec& data,
                                               Split split) {
  CAPSTAN_ASSIGN_OR_RETURN(const Extents extents, FindExtents(source, data, {.split = split}));
  std::vector<Input> inputs;
  for (const Extent& extent : extents.all) {
    inputs.push_back({{extent.file, std::min(extent.length, kFrontOfClass)}});
  }
  return inputs;
}

absl::StatusOr<std::vector<Input>> ListInputs(const Source& source, const v1::DataSpec& data,
                                              Split split) {
  if (data.format() == v1::DATA_FORMAT_FOLDER) return ListFolders(source, data, split);
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<FileInfo> files, ListFiles(source, data, split));
  std::vector<Input> inputs;
  if (data.format() != v1::DATA_FORMAT_IDX) {
    for (FileInfo& file : files) inputs.push_back({std::move(file)});
    return inputs;
  }
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<IdxPair> pairs,
                           PairIdxFiles(source, files, Labels::kRequired));
  for (IdxPair& pair : pairs) inputs.push_back({std::move(pair.images), std::move(pair.labels)});
  return inputs;
}

// Returns at most `most` of the inputs, evenly spaced from the first to the last.
std::vector<Input> ChooseEvenly(std::vector<Input> inputs, size_t most) {
  if (inputs.size() <= most) return inputs;
  std::vector<Input> sample;
  for (size_t i = 0; i < most; ++i) {
    sample.push_back(std::move(inputs[most == 1 ? 0 : i * (inputs.size() - 1) / (most - 1)]));
  }
  return sample;
}

absl::StatusOr<v1::Task> FrontOf(const Source& source, const v1::DataSpec& data,
                                 const Input& input) {
  v1::Task front;
  front.set_file(input.file.path);
  front.set_labels_file(input.labels);
  if (data.format() == v1::DATA_FORMAT_FOLDER) {
    front.set_by_records(true);
    front.set_end(input.file.bytes);
    return front;
  }
  Compression compression = Compression::kNone;
  const bool by_bytes = IsTextFormat(data.format()) || IsSampleFormat(data.format());
  if (by_bytes) {
    CAPSTAN_ASSIGN_OR_RETURN(compression, DetectCompression(source, input.file.path));
  }
  const bool by_records = !by_bytes || compression != Compression::kNone;
  front.set_by_records(by_records);
  const uint64_t records = IsSampleFormat(data.format()) ? kFrontImages : kFrontRecords;
  front.set_end(by_records ? records : std::min(kFrontBytes, input.file.bytes));
  return front;
}

absl::Status CheckFile(const Source& source, const ReaderOptions& options, const Input& input) {
  CAPSTAN_ASSIGN_OR_RETURN(const v1::Task front, FrontOf(source, options.data, input));
  const auto refused = [&](absl::Status otherwise) {
    return WhyNotUnderstood(source, input.file.path, options.data.format(), std::move(otherwise));
  };
  TaskReader reader(options, source);
  const absl::StatusOr<std::shared_ptr<const LoadedTask>> records =
      reader.Read({.task = front, .evaluation = true});
  if (!records.ok()) return refused(records.status());
  const BadRecords& bad_records = (*records)->bad_records();
  if ((*records)->examples() > 0 || bad_records.count() == 0) return absl::OkStatus();
  return refused(absl::InvalidArgumentError(
      absl::StrCat(bad_records.examples().front(), "; none of the first ", bad_records.count(),
                   " records of this file can be understood")));
}

absl::Status CheckFiles(const Source& source, const ReaderOptions& options,
                        const std::vector<Input>& inputs) {
  return ForEachInParallel(inputs.size(),
                           [&](size_t place) { return CheckFile(source, options, inputs[place]); });
}

}  // namespace

absl::Status CheckFirstRecords(const Source& source, const v1::JobSpec& job, size_t most_files) {
  if (job.data().format() == v1::DATA_FORMAT_SYNTHETIC) return absl::OkStatus();
  ReaderOptions options = ReaderOptionsOf(job);
  options.images = ImageCheck::kAlways;
  // The vocabularies of a job may take a hundred megabytes, so all files share one copy.
  CAPSTAN_ASSIGN_OR_RETURN(options.vocabularies, ReadKnownVocabularies(source, job.data()));
  for (const Split split : {Split::kTrain, Split::kEval}) {
    CAPSTAN_ASSIGN_OR_RETURN(std::vector<Input> inputs, ListInputs(source, job.data(), split));
    CAPSTAN_RETURN_IF_ERROR(
        CheckFiles(source, options, ChooseEvenly(std::move(inputs), most_files)));
  }
  return absl::OkStatus();
}

}  // namespace capstan
