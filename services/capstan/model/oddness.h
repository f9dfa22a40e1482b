// Describes losses and metrics that do not occur in healthy training. Pure functions.
#ifndef CAPSTAN_MODEL_ODDNESS_H_
#define CAPSTAN_MODEL_ODDNESS_H_

#include <string>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns a sentence about what is odd about the recent training loss, and a remedy; empty if
// nothing is. `least` is the lowest loss so far; 0: not known.
std::string OddLoss(const v1::JobSpec& job, double loss, double least);

// The same for an evaluation: a model that is worse than guessing, or data of one class only. Of
// several sets of records and labels, the first one with something odd is described.
std::string OddEvaluation(const v1::ModelSpec& model, const v1::Evaluation& evaluation);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_ODDNESS_H_
