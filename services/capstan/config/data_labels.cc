#include "capstan/config/data_labels.h"

namespace capstan {

std::vector<v1::LabelSpec> LabelsOf(const v1::DataSpec& data) {
  if (!data.labels().empty()) return {data.labels().begin(), data.labels().end()};
  v1::LabelSpec only;
  only.set_column(data.label_column());
  only.set_column_name(data.label_name());
  only.set_weight(1);
  return {only};
}

uint32_t LabelCountOf(const v1::DataSpec& data) {
  return data.labels().empty() ? 1 : static_cast<uint32_t>(data.labels_size());
}

}  // namespace capstan
