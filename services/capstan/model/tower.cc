#include "capstan/model/tower.h"

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/check.h"
#include "capstan/model/towers/towers.h"

namespace capstan {
namespace {

// Filled before main() and only read afterwards. The only registry of the program, so that linking
// a file is enough to add a tower.
std::map<std::string, TowerFactory>& Factories() {
  static auto& factories = *new std::map<std::string, TowerFactory>{
      {"bias", NewBias}, {"conv", NewConv},     {"cross", NewCross}, {"dot", NewDot},
      {"fm", NewFm},     {"linear", NewLinear}, {"mlp", NewMlp},
  };
  return factories;
}

}  // namespace

TowerRegistration::TowerRegistration(std::string_view kind, TowerFactory factory) {
  const bool is_new = Factories().emplace(kind, factory).second;
  CAPSTAN_CHECK(is_new);
}

absl::StatusOr<std::unique_ptr<Tower>> MakeTower(const v1::TowerSpec& spec,
                                                 const ModelShape& shape) {
  const auto found = Factories().find(spec.kind());
  if (found == Factories().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tower ", spec.name(), ": kind \"", spec.kind(), "\" is not one of ",
                     absl::StrJoin(TowerKinds(), ", "),
                     "; a tower of your own is built into chief, worker and capstan by "
                     "CMake's capstan_add_programs(TOWERS <its file>)"));
  }
  absl::StatusOr<std::unique_ptr<Tower>> tower = found->second(spec, shape);
  if (tower.ok()) return tower;
  return absl::Status(tower.status().code(),
                      absl::StrCat("tower ", spec.name(), ": ", tower.status().message()));
}

std::vector<std::string> TowerKinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, factory] : Factories()) kinds.push_back(kind);
  return kinds;
}

int ModelShape::embedding_columns() const {
  if (pooled.empty()) return fields * embedding_dim;
  int columns = 0;
  for (const PooledShape& feature : pooled) columns += feature.dim;
  return columns;
}

absl::Status CheckFeatures(const ModelShape& shape) {
  if (shape.has_keys && shape.fields == 0) {
    return absl::InvalidArgumentError(
        "needs the same number of keys in every record; where the data have it, say how many, such "
        "as data.fields: 16");
  }
  if (shape.fields > 0 && shape.embedding_columns() == 0) {
    return absl::InvalidArgumentError("needs model.embedding_dim, at least 1");
  }
  if (shape.feature_columns() == 0) {
    return absl::InvalidArgumentError("the data has neither keys nor numbers");
  }
  return absl::OkStatus();
}

absl::Status CheckOneDim(const ModelShape& shape) {
  for (const PooledShape& feature : shape.pooled) {
    const PooledShape& first = shape.pooled.front();
    if (feature.dim == first.dim) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "multiplies the embeddings of features, which have different dims: ", first.name, " has ",
        first.dim, ", ", feature.name, " has ", feature.dim,
        "; give their tables one dim (tables.<name>.dim), or take a model whose towers stand them "
        "side by side, such as wide_deep or dcn_v2"));
  }
  return absl::OkStatus();
}

}  // namespace capstan
