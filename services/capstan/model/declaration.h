// What a user's program declares of its model: whether a job can train it, and whether it is the
// job's. Pure functions.
#ifndef CAPSTAN_MODEL_DECLARATION_H_
#define CAPSTAN_MODEL_DECLARATION_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "google/protobuf/map.h"

namespace capstan {

// In what the model declared here differs from the job's: the first name, shape or role, or the
// outputs. Empty: in nothing that matters.
std::string DeclarationDifference(const v1::ModelDeclaration& job,
                                  const v1::ModelDeclaration& here);

// What the bits of a result may depend on, by its name.
using Facts = google::protobuf::Map<std::string, std::string>;

// In what the facts here differ from those of the job's model, such as "torch is 2.1.0 here, and
// 1.13.1 in the job". Empty: in nothing.
std::string FactsDifference(const Facts& job, const Facts& here);

// INVALID_ARGUMENT: what no job can train: names that do not ascend, or tensors without elements,
// or with too many.
absl::Status CheckDeclaration(const v1::ModelDeclaration& declaration);

// INVALID_ARGUMENT: a group of the job's optimizer.dense has none of the tensors that are trained.
absl::Status CheckGroups(const v1::ModelDeclaration& declaration, const v1::JobSpec& job);

// Elements of all tensors. REQUIRES: CheckDeclaration is OK, or the result is only compared.
uint64_t ElementsOf(const v1::ModelDeclaration& declaration);

// Gives the job the tensors of the declaration, in its order.
void AddTensors(const v1::ModelDeclaration& declaration, v1::JobSpec& job);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_DECLARATION_H_
