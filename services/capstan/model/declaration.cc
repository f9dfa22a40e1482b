#include "capstan/model/declaration.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/model/layout.h"
#include "capstan/model/optimizer_groups.h"
#include "capstan/optim/vector_math.h"

namespace capstan {
namespace {

// The initial values pass through the chief's memory.
constexpr uint64_t kMostFloats = uint64_t{1} << 30;
constexpr int kMostTensors = 1 << 20;

std::string ShapeText(const v1::DeclaredTensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.shape(), ", "), "]");
}

std::string RoleText(const v1::DeclaredTensor& tensor) {
  switch (tensor.role()) {
    case v1::TENSOR_ROLE_RUNNING:
      return "running (a buffer)";
    case v1::TENSOR_ROLE_FROZEN:
      return "frozen";
    default:
      return "trained";
  }
}

uint64_t ElementsOf(const v1::DeclaredTensor& tensor) {
  uint64_t count = 1;
  for (const uint32_t extent : tensor.shape()) {
    if (extent > 0 && count > kMostFloats / extent) return kMostFloats + 1;
    count *= extent;
  }
  return count;
}

}  // namespace

std::string DeclarationDifference(const v1::ModelDeclaration& job,
                                  const v1::ModelDeclaration& here) {
  int i = 0;
  int k = 0;
  while (i < job.tensors_size() || k < here.tensors_size()) {
    const bool only_job =
        k == here.tensors_size() ||
        (i < job.tensors_size() && job.tensors(i).name() < here.tensors(k).name());
    if (only_job) {
      return absl::StrCat(job.tensors(i).name(), " of ", ShapeText(job.tensors(i)),
                          " is in the job, and not here");
    }
    const v1::DeclaredTensor& mine = here.tensors(k);
    if (i == job.tensors_size() || mine.name() < job.tensors(i).name()) {
      return absl::StrCat(mine.name(), " of ", ShapeText(mine), " is here, and not in the job");
    }
    const v1::DeclaredTensor& its = job.tensors(i);
    if (ShapeText(its) != ShapeText(mine)) {
      return absl::StrCat(mine.name(), " is ", ShapeText(mine), " here, ", ShapeText(its),
                          " in the job");
    }
    if (its.role() != mine.role()) {
      return absl::StrCat(mine.name(), " is ", RoleText(mine), " here, ", RoleText(its),
                          " in the job");
    }
    ++i;
    ++k;
  }
  const std::string its = absl::StrJoin(job.outputs(), ", ");
  const std::string mine = absl::StrJoin(here.outputs(), ", ");
  if (its == mine) return "";
  return absl::StrCat("predict gives (", mine, ") here, (", its, ") in the job");
}

std::string FactsDifference(const Facts& job, const Facts& here) {
  std::set<std::string> names;
  for (const auto& [name, value] : job) names.insert(name);
  for (const auto& [name, value] : here) names.insert(name);
  const auto in = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("unknown") : found->second;
  };
  std::vector<std::string> differences;
  for (const std::string& name : names) {
    if (in(job, name) == in(here, name)) continue;
    differences.push_back(
        absl::StrCat(name, " is ", in(here, name), " here, and ", in(job, name), " in the job"));
  }
  return absl::StrJoin(differences, "; ");
}

uint64_t ElementsOf(const v1::ModelDeclaration& declaration) {
  uint64_t count = 0;
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) count += ElementsOf(tensor);
  return count;
}

absl::Status CheckDeclaration(const v1::ModelDeclaration& declaration) {
  if (declaration.tensors_size() > kMostTensors) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", declaration.tensors_size(),
                                                   " tensors, more than ", kMostTensors));
  }
  for (int i = 0; i < declaration.tensors_size(); ++i) {
    const v1::DeclaredTensor& tensor = declaration.tensors(i);
    if (tensor.name().empty()) return absl::InvalidArgumentError("a tensor has no name");
    if (i > 0 && tensor.name() <= declaration.tensors(i - 1).name()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", tensor.name(), " is out of order, or declared twice"));
    }
    if (ElementsOf(tensor) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", tensor.name(), " of ", ShapeText(tensor), " has no elements"));
    }
  }
  if (ElementsOf(declaration) > kMostFloats) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's dense tensors have more than ", kMostFloats, " elements"));
  }
  return absl::OkStatus();
}

absl::Status CheckFinite(const v1::ModelDeclaration& declaration, absl::Span<const float> values) {
  size_t begin = 0;
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    size_t elements = 1;
    for (const uint32_t extent : tensor.shape()) elements *= extent;
    if (!AllFinite(values.data() + begin, elements)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", tensor.name(), " begins with values that are not finite numbers"));
    }
    begin += elements;
  }
  return absl::OkStatus();
}

absl::Status CheckNamesInExports(const v1::ModelDeclaration& declaration, const v1::JobSpec& job) {
  std::set<std::string> taken;
  for (const v1::TableSpec& table : job.tables()) {
    for (const char* part : {".keys", ".weights", ".slots"}) taken.insert(table.name() + part);
  }
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    taken.insert(tensor.name() + ".slots");
  }
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    if (tensor.name() == "__metadata__") {  // Reserved by Safetensors.
      return absl::InvalidArgumentError(
          "tensor __metadata__ has the name that the format of exported models keeps to itself; "
          "rename it");
    }
    if (!taken.contains(tensor.name())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", tensor.name(), " has the name that a part of the table or tensor ",
        tensor.name().substr(0, tensor.name().rfind('.')), " has in exported models; rename it"));
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const v1::ModelDeclaration& declaration, const v1::JobSpec& job) {
  std::vector<std::string> trained;
  for (const v1::DeclaredTensor& tensor : declaration.tensors()) {
    if (tensor.role() == v1::TENSOR_ROLE_UNSPECIFIED) trained.push_back(tensor.name());
  }
  return CheckGroups(job, trained);
}

void AddTensors(const v1::ModelDeclaration& declaration, v1::JobSpec& job) {
  job.clear_tensors();
  for (const v1::DeclaredTensor& from : declaration.tensors()) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_id(static_cast<uint32_t>(job.tensors_size() - 1));
    tensor.set_name(from.name());
    *tensor.mutable_shape() = from.shape();
    SetRole(from.role(), OptimizerOfTensor(job, tensor.name()), tensor);
  }
}

}  // namespace capstan
