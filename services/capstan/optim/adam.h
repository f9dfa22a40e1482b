// Adam (Kingma and Ba, 2014) and AdamW (Loshchilov and Hutter, 2017), lazy: a row that has no
// gradient stays.
#ifndef CAPSTAN_OPTIM_ADAM_H_
#define CAPSTAN_OPTIM_ADAM_H_

#include <memory>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// t += 1; m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g * g;
// w -= rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon), where t counts this vector's
// own updates. AdamW first shrinks w by rate * weight_decay. Slots: m and v, from 0, then t (a
// uint32).
std::unique_ptr<Optimizer> MakeAdam(const v1::OptimizerSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_ADAM_H_
