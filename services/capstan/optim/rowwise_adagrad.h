// Adagrad with one accumulator for the whole vector, as for large embedding tables.
#ifndef CAPSTAN_OPTIM_ROWWISE_ADAGRAD_H_
#define CAPSTAN_OPTIM_ROWWISE_ADAGRAD_H_

#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// sum += mean(g * g); w -= rate / (sqrt(sum) + epsilon) * g. One slot: sum, from
// initial_accumulator.
std::unique_ptr<Optimizer> MakeRowwiseAdagrad(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_ROWWISE_ADAGRAD_H_
