// A network whose batches are computed in slices of examples, by several threads.
#ifndef CAPSTAN_MODEL_PARALLEL_NETWORK_H_
#define CAPSTAN_MODEL_PARALLEL_NETWORK_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "capstan/model/network.h"

namespace capstan {

// Returns a network that splits each batch over `slices`, which are equal networks, each for an
// equal part of the examples. More slices than `threads` keep all threads busy if one gets less CPU
// time than another, but each costs one more addition of gradients. `mean_gradients`: the slices
// compute gradients of the mean of the loss (otherwise of the sum). The order of additions, and so
// the result, depends on the number of slices, but not on the threads. REQUIRES: slices is not
// empty, threads >= 1.
std::unique_ptr<Network> NewParallelNetwork(std::vector<std::unique_ptr<Network>> slices,
                                            size_t threads, bool mean_gradients);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_PARALLEL_NETWORK_H_
