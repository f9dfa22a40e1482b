#include "capstan/optim/optimizer_description.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/base/check.h"
#include "capstan/optim/described_kinds.h"

namespace capstan {

namespace {

// Filled before main() and only read afterwards, so that linking a file is enough to add its kind.
std::vector<OptimizerDescription>& Registered() {
  static auto& registered = *new std::vector<OptimizerDescription>();
  return registered;
}

std::vector<OptimizerDescription> Gather() {
  std::vector<OptimizerDescription> all = DescribedKinds();
  all.insert(all.end(), Registered().begin(), Registered().end());
  std::sort(all.begin(), all.end(),
            [](const auto& one, const auto& other) { return one.kind < other.kind; });
  return all;
}

bool IsOneOf(const std::vector<OptimizerDescription>& some, const OptimizerDescription& wanted) {
  return std::any_of(some.begin(), some.end(), [&wanted](const auto& one) {
    return one.kind == wanted.kind || one.name == wanted.name;
  });
}

}  // namespace

OptimizerRegistration::OptimizerRegistration(OptimizerDescription description) {
  CAPSTAN_CHECK(description.kind >= kFirstKindOfOnesOwn);
  CAPSTAN_CHECK(!IsOneOf(DescribedKinds(), description) && !IsOneOf(Registered(), description));
  Registered().push_back(std::move(description));
}

const OptimizerSetting* OptimizerDescription::FindSetting(absl::string_view key) const {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [key](const auto& setting) { return setting.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

const std::vector<OptimizerDescription>& OptimizerDescriptions() {
  static const auto& descriptions = *new std::vector<OptimizerDescription>(Gather());
  return descriptions;
}

const OptimizerDescription* FindOptimizer(v1::OptimizerKind kind) {
  const std::vector<OptimizerDescription>& all = OptimizerDescriptions();
  const auto found =
      std::find_if(all.begin(), all.end(), [kind](const auto& one) { return one.kind == kind; });
  return found == all.end() ? nullptr : &*found;
}

std::string OptimizerName(v1::OptimizerKind kind) {
  const OptimizerDescription* const description = FindOptimizer(kind);
  if (description != nullptr && !description->name.empty()) return std::string(description->name);
  const std::string name = v1::OptimizerKind_Name(kind);
  if (name.empty()) return absl::StrCat("kind ", static_cast<int>(kind));
  return absl::AsciiStrToLower(absl::StripPrefix(name, "OPTIMIZER_KIND_"));
}

}  // namespace capstan
