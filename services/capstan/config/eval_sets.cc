#include "capstan/config/eval_sets.h"

#include <cstdint>

namespace capstan {

// The format is checked, as every job has `synthetic`, filled with defaults.
bool HasHeldOut(const v1::DataSpec& data) {
  const bool synthetic = data.format() == v1::DATA_FORMAT_SYNTHETIC;
  return synthetic ? data.synthetic().eval_rows() > 0 : !data.eval().empty();
}

std::vector<EvalFiles> EvalSetsOf(const v1::DataSpec& data) {
  auto file = data.eval().begin();
  if (data.eval_sets().empty()) return {{.files = {file, data.eval().end()}}};
  std::vector<EvalFiles> sets;
  for (const v1::EvalSet& set : data.eval_sets()) {
    EvalFiles& of = sets.emplace_back(EvalFiles{.name = set.name()});
    for (uint32_t i = 0; i < set.files() && file != data.eval().end(); ++i) {
      of.files.push_back(*file++);
    }
  }
  return sets;
}

}  // namespace capstan
