// Heavy-ball momentum, and Nesterov's form of it.
#ifndef CAPSTAN_OPTIM_MOMENTUM_H_
#define CAPSTAN_OPTIM_MOMENTUM_H_

#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// m = momentum * m + g; w -= rate * (nesterov ? g + momentum * m : m). One slot a weight: m, from
// 0.
std::unique_ptr<Optimizer> MakeMomentum(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_MOMENTUM_H_
