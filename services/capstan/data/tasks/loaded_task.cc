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

// Appends values[from, to).
template <typename T>
void AppendRange(const std::vector<T>& values, size_t from, size_t to, std::vector<T>& all) {
  all.insert(all.end(), values.begin() + static_cast<ptrdiff_t>(from),
             values.begin() + static_cast<ptrdiff_t>(to));
}

// The same for keys, which are in `packed` if it is set.
void AppendKeys(const std::vector<uint64_t>& plain, const std::optional<DictionaryKeys>& packed,
                size_t from, size_t to, std::vector<uint64_t>& all) {
  if (packed) {
    packed->AppendTo(from, to, all);
  } else {
    AppendRange(plain, from, to, all);
  }
}

// Returns how many keys each record has, if all have the same number; otherwise 1. The keys of a
// record of a file with columns are those of its columns, in their order.
size_t ColumnsOf(const std::vector<uint32_t>& offsets) {
  if (offsets.size() < 2 || offsets[1] == 0) return 1;
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] != i * offsets[1]) return 1;
  }
  return offsets[1];
}

// Moves `keys` into the result if they can be packed. REQUIRES: `offsets` says where each record's
// keys begin, and where the last one's end.
std::optional<DictionaryKeys> Packed(const std::vector<uint32_t>& offsets,
                                     std::vector<uint64_t>& keys) {
  std::optional<DictionaryKeys> packed = DictionaryKeys::Pack(keys, ColumnsOf(offsets));
  if (packed) keys = std::vector<uint64_t>();
  return packed;
}

}  // namespace

LoadedTask::LoadedTask(Batch records, BadRecords bad_records, std::vector<uint32_t> order,
                       BatchCut cut)
    : LoadedTask(std::move(records), nullptr, std::move(bad_records), std::move(order), cut) {}

LoadedTask::LoadedTask(Batch records, std::unique_ptr<const TaskImages> images,
                       BadRecords bad_records, std::vector<uint32_t> order, BatchCut cut,
                       NegativeDraws negatives)
    : records_(std::move(records)),
      bags_(records_.features.size()),
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

void LoadedTask::PackKeys() {
  keys_ = Packed(records_.offsets, records_.keys);
  for (size_t i = 0; i < bags_.size(); ++i) {
    Bags& bags = records_.features[i];
    bags_[i] = Packed(bags.offsets, bags.keys);
  }
}

uint64_t LoadedTask::bytes() const {
  uint64_t sum = records_.bytes() + order_.size() * sizeof(uint32_t);
  if (keys_) sum += keys_->bytes();
  for (const std::optional<DictionaryKeys>& bags : bags_) sum += bags ? bags->bytes() : 0;
  return sum;
}

size_t LoadedTask::KeysOf(size_t first, size_t end, const std::vector<uint32_t>& offsets) const {
  size_t keys = 0;
  for (size_t place = first; place < end; ++place) {
    const size_t record = RecordAt(place);
    keys += offsets[record + 1] - offsets[record];
  }
  return keys;
}

void LoadedTask::Clear(size_t first, size_t end, Batch& batch) const {
  const size_t keys = KeysOf(first, end, records_.offsets);
  batch.labels.clear();
  batch.labels.reserve((end - first) * records_.label_count);
  batch.weights.clear();
  batch.groups.clear();
  batch.offsets.assign(1, 0);
  batch.offsets.reserve(end - first + 1);
  batch.keys.clear();
  batch.keys.reserve(keys);
  batch.values.clear();
  if (!records_.values.empty()) batch.values.reserve(keys);
  batch.dense.clear();
  batch.dense.reserve((end - first) * records_.dense_width);
  batch.features.resize(records_.features.size());
  for (size_t i = 0; i < batch.features.size(); ++i) {
    const Bags& records = records_.features[i];
    const size_t keys_of_bags = KeysOf(first, end, records.offsets);
    Bags& bags = batch.features[i];
    bags.offsets.assign(1, 0);
    bags.offsets.reserve(end - first + 1);
    bags.keys.clear();
    bags.keys.reserve(keys_of_bags);
    bags.weights.clear();
    if (!records.weights.empty()) bags.weights.reserve(keys_of_bags);
  }
}

void LoadedTask::AppendBag(size_t feature, size_t record, Batch& batch) const {
  const Bags& records = records_.features[feature];
  Bags& bags = batch.features[feature];
  const size_t from = records.offsets[record];
  const size_t to = records.offsets[record + 1];
  AppendKeys(records.keys, bags_[feature], from, to, bags.keys);
  if (!records.weights.empty()) AppendRange(records.weights, from, to, bags.weights);
  bags.offsets.push_back(static_cast<uint32_t>(bags.keys.size()));
}

absl::Status LoadedTask::ReadBatch(uint64_t k, Batch& batch) const {
  CAPSTAN_CHECK(k < batch_count());
  const size_t first = cut_.BeginOf(k, records_.examples());
  const size_t end = cut_.BeginOf(k + 1, records_.examples());
  Clear(first, end, batch);
  batch.first_record = first;
  batch.dense_width = records_.dense_width;
  batch.label_count = records_.label_count;
  std::optional<TaskImages::Reader> images;
  if (images_ != nullptr) images.emplace(*images_);
  for (size_t place = first; place < end; ++place) {
    const size_t record = RecordAt(place);
    const size_t from = records_.offsets[record];
    const size_t to = records_.offsets[record + 1];
    const auto labels = records_.LabelsOf(record);
    batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
    if (!records_.weights.empty()) batch.weights.push_back(records_.weights[record]);
    if (!records_.groups.empty()) batch.groups.push_back(records_.groups[record]);
    AppendKeys(records_.keys, keys_, from, to, batch.keys);
    if (!records_.values.empty()) AppendRange(records_.values, from, to, batch.values);
    if (images) {
      CAPSTAN_RETURN_IF_ERROR(images->AppendTo(record, batch.dense));
    } else {
      const auto dense = records_.DenseOf(record);
      batch.dense.insert(batch.dense.end(), dense.begin(), dense.end());
    }
    batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
    for (size_t i = 0; i < batch.features.size(); ++i) AppendBag(i, record, batch);
  }
  if (negatives_.candidates == nullptr) {
    batch.negatives = {};
  } else {
    negatives_.candidates->Draw(negatives_.seed, negatives_.stream, k, batch);
  }
  return absl::OkStatus();
}

}  // namespace capstan
