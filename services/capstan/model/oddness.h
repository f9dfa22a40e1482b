// Losses and metrics that no healthy training shows, said in words. Pure functions.
#ifndef CAPSTAN_MODEL_ODDNESS_H_
#define CAPSTAN_MODEL_ODDNESS_H_

#include <string>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// What is odd about the training loss of late, in one sentence, and what to do; empty: nothing.
// `least`: the least it has been; 0: not known.
std::string OddLoss(const v1::JobSpec& job, double loss, double least);

// The same of an evaluation: a model that is worse than guessing, data of one class only. Of
// several sets of records and labels, what is odd about the first one of which something is.
std::string OddEvaluation(const v1::ModelSpec& model, const v1::Evaluation& evaluation);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_ODDNESS_H_
