#include "capstan/config/data_labels.h"

#include "capstan/base/check.h"

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

v1::Loss LossOf(const v1::JobSpec& job, size_t label) {
  CAPSTAN_CHECK(label < LabelCountOf(job.data()));
  if (job.data().labels().empty()) return job.model().loss();
  return LossOf(job.data().labels(static_cast<int>(label)), job.model().loss());
}

v1::Loss LossOf(const v1::LabelSpec& label, v1::Loss of_model) {
  return label.loss() == v1::LOSS_UNSPECIFIED ? of_model : label.loss();
}

v1::Loss LossOfModel(const v1::ModelSpec& model) {
  if (model.loss() != v1::LOSS_UNSPECIFIED) return model.loss();
  if (model.outputs() > 1 || model.preset() == "softmax") return v1::LOSS_SOFTMAX;
  return model.preset() == "mf" ? v1::LOSS_SQUARED : v1::LOSS_LOGISTIC;
}

std::vector<absl::string_view> MeasuredWith(v1::Loss loss, bool groups) {
  if (loss == v1::LOSS_SOFTMAX) return {"logloss", "accuracy"};
  if (loss == v1::LOSS_SQUARED) return {"rmse", "mae"};
  if (groups) return {"auc", "group_auc", "logloss", "accuracy"};
  return {"auc", "logloss", "accuracy"};
}

bool AnyLabelHas(const v1::JobSpec& job, v1::Loss loss) {
  for (size_t i = 0; i < LabelCountOf(job.data()); ++i) {
    if (LossOf(job, i) == loss) return true;
  }
  return false;
}

}  // namespace capstan
