// Checks the model that a user's program declares: whether a job can train it, and whether it is
// the model with which the job began. Pure functions.
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

// Describes how the model declared here differs from the job's: the first tensor with another name,
// shape or role, or the number of outputs. Empty if there is no relevant difference.
std::string DeclarationDifference(const v1::ModelDeclaration& job,
                                  const v1::ModelDeclaration& here);

// Named facts on which the bits of a result may depend, such as the version of a library.
using Facts = google::protobuf::Map<std::string, std::string>;

// Describes how the facts here differ from those of the job's model, such as "torch is 2.1.0 here,
// and 1.13.1 in the job". Empty if they do not.
std::string FactsDifference(const Facts& job, const Facts& here);

// Checks that a job can train the model. INVALID_ARGUMENT: names are not in ascending order, or
// tensors have no elements or too many.
absl::Status CheckDeclaration(const v1::ModelDeclaration& declaration);

// INVALID_ARGUMENT: a group of the job's optimizer.dense matches none of the trained tensors.
absl::Status CheckGroups(const v1::ModelDeclaration& declaration, const v1::JobSpec& job);

// Checks the initial values of all tensors, one tensor after the other. INVALID_ARGUMENT: a tensor
// contains NaN or infinity, which shards refuse; the message names the first such tensor. REQUIRES:
// CheckDeclaration is OK.
absl::Status CheckFinite(const v1::ModelDeclaration& declaration, absl::Span<const float> values);

// Checks that no tensor has a name that exports give to tables and to parts of tensors
// (cli/model/exported_model.h), which are written together with the tensors. INVALID_ARGUMENT: a
// tensor has such a name.
absl::Status CheckNamesInExports(const v1::ModelDeclaration& declaration, const v1::JobSpec& job);

// Returns the total number of elements of all tensors. REQUIRES: CheckDeclaration is OK, or the
// result is only compared.
uint64_t ElementsOf(const v1::ModelDeclaration& declaration);

// Adds the tensors of the declaration, in its order, to the job.
void AddTensors(const v1::ModelDeclaration& declaration, v1::JobSpec& job);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_DECLARATION_H_
