// The descriptions of the files that CMakeLists.txt lists. Its .cc is made from that list.
#ifndef CAPSTAN_OPTIM_DESCRIBED_KINDS_H_
#define CAPSTAN_OPTIM_DESCRIBED_KINDS_H_

#include <vector>

#include "capstan/optim/optimizer_description.h"

namespace capstan {

// In no particular order.
std::vector<OptimizerDescription> DescribedKinds();

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_DESCRIBED_KINDS_H_
