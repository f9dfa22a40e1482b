#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/data/tasks/candidates.h"
#include "capstan/data/tasks/task_images.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {
namespace {

void AppendBag(const Bags& records, size_t record, Bags& bags) {
  const auto keys = records.KeysOf(record);
  bags.keys.insert(bags.keys.end(), keys.begin(), keys.end());
  if (!records.weights.empty()) {
    const auto weights = records.weights.begin() + records.offsets[record];
    bags.weights.insert(bags.weights.end(), weights, weights + static_cast<ptrdiff_t>(keys.size()));
  }
  bags.offsets.push_back(static_cast<uint32_t>(bags.keys.size()));
}

}  // namespace

LoadedTask::LoadedTask(Batch records, BadRecords bad_records, std::vector<uint32_t> order,
                       BatchCut cut)
    : LoadedTask(std::move(records), nullptr, std::move(bad_records), std::move(order), cut) {}

LoadedTask::LoadedTask(Batch records, std::unique_ptr<const TaskImages> images,
                       BadRecords bad_records, std::vector<uint32_t> order, BatchCut cut,
                       NegativeDraws negatives)
    : records_(std::move(records)),
      images_(std::move(images)),
      bad_records_(std::move(bad_records)),
      order_(std::move(order)),
      cut_(cut),
      negatives_(std::move(negatives)) {
  CAPSTAN_CHECK(cut_.size > 0);
  CAPSTAN_CHECK(order_.empty() || order_.size() == records_.examples());
  CAPSTAN_CHECK(images_ == nullptr || images_->size() == records_.examples());
}

LoadedTask::~LoadedTask() = default;

std::vector<float> LoadedTask::LabelsAt(size_t place) const {
  std::vector<float> labels;
  for (size_t i = 0; i < records_.examples(); ++i) {
    const float label = records_.LabelsOf(i)[place];
    if (!std::isnan(label)) labels.push_back(label);
  }
  return labels;
}

uint64_t LoadedTask::batch_count() const { return cut_.CountOf(records_.examples()); }

absl::Status LoadedTask::ReadBatch(uint64_t k, Batch& batch) const {
  CAPSTAN_CHECK(k < batch_count());
  const size_t first = cut_.BeginOf(k, records_.examples());
  const size_t end = cut_.BeginOf(k + 1, records_.examples());
  batch.first_record = first;
  batch.dense_width = records_.dense_width;
  batch.label_count = records_.label_count;
  batch.labels.clear();
  batch.weights.clear();
  batch.groups.clear();
  batch.offsets.assign(1, 0);
  batch.keys.clear();
  batch.values.clear();
  batch.dense.clear();
  batch.features.resize(records_.features.size());
  for (Bags& bags : batch.features) {
    bags.offsets.assign(1, 0);
    bags.keys.clear();
    bags.weights.clear();
  }
  std::optional<TaskImages::Reader> images;
  if (images_ != nullptr) images.emplace(*images_);
  for (size_t place = first; place < end; ++place) {
    const size_t record = order_.empty() ? place : order_[place];
    const ptrdiff_t from = records_.offsets[record];
    const ptrdiff_t to = records_.offsets[record + 1];
    const auto labels = records_.LabelsOf(record);
    batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
    if (!records_.weights.empty()) batch.weights.push_back(records_.weights[record]);
    if (!records_.groups.empty()) batch.groups.push_back(records_.groups[record]);
    batch.keys.insert(batch.keys.end(), records_.keys.begin() + from, records_.keys.begin() + to);
    if (!records_.values.empty()) {
      batch.values.insert(batch.values.end(), records_.values.begin() + from,
                          records_.values.begin() + to);
    }
    if (images) {
      CAPSTAN_RETURN_IF_ERROR(images->AppendTo(record, batch.dense));
    } else {
      const auto dense = records_.DenseOf(record);
      batch.dense.insert(batch.dense.end(), dense.begin(), dense.end());
    }
    batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
    for (size_t i = 0; i < batch.features.size(); ++i) {
      AppendBag(records_.features[i], record, batch.features[i]);
    }
  }
  if (negatives_.candidates == nullptr) {
    batch.negatives = {};
  } else {
    negatives_.candidates->Draw(negatives_.seed, negatives_.stream, k, batch);
  }
  return absl::OkStatus();
}

}  // namespace capstan
