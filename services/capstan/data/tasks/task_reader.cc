#include "capstan/data/tasks/task_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/consistency/decisions.h"
#include "capstan/data/synthetic/click_log.h"
#include "capstan/data/tasks/candidates.h"
#include "capstan/data/tasks/folder_reader.h"
#include "capstan/data/tasks/idx_reader.h"
#include "capstan/data/tasks/image_intake.h"
#include "capstan/data/tasks/open_ahead.h"
#include "capstan/data/tasks/parquet_reader.h"
#include "capstan/data/tasks/sample_reader.h"
#include "capstan/data/tasks/task_images.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/data/tasks/text_reader.h"

namespace capstan {
namespace {

// The most keys, or numbers, for which memory is reserved before records are read.
constexpr uint64_t kMostReserved = uint64_t{1} << 24;
constexpr uint64_t kMostKeys = uint64_t{1} << 31;
constexpr uint64_t kShuffleSeedSalt =
    0x5348'5546'464C'4531;  // Distinct from the other uses of the seed.

std::vector<uint32_t> ShuffledOrder(uint32_t size, uint64_t seed, uint64_t stream) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = size; i > 1; --i) {
    std::swap(order[i - 1], order[Draw(seed ^ kShuffleSeedSalt, stream, i) % i]);
  }
  return order;
}

}  // namespace

ReaderOptions ReaderOptionsOf(const v1::JobSpec& job) {
  // In a round the weight of each lane is its examples, so a small last batch does no harm. Data
  // for rounds keep the plain cut, so that results stay bit-equal.
  const bool in_rounds = IsSync(job.dense_update()) || IsSync(job.sparse_update());
  return {.data = job.data(),
          .loss = job.model().loss(),
          .classes = job.model().outputs(),
          .batch_size = job.train().batch_size(),
          .shares_end = !in_rounds || !job.model().user().empty(),
          .seed = job.seed()};
}

class TaskReader::Impl {
 public:
  Impl(ReaderOptions options, const Source& source)
      : options_(std::move(options)),
        source_(source),
        bad_records_(options_.data.max_bad_records()),
        text_(options_, source, bad_records_),
        idx_(options_, source, bad_records_),
        parquet_(options_, source, bad_records_),
        intake_(options_, bad_records_),
        samples_(options_, source, intake_),
        folders_(source, intake_) {}

  absl::StatusOr<std::shared_ptr<const LoadedTask>> Read(const Load& load) {
    bad_records_ = BadRecords(options_.data.max_bad_records());
    Batch records = NoRecords(options_.data);
    Reserve(load.task.expected_records(), records);
    const uint64_t stream = uint64_t{load.data_epoch} << 32 | load.task.index();
    if (IsImageFormat(options_.data.format())) {
      images_ = std::make_unique<TaskImages>(options_.data,
                                             ImageDraws{!load.evaluation, options_.seed, stream});
    }
    NegativeDraws negatives{.seed = options_.seed, .stream = stream};
    if (options_.data.has_negatives() && !load.evaluation) {
      CAPSTAN_RETURN_IF_ERROR(ReadCandidates());
      negatives.candidates = candidates_;
    }
    CAPSTAN_RETURN_IF_ERROR(ReadRanges(RangesOf(load.task), records));
    records.GiveBackRoom();
    std::vector<uint32_t> order;
    if (options_.data.shuffle() && !load.evaluation) {
      order = ShuffledOrder(static_cast<uint32_t>(records.examples()), options_.seed, stream);
    }
    const BatchCut cut{.size = std::max(1u, options_.batch_size),
                       .shares_end = options_.shares_end};
    auto task = std::make_shared<LoadedTask>(std::move(records), std::move(images_), bad_records_,
                                             std::move(order), cut, std::move(negatives));
    if (load.packed) task->PackKeys();
    return task;
  }

 private:
  absl::Status ReadCandidates() {
    if (candidates_ != nullptr) return absl::OkStatus();
    CAPSTAN_ASSIGN_OR_RETURN(Candidates candidates, ReadKnownCandidates(source_, options_.data));
    candidates_ = std::make_shared<const Candidates>(std::move(candidates));
    return absl::OkStatus();
  }

  // Reserves an eighth more than expected: a column that grows a little beyond its memory would
  // double it.
  void Reserve(uint64_t expected, Batch& records) const {
    expected += expected / 8;
    const uint64_t width = std::max({1u, options_.data.fields(), options_.data.dense_width()});
    const uint64_t examples = std::min(expected, kMostReserved / width + 1);
    records.labels.reserve(examples * records.label_count);
    records.offsets.reserve(examples + 1);
    records.keys.reserve(examples * options_.data.fields());
    if (IsImageFormat(options_.data.format())) return;  // Images stay encoded.
    records.dense.reserve(examples * options_.data.dense_width());
  }

  absl::Status ReadRanges(const std::vector<v1::Task>& ranges, Batch& records) {
    for (const v1::Task& range : ranges) {
      if (range.begin() > range.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(range.file(), ": a task from ", range.begin(), " to ", range.end()));
      }
    }
    if (IsTextFormat(options_.data.format())) return ReadText(ranges, records);
    if (IsSampleFormat(options_.data.format())) return ReadSamples(ranges, records);
    for (const v1::Task& range : ranges) CAPSTAN_RETURN_IF_ERROR(ReadOther(range, records));
    return absl::OkStatus();
  }

  absl::Status ReadText(const std::vector<v1::Task>& ranges, Batch& records) {
    OpenAhead streams(source_, ranges);
    for (const v1::Task& range : ranges) {
      CAPSTAN_RETURN_IF_ERROR(text_.Read(range, streams, records));
    }
    return absl::OkStatus();
  }

  absl::Status ReadSamples(const std::vector<v1::Task>& ranges, Batch& records) {
    OpenAhead streams(source_, ranges);
    for (const v1::Task& range : ranges) {
      CAPSTAN_RETURN_IF_ERROR(samples_.Read(range, streams, records, *images_));
    }
    return absl::OkStatus();
  }

  absl::Status ReadOther(const v1::Task& task, Batch& records) {
    if (options_.data.format() == v1::DATA_FORMAT_IDX) return idx_.Read(task, records);
    if (options_.data.format() == v1::DATA_FORMAT_FOLDER) {
      return folders_.Read(task, records, *images_);
    }
    if (options_.data.format() == v1::DATA_FORMAT_PARQUET) return parquet_.Read(task, records);
    if (options_.data.format() == v1::DATA_FORMAT_SYNTHETIC) return ReadSynthetic(task, records);
    return absl::InvalidArgumentError("the data has no format");
  }

  absl::Status ReadSynthetic(const v1::Task& task, Batch& records) {
    if (click_log_ == nullptr) click_log_ = std::make_unique<ClickLog>(options_.data.synthetic());
    const bool eval = task.file() == kSyntheticEval;
    const v1::SyntheticSpec& spec = options_.data.synthetic();
    const uint64_t end = std::min(task.end(), eval ? spec.eval_rows() : spec.train_rows());
    if (task.begin() >= end) return absl::OkStatus();
    const uint64_t rows = end - task.begin();
    if (rows > kMostKeys / click_log_->columns()) {
      return absl::InvalidArgumentError(
          absl::StrCat(task.file(), ": a task of ", rows, " rows is too large"));
    }
    click_log_->AppendTo(task.begin() + (eval ? kClickLogEvalBase : 0), rows, records);
    return absl::OkStatus();
  }

  const ReaderOptions options_;
  const Source& source_;
  BadRecords bad_records_;  // Bad records of the task that is being read.
  TextReader text_;
  IdxReader idx_;
  ParquetReader parquet_;
  ImageIntake intake_;
  SampleReader samples_;
  FolderReader folders_;
  // The images of the task that is being read, if it has some.
  std::unique_ptr<TaskImages> images_;
  std::unique_ptr<ClickLog> click_log_;  // Built when first needed.
  // Read when first needed; shared with the tasks.
  std::shared_ptr<const Candidates> candidates_;
};

namespace {

// Groups are only used to evaluate a model, never to train it.
ReaderOptions WithoutGroups(ReaderOptions options) {
  options.data.clear_group();
  return options;
}

}  // namespace

TaskReader::TaskReader(ReaderOptions options, const Source& source)
    : options_(std::move(options)), source_(source) {}
TaskReader::~TaskReader() = default;

absl::Status TaskReader::Begin() {
  if (trained_ != nullptr) return absl::OkStatus();
  if (options_.vocabularies.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(options_.vocabularies, ReadKnownVocabularies(source_, options_.data));
  }
  trained_ = std::make_unique<Impl>(WithoutGroups(options_), source_);
  if (options_.data.has_group()) judged_ = std::make_unique<Impl>(options_, source_);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const LoadedTask>> TaskReader::Read(const Load& load) {
  CAPSTAN_RETURN_IF_ERROR(Begin());
  return (load.evaluation && judged_ != nullptr ? judged_ : trained_)->Read(load);
}

}  // namespace capstan
