// FTRL-proximal (McMahan et al., 2013: Ad click prediction, a view from the trenches).
#ifndef CAPSTAN_OPTIM_FTRL_H_
#define CAPSTAN_OPTIM_FTRL_H_

#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// n' = n + g * g; z += g - (sqrt(n') - sqrt(n)) / rate * w; n = n';
// w = |z| <= l1 ? 0 : -(z - sign(z) * l1) / (sqrt(n) / rate + l2).
// Slots: n, from initial_accumulator, and z, set so that the initial weight is what the rule gives.
// TensorFlow's l2 counts twice in that divisor.
std::unique_ptr<Optimizer> MakeFtrl(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_FTRL_H_
