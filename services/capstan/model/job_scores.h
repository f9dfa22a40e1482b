// Completes a batch's scores with settings of the job: the number of outputs, and the loss and the
// weight of each label.
#ifndef CAPSTAN_MODEL_JOB_SCORES_H_
#define CAPSTAN_MODEL_JOB_SCORES_H_

#include <vector>

#include "capstan/model/loss.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Immutable.
class JobScores {
 public:
  // REQUIRES: capstan/model/layout has laid the job out.
  explicit JobScores(const v1::JobSpec& job);

  // Both return `batch`, which must have logits, labels, weights and groups, with the outputs and
  // losses of the job. The result borrows from what `batch` borrows from, and from this object.
  //
  // For metrics: without the weights of labels, as each label is measured separately.
  Scores Measured(Scores batch) const;
  // For training: with the weights of labels.
  Scores Trained(Scores batch) const;

 private:
  const v1::Loss loss_;
  const int outputs_;
  // The losses of several labels; empty if there is one label.
  const std::vector<v1::Loss> label_losses_;
  // The weights of several labels; empty if there is one label.
  const std::vector<float> label_weights_;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_JOB_SCORES_H_
