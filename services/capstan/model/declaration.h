// Checks what a user's program declares of its model: whether a job can train it, and whether it is
// the model that the job began with. Pure functions.
#ifndef CAPSTAN_MODEL_DECLARATION_H_
#define CAPSTAN_MODEL_DECLARATION_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "google/protobuf/map.h"

namespace capstan {

// Says in what the model declared here differs from the job's: the first tensor with another name,
// shape or role, or the number of outputs. Empty: in nothing that matters.
std::string DeclarationDifference(const v1::ModelDeclaration& job,
                                  const v1::ModelDeclaration& here);

// Facts that the bits of a result may depend on, such as the version of a library, by name.
using Facts = google::protobuf::Map<std::string, std::string>;

// Says in what the facts here differ from those of the job's model, such as "torch is 2.1.0 here,
// and 1.13.1 in the job". Empty: in nothing.
std::string FactsDifference(const Facts& job, const Facts& here);

// Checks that a job can train the model. INVALID_ARGUMENT: names do not ascend, or tensors have no
// elements or too many.
absl::Status CheckDeclaration(const v1::ModelDeclaration& declaration);

// INVALID_ARGUMENT: a group of the job's optimizer.dense has none of the tensors that are trained.
absl::Status CheckGroups(const v1::ModelDeclaration& declaration, const v1::JobSpec& job);

// Checks the initial values of all tensors, one tensor after the other. INVALID_ARGUMENT: a tensor
// holds NaN or infinity, which shards refuse; the message names the first such tensor. REQUIRES:
// CheckDeclaration is OK.
absl::Status CheckFinite(const v1::ModelDeclaration& declaration, absl::Span<const float> values);

// Checks names against those that exports give to tables and to parts of tensors
// (cli/model/exported_model.h), beside which tensors stand there. INVALID_ARGUMENT: a tensor has
// such a name.
absl::Status CheckNamesInExports(const v1::ModelDeclaration& declaration, const v1::JobSpec& job);

// Returns the number of elements of all tensors. REQUIRES: CheckDeclaration is OK, or the result is
// only compared.
uint64_t ElementsOf(const v1::ModelDeclaration& declaration);

// Adds the tensors of the declaration, in its order, to the job.
void AddTensors(const v1::ModelDeclaration& declaration, v1::JobSpec& job);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_DECLARATION_H_
