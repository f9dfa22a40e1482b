// RMSProp (Hinton, 2012), without momentum.
#ifndef CAPSTAN_OPTIM_RMSPROP_H_
#define CAPSTAN_OPTIM_RMSPROP_H_

#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// v = decay * v + (1 - decay) * g * g; w -= rate * g / (sqrt(v) + epsilon). One slot a weight: v,
// from 0.
std::unique_ptr<Optimizer> MakeRmsprop(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_RMSPROP_H_
