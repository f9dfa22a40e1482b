// Everything specific to a kind of optimizer is in one .cc file of this folder, which describes it:
// its name and settings in job.yaml, which of their values are possible, and its update rule. All
// code that reads, checks, explains, plans or tests optimizers uses the descriptions.
//
// To add a kind: add a number to OptimizerKind (proto/capstan/v1/job.proto), by which messages and
// checkpoints name it, and a field for each setting of its own; a file mine.cc here, with
//   namespace capstan::mine {
//   std::vector<OptimizerDescription> Describe() { return {{.kind = ..., .name = "mine", ...}}; }
//   }
// and `mine` in the list of kinds in CMakeLists.txt. Tests then say which keys lack their help
// (capstan/config/declared_keys.h), and what docs/job-yaml.md lacks.
//
// To add a kind of your own that is not part of Capstan: write a file anywhere, with an
// OptimizerRegistration, as in deploy/examples/extension/lion.cc. The kind has a number of at least
// kFirstKindOfOnesOwn, and uses existing fields of OptimizerSpec. CMake's
// capstan_add_programs(OPTIMIZERS <its file>) builds it into all programs.
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

// A numeric setting of a kind of optimizer: its key in job.yaml, and its field of OptimizerSpec.
struct OptimizerSetting {
  absl::string_view key;
  double default_value = 0;
  double min = 0;
  double max = 1e30;
  bool open = false;  // `min` itself is excluded.
  float (v1::OptimizerSpec::*get)() const = nullptr;
  void (v1::OptimizerSpec::*set)(float) = nullptr;
};

// A boolean setting, by default false.
struct OptimizerSwitch {
  absl::string_view key;
  void (v1::OptimizerSpec::*set)(bool) = nullptr;
};

// The range of learning rates with which models usually learn.
struct UsualRates {
  double least = 1e-4;
  double most = 1;
};

struct OptimizerDescription {
  v1::OptimizerKind kind = v1::OPTIMIZER_KIND_UNSPECIFIED;
  absl::string_view name;  // In job.yaml; empty: jobs cannot name this kind.
  std::vector<OptimizerSetting> settings = {};
  std::vector<OptimizerSwitch> switches = {};
  UsualRates usual_rates = {};
  bool follows_schedule = true;
  // The update of a weight depends on the gradients of its whole row, so the kind is for tables
  // only.
  bool by_row = false;
  // The kind whose slots have the same meaning: a model trained with that kind can be trained
  // further with this one.
  v1::OptimizerKind slots_of = kind;
  // Sets the fields of a spec that have no key in job.yaml. Null if there are none.
  void (*complete)(v1::OptimizerSpec& spec) = nullptr;
  // INVALID_ARGUMENT: a setting is impossible; the message names it. Null if only the checks common
  // to all kinds are needed.
  absl::Status (*check)(const v1::OptimizerSpec& spec) = nullptr;
  // REQUIRES: `check` has passed.
  std::unique_ptr<Optimizer> (*make)(const v1::OptimizerSpec& spec) = nullptr;

  // Returns the setting with this key; null if this kind has none.
  const OptimizerSetting* FindSetting(absl::string_view key) const;
};

// Capstan's own kinds will always have lower numbers.
inline constexpr int kFirstKindOfOnesOwn = 1000;

// Registers a kind with this program. For variables at namespace scope only. REQUIRES: kind and
// name are registered once.
struct OptimizerRegistration {
  explicit OptimizerRegistration(OptimizerDescription description);
};

// Returns the descriptions of all kinds, ordered by number. REQUIRES: main() has begun, as kinds
// are registered before.
const std::vector<OptimizerDescription>& OptimizerDescriptions();

// Returns the description of a kind; null if there is no such kind.
const OptimizerDescription* FindOptimizer(v1::OptimizerKind kind);

// Returns the name of a kind in job.yaml. If the kind has none, or is unknown, returns its name in
// the enumeration, in lower case; "kind 1077" if it has none there either.
std::string OptimizerName(v1::OptimizerKind kind);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_OPTIMIZER_DESCRIPTION_H_
