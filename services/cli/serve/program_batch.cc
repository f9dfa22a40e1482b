#include "cli/serve/program_batch.h"

#include <algorithm>

namespace capstan::cli {
namespace {

template <typename T>
std::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

ProgramBatch::ProgramBatch(const FinishedModel& model, const Batch& batch)
    : batch_(batch), begins_(static_cast<size_t>(model.job().data().features_size())) {
  const v1::JobSpec& job = model.job();
  Deduplicator deduplicator;
  for (int table = 0; table < std::max(1, job.tables_size()); ++table) {
    OfTable& of = tables_.emplace_back();
    deduplicator.Run(KeysOf(job, table), of.keys);
    if (table < job.tables_size()) model.PullRows(table, of.keys.unique, of.rows);
  }
}

// Returns the keys of a table feature by feature, in the order of a training step.
std::vector<uint64_t> ProgramBatch::KeysOf(const v1::JobSpec& job, int table) {
  if (begins_.empty()) return batch_.keys;
  std::vector<uint64_t> gathered;
  for (size_t i = 0; i < begins_.size(); ++i) {
    if (job.data().features(static_cast<int>(i)).table() != job.tables(table).name()) continue;
    const std::vector<uint64_t>& keys = batch_.features[i].keys;
    begins_[i] = gathered.size();
    gathered.insert(gathered.end(), keys.begin(), keys.end());
  }
  return gathered;
}

std::vector<std::string_view> ProgramBatch::parts() const {
  std::vector<std::string_view> parts = {BytesOf(batch_.dense), BytesOf(batch_.values),
                                         BytesOf(begins_)};
  if (begins_.empty()) parts.push_back(BytesOf(batch_.offsets));
  for (const Bags& feature : batch_.features) {
    parts.push_back(BytesOf(feature.offsets));
    parts.push_back(BytesOf(feature.weights));
  }
  for (const OfTable& table : tables_) {
    parts.push_back(BytesOf(table.keys.unique));
    parts.push_back(BytesOf(table.keys.index));
    parts.push_back(BytesOf(table.rows));
  }
  return parts;
}

}  // namespace capstan::cli
