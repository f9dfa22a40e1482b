// The optimizers as the tests try them: each kind with settings in which every term counts.
#ifndef CAPSTAN_TESTS_UNIT_OPTIM_SPECS_H_
#define CAPSTAN_TESTS_UNIT_OPTIM_SPECS_H_

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

struct NamedSpec {
  std::string name;
  v1::OptimizerSpec spec;
  friend std::ostream& operator<<(std::ostream& out, const NamedSpec& named) {
    return out << named.name;
  }
};

// Plain settings of every kind that is described, with each of its switches, and all of these once
// more with weight decay and clipping, for kinds that have them.
std::vector<NamedSpec> AllSpecs();

// Settings with which each term of the kind's rule counts. REQUIRES: the kind is described.
v1::OptimizerSpec PlainSpec(v1::OptimizerKind kind);

// Weights with the slots that an optimizer wants beside them.
class OwnedParameters {
 public:
  OwnedParameters(const Optimizer& optimizer, std::vector<float> weights, float learning_rate);
  Parameters view() { return {weights.data(), slots.data(), weights.size()}; }

  std::vector<float> weights;
  std::vector<float> slots;
};

// `count` different values of both signs, of magnitude up to about `scale`.
std::vector<float> SomeFloats(size_t count, int seed, float scale = 1);

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_OPTIM_SPECS_H_
