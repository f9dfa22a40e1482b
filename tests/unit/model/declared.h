// A model that a program declares, for tests of what is made of it.
#ifndef TESTS_UNIT_MODEL_DECLARED_H_
#define TESTS_UNIT_MODEL_DECLARED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"

namespace capstan {

struct Declared {
  std::string name;
  std::vector<uint32_t> shape;
  v1::TensorRole role = v1::TENSOR_ROLE_UNSPECIFIED;
};

inline v1::ModelDeclaration Declaration(const std::vector<Declared>& tensors) {
  v1::ModelDeclaration declaration;
  for (const Declared& from : tensors) {
    v1::DeclaredTensor& tensor = *declaration.add_tensors();
    tensor.set_name(from.name);
    tensor.mutable_shape()->Add(from.shape.begin(), from.shape.end());
    tensor.set_role(from.role);
  }
  declaration.set_declared_by("worker-0");
  return declaration;
}

inline const std::vector<Declared> kModel = {{"bn.running_mean", {2}, v1::TENSOR_ROLE_RUNNING},
                                             {"fc.weight", {2, 3}}};

}  // namespace capstan

#endif  // TESTS_UNIT_MODEL_DECLARED_H_
