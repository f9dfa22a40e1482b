#include "cli/serve/program_batch.h"

namespace capstan::cli {
namespace {

template <typename T>
std::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

ProgramBatch::ProgramBatch(const FinishedModel& model, const Batch& batch)
    : batch_(batch), rows_(model) {
  rows_.Pull(batch);
}

std::vector<std::string_view> ProgramBatch::parts() const {
  std::vector<std::string_view> parts = {BytesOf(batch_.dense), BytesOf(batch_.values),
                                         BytesOf(rows_.begins())};
  if (rows_.begins().empty()) parts.push_back(BytesOf(batch_.offsets));
  for (const Bags& feature : batch_.features) {
    parts.push_back(BytesOf(feature.offsets));
    parts.push_back(BytesOf(feature.weights));
  }
  for (const BatchRows::OfTable& table : rows_.tables()) {
    parts.push_back(BytesOf(table.keys.unique));
    parts.push_back(BytesOf(table.keys.index));
    parts.push_back(BytesOf(table.rows));
  }
  return parts;
}

}  // namespace capstan::cli
