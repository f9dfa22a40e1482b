#include "capstan/model/job_scores.h"

#include "capstan/config/data_labels.h"

namespace capstan {
namespace {

std::vector<v1::Loss> LabelLosses(const v1::JobSpec& job) {
  std::vector<v1::Loss> losses;
  for (const v1::LabelSpec& label : job.data().labels()) {
    losses.push_back(LossOf(label, job.model().loss()));
  }
  return losses;
}

std::vector<float> LabelWeights(const v1::DataSpec& data) {
  std::vector<float> weights;
  for (const v1::LabelSpec& label : data.labels()) weights.push_back(label.weight());
  return weights;
}

}  // namespace

JobScores::JobScores(const v1::JobSpec& job)
    : loss_(job.model().loss()),
      outputs_(static_cast<int>(job.model().outputs())),
      label_losses_(LabelLosses(job)),
      label_weights_(LabelWeights(job.data())) {}

Scores JobScores::Measured(Scores batch) const {
  batch.loss = loss_;
  batch.outputs = outputs_;
  batch.label_losses = label_losses_;
  return batch;
}

Scores JobScores::Trained(Scores batch) const {
  batch = Measured(batch);
  batch.label_weights = label_weights_;
  return batch;
}

}  // namespace capstan
