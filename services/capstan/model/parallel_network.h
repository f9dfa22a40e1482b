// A network whose batches are computed in slices of examples, by several threads.
#ifndef CAPSTAN_MODEL_PARALLEL_NETWORK_H_
#define CAPSTAN_MODEL_PARALLEL_NETWORK_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "capstan/model/network.h"

namespace capstan {

// `slices`: alike networks, each for an equal part of the examples. More of them than `threads`
// keep these busy where one gets less of a core than the other, and cost a sum of gradients each.
// `mean_gradients`: theirs are those of the mean of the loss (otherwise of the sum). The result
// depends on the number of slices, because the order of additions does, and on nothing else.
// REQUIRES: slices is not empty, threads >= 1.
std::unique_ptr<Network> NewParallelNetwork(std::vector<std::unique_ptr<Network>> slices,
                                            size_t threads, bool mean_gradients);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_PARALLEL_NETWORK_H_
