// The arithmetic of one step of the job's towers.
#ifndef CAPSTAN_WORKER_SHELL_COMPUTE_H_
#define CAPSTAN_WORKER_SHELL_COMPUTE_H_

#include "capstan/model/network.h"
#include "worker/shell/step.h"

namespace capstan::worker {

// Fills the step's results from its batch and the pulled parameters; see StepGradients.
// Thread-compatible: each thread has a network of its own.
void ComputeGradients(Network& network, double clip_norm, Step& step);

// Fills `logits` only.
void ComputeLogits(Network& network, Step& step);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_COMPUTE_H_
