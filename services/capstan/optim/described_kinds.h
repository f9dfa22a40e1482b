// The descriptions of the kinds of optimizers that CMakeLists.txt lists. The .cc file is generated
// from that list.
#ifndef CAPSTAN_OPTIM_DESCRIBED_KINDS_H_
#define CAPSTAN_OPTIM_DESCRIBED_KINDS_H_

#include <vector>

#include "capstan/optim/optimizer_description.h"

namespace capstan {

// Returns the descriptions in no particular order.
std::vector<OptimizerDescription> DescribedKinds();

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_DESCRIBED_KINDS_H_
