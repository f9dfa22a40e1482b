// What the scores of a job's model are judged by: the loss and the weight of each of its labels.
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

  // `batch`, which says its logits, labels, weights and groups, with the outputs and the losses of
  // the job. The result borrows from what `batch` borrows from, and from this.
  //
  // As it is measured: each label by itself, however heavy its loss is in that of an example.
  Scores Measured(Scores batch) const;
  // As it is trained: by the weights of the labels.
  Scores Trained(Scores batch) const;

 private:
  const v1::Loss loss_;
  const int outputs_;
  const std::vector<v1::Loss>
      label_losses_;  // The losses of several labels; empty: there is one label.
  const std::vector<float> label_weights_;  // The same.
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_JOB_SCORES_H_
