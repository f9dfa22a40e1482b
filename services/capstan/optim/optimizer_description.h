// What is particular to a kind of optimizer stands in one .cc of this folder, which describes it:
// its name and settings in job.yaml, which of their values are possible, and its rule. Whoever
// reads, checks, explains, plans or tests optimizers asks for the descriptions.
//
// To add one: a number in OptimizerKind (proto/capstan/v1/job.proto), by which messages and
// checkpoints name it, with a field for each setting of its own; a file mine.cc here, with
//   namespace capstan::mine {
//   std::vector<OptimizerDescription> Describe() { return {{.kind = ..., .name = "mine", ...}}; }
//   }
// and `mine` among the kinds in CMakeLists.txt. A test says what docs/job-yaml.md lacks then.
//
// One of your own, which is no part of Capstan: a file anywhere, with an OptimizerRegistration, as
// deploy/examples/extension/lion.cc has it. It takes a number from kFirstKindOfOnesOwn on, and
// fields of OptimizerSpec that there are. CMake's capstan_add_programs(OPTIMIZERS <its file>)
// builds it into all programs.
#ifndef CAPSTAN_OPTIM_OPTIMIZER_DESCRIPTION_H_
#define CAPSTAN_OPTIM_OPTIMIZER_DESCRIPTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "capstan/optim/optimizer.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// A number that a kind of optimizer has: a key of job.yaml, and a field of OptimizerSpec.
struct OptimizerSetting {
  absl::string_view key;
  double default_value = 0;
  double min = 0;
  double max = 1e30;
  bool open = false;  // `min` itself is excluded.
  float (v1::OptimizerSpec::*get)() const = nullptr;
  void (v1::OptimizerSpec::*set)(float) = nullptr;
};

// The same of what is true or false; false unless job.yaml says otherwise.
struct OptimizerSwitch {
  absl::string_view key;
  void (v1::OptimizerSpec::*set)(bool) = nullptr;
};

// Learning rates with which models usually learn.
struct UsualRates {
  double least = 1e-4;
  double most = 1;
};

struct OptimizerDescription {
  v1::OptimizerKind kind = v1::OPTIMIZER_KIND_UNSPECIFIED;
  absl::string_view name;  // In job.yaml; empty: no job asks for it by name.
  std::vector<OptimizerSetting> settings = {};
  std::vector<OptimizerSwitch> switches = {};
  UsualRates usual_rates = {};
  bool follows_schedule = true;
  // What it does to a weight depends on the gradients of its whole row: it is for tables alone.
  bool by_row = false;
  // The kind whose slots mean the same, so that a model may go on with this one instead.
  v1::OptimizerKind slots_of = kind;
  // Sets those fields of a spec that job.yaml has no key for. Null: there are none.
  void (*complete)(v1::OptimizerSpec& spec) = nullptr;
  // INVALID_ARGUMENT names the setting that is impossible. Null: all are possible, beside what is
  // asked of every kind.
  absl::Status (*check)(const v1::OptimizerSpec& spec) = nullptr;
  // REQUIRES: `check` has passed.
  std::unique_ptr<Optimizer> (*make)(const v1::OptimizerSpec& spec) = nullptr;

  // Null: this kind has no such setting.
  const OptimizerSetting* FindSetting(absl::string_view key) const;
};

// Capstan's own kinds never have a number so high.
inline constexpr int kFirstKindOfOnesOwn = 1000;

// Makes a kind known to this program. Only for variables of namespace scope; a kind and a name are
// registered once.
struct OptimizerRegistration {
  explicit OptimizerRegistration(OptimizerDescription description);
};

// The descriptions of all kinds, ascending by number. Call it from main() on: until then kinds are
// registered.
const std::vector<OptimizerDescription>& OptimizerDescriptions();

// Null: there is no such kind.
const OptimizerDescription* FindOptimizer(v1::OptimizerKind kind);

// The name in job.yaml; of a kind that has none, or is unknown, what the enumeration calls it, in
// lower case.
std::string OptimizerName(v1::OptimizerKind kind);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_OPTIMIZER_DESCRIPTION_H_
