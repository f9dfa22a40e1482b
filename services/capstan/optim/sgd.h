// w -= rate * g.
#ifndef CAPSTAN_OPTIM_SGD_H_
#define CAPSTAN_OPTIM_SGD_H_

#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// No slots.
std::unique_ptr<Optimizer> MakeSgd(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_SGD_H_
