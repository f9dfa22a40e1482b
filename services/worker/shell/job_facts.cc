#include "worker/shell/job_facts.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/config/data_labels.h"
#include "capstan/config/eval_sets.h"
#include "capstan/model/layout.h"
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

std::string TextOf(const Feature& feature) {
  return absl::StrCat(feature.name, " (table ", feature.table, feature.many ? ", many" : "",
                      feature.many ? absl::StrCat(", most ", feature.most) : "", ", ",
                      feature.pooling, feature.weighted ? ", weighted" : "", ")");
}

std::string TextOf(const Label& label) {
  return absl::StrCat(label.name, " (weight ", label.weight, ", ", label.loss, ")");
}

template <typename Value>
std::string TextOf(const std::vector<Value>& values) {
  const auto append = [](std::string* text, const Value& value) {
    if constexpr (requires { TextOf(value); }) {
      absl::StrAppend(text, TextOf(value));
    } else {
      absl::StrAppend(text, value);
    }
  };
  return absl::StrCat("[", absl::StrJoin(values, ", ", append), "]");
}

struct Fact {
  std::string name;
  std::string value;
};

// In the same order for every job, each under its key in job.yaml or, where several keys make it,
// its name in Python. Whoever adds a member to Job has to name it here.
std::vector<Fact> FactsOf(const Job& job) {
  const auto& [name, program, seed, fields, numbers, features, tables, dims, dim, outputs, labels,
               loss, image, channels, batch_size, sum_loss, step_threads, synchronous, evaluates] =
      job;
  return {{"job", name},
          {"model.user", program},
          {"seed", absl::StrCat(seed)},
          {"job.fields", absl::StrCat(fields)},
          {"job.numbers", absl::StrCat(numbers)},
          {"data.features", TextOf(features)},
          {"tables", TextOf(tables)},
          {"job.dims", TextOf(dims)},
          {"model.outputs", absl::StrCat(outputs)},
          {"data.schema.labels", TextOf(labels)},
          {"model.loss", loss},
          {"job.image", TextOf(image)},
          {"job.channels", absl::StrCat(channels)},
          {"train.batch_size", absl::StrCat(batch_size)},
          {"train.gradient", sum_loss ? "sum" : "mean"},
          {"train.step_threads", absl::StrCat(step_threads)},
          {"job.synchronous", synchronous ? "yes" : "no"}};
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
      evaluates(HasHeldOut(spec.data())) {}

std::string JobFactsDifference(const Job& given, const Job& now) {
  const std::vector<Fact> before = FactsOf(given);
  const std::vector<Fact> after = FactsOf(now);
  std::vector<std::string> differences;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].value == after[i].value) continue;
    differences.push_back(
        absl::StrCat(before[i].name, " was ", before[i].value, " and is ", after[i].value));
  }
  return absl::StrJoin(differences, "; ");
}

}  // namespace capstan::worker
