// Adagrad (Duchi et al., 2011).
#ifndef CAPSTAN_OPTIM_ADAGRAD_H_
#define CAPSTAN_OPTIM_ADAGRAD_H_

#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// sum += g * g; w -= rate * g / (sqrt(sum) + epsilon). One slot a weight: sum, from
// initial_accumulator.
std::unique_ptr<Optimizer> MakeAdagrad(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_ADAGRAD_H_
