// A network whose batches are computed in slices of examples, each on a thread of its own.
#ifndef CAPSTAN_MODEL_PARALLEL_NETWORK_H_
#define CAPSTAN_MODEL_PARALLEL_NETWORK_H_

#include <memory>
#include <vector>

#include "capstan/model/network.h"

namespace capstan {

// `slices`: alike networks, one a thread; the caller's thread computes with the first.
// `mean_gradients`: theirs are those of the mean of the loss (otherwise of the sum). The result
// depends on the number of slices, because the order of additions does, and on nothing else.
// REQUIRES: slices is not empty.
std::unique_ptr<Network> NewParallelNetwork(std::vector<std::unique_ptr<Network>> slices,
                                            bool mean_gradients);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_PARALLEL_NETWORK_H_
