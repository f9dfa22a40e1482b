#include "python/src/job_facts.h"

#include <stdexcept>

#include "capstan/config/data_labels.h"
#include "capstan/config/eval_sets.h"
#include "google/protobuf/util/json_util.h"
#include "worker/shell/step.h"

namespace capstan::worker {
namespace {

std::string LossName(v1::Loss loss) {
  switch (loss) {
    case v1::LOSS_SOFTMAX:
      return "softmax";
    case v1::LOSS_SQUARED:
      return "squared";
    default:
      return "logistic";
  }
}

std::string PoolingName(v1::Pooling pooling) {
  if (pooling == v1::POOLING_MEAN) return "mean";
  return pooling == v1::POOLING_NONE ? "none" : "sum";
}

std::string SelfCheckName(v1::SelfCheck check) {
  if (check == v1::SELF_CHECK_OFF) return "off";
  return check == v1::SELF_CHECK_REFUSE ? "refuse" : "warn";
}

std::vector<Feature> FeaturesOf(const v1::JobSpec& spec) {
  const std::vector<size_t> tables = TablesOfFeatures(spec);
  std::vector<Feature> features;
  for (const v1::FeatureSpec& from : spec.data().features()) {
    features.push_back({.name = from.name(),
                        .table = tables[features.size()],
                        .many = from.many(),
                        .most = from.most(),
                        .pooling = PoolingName(from.pooling()),
                        .weighted = from.has_weights()});
  }
  return features;
}

std::vector<Label> NamedLabels(const v1::JobSpec& spec) {
  std::vector<Label> labels;
  for (const v1::LabelSpec& label : spec.data().labels()) {
    labels.push_back({.name = label.name(),
                      .weight = label.weight(),
                      .loss = LossName(LossOf(spec, labels.size()))});
  }
  return labels;
}

std::vector<std::string> TableNames(const v1::JobSpec& spec) {
  std::vector<std::string> names;
  for (const v1::TableSpec& table : spec.tables()) names.push_back(table.name());
  return names;
}

std::vector<uint32_t> DimsOf(const v1::JobSpec& spec) {
  std::vector<uint32_t> dims;
  for (const v1::TableSpec& table : spec.tables()) dims.push_back(table.dim());
  return dims;
}

}  // namespace

Job::Job(const v1::JobSpec& spec)
    : name(spec.job()),
      program(spec.model().user()),
      seed(spec.seed()),
      fields(spec.data().fields()),
      numbers(spec.data().dense_width()),
      features(FeaturesOf(spec)),
      tables(TableNames(spec)),
      dims(DimsOf(spec)),
      dim(dims.empty() ? 0 : dims.front()),
      outputs(spec.model().outputs()),
      labels(NamedLabels(spec)),
      loss(LossName(spec.model().loss())),
      image(spec.data().image_shape().begin(), spec.data().image_shape().end()),
      channels(image.empty() ? 0 : numbers / (image[0] * image[1])),
      batch_size(spec.train().batch_size()),
      sum_loss(spec.train().sum_loss()),
      step_threads(spec.train().step_threads()),
      synchronous(spec.dense_update().kind() == v1::POLICY_KIND_SYNC ||
                  spec.sparse_update().kind() == v1::POLICY_KIND_SYNC),
      self_check(SelfCheckName(spec.train().self_check())),
      evaluates(HasHeldOut(spec.data())) {}

Job JobFromJson(const std::string& text) {
  v1::JobSpec spec;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // Of later versions.
  if (!google::protobuf::util::JsonStringToMessage(text, &spec, options).ok()) {
    throw std::invalid_argument("job.json: not a job");
  }
  return Job(spec);
}

}  // namespace capstan::worker
