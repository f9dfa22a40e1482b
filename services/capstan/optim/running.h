// For what is not trained: the increments that steps have found.
#ifndef CAPSTAN_OPTIM_RUNNING_H_
#define CAPSTAN_OPTIM_RUNNING_H_

#include <memory>

#include "capstan/optim/optimizer.h"

namespace capstan {

// w -= g, whatever the learning rate. No clipping, no decay. No slots.
std::unique_ptr<Optimizer> MakeRunning();

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_RUNNING_H_
