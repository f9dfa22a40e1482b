#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/config/sections.h"
#include "capstan/optim/optimizer_description.h"

namespace capstan {
namespace {

// The kinds of optimizers that have the same default of a setting.
struct OneDefault {
  double value;
  std::vector<absl::string_view> kinds;
};

// Returns the defaults that the kinds of optimizers have of a setting.
std::vector<OneDefault> DefaultsOf(absl::string_view key) {
  std::vector<OneDefault> defaults;
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    const OptimizerSetting* const own = any.FindSetting(key);
    if (any.name.empty() || own == nullptr) continue;
    const auto same = std::find_if(defaults.begin(), defaults.end(), [own](const OneDefault& of) {
      return of.value == own->default_value;
    });
    OneDefault& of =
        same == defaults.end() ? defaults.emplace_back(OneDefault{own->default_value, {}}) : *same;
    of.kinds.push_back(any.name);
  }
  return defaults;
}

// Describes the defaults of a setting that depends on the kind: "1e-8; adagrad, rowwise_adagrad:
// 1e-10". The default of most kinds is given without their names.
std::string DefaultsText(std::vector<OneDefault> defaults) {
  size_t kinds = 0;
  for (const OneDefault& of : defaults) kinds += of.kinds.size();
  const auto is_of_most = [kinds](const OneDefault& of) { return 2 * of.kinds.size() > kinds; };
  std::stable_partition(defaults.begin(), defaults.end(), is_of_most);
  std::vector<std::string> texts;
  for (const OneDefault& of : defaults) {
    const std::string value = TextInUnit(KeyUnit::kNone, of.value);
    texts.push_back(is_of_most(of) ? value
                                   : absl::StrCat(absl::StrJoin(of.kinds, ", "), ": ", value));
  }
  return absl::StrJoin(texts, "; ");
}

std::vector<KeyChoice> Kinds() {
  std::vector<KeyChoice> kinds;
  for (const OptimizerDescription& optimizer : OptimizerDescriptions()) {
    if (!optimizer.name.empty()) kinds.push_back({optimizer.name, optimizer.kind});
  }
  return kinds;
}

v1::OptimizerKind ReadKind(Section& in, v1::OptimizerKind fallback) {
  const std::vector<KeyChoice> kinds = Kinds();
  const absl::string_view name = FindOptimizer(fallback)->name;
  const KeyChoice* const kind = in.Setting("kind", ChoiceKey{.among = kinds, .by_default = name});
  return kind == nullptr ? fallback : static_cast<v1::OptimizerKind>(kind->value);
}

void RefuseForKind(Section& in, absl::string_view key, const OptimizerDescription& optimizer) {
  in.Refuse(key, absl::StrCat("is not a setting of ", optimizer.name));
}

// Reads the keys of all kinds, each once, and refuses keys of other kinds than this one. `base` has
// the values of keys that the section does not set; null: they have their defaults.
void ReadSettings(Section& in, const OptimizerDescription& optimizer, const v1::OptimizerSpec* base,
                  v1::OptimizerSpec& out) {
  std::set<absl::string_view> seen;
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    for (const OptimizerSetting& setting : any.settings) {
      if (!seen.insert(setting.key).second) continue;
      const OptimizerSetting* const own = optimizer.FindSetting(setting.key);
      const OptimizerSetting& read = own == nullptr ? setting : *own;
      const bool inherits = base != nullptr && own != nullptr;
      const double fallback = inherits ? (base->*own->get)() : read.default_value;
      const double value = in.Setting(read.key, {read.min, read.max, read.open}, fallback);
      const std::vector<OneDefault> defaults = DefaultsOf(setting.key);
      if (defaults.size() > 1) in.DefaultIs(setting.key, DefaultsText(defaults));
      if (own != nullptr) (out.*own->set)(static_cast<float>(value));
      if (own == nullptr && in.Has(read.key)) RefuseForKind(in, read.key, optimizer);
    }
  }
}

// `inherits`: keys that the section does not set keep the values in `out`.
void ReadSwitches(Section& in, const OptimizerDescription& optimizer, bool inherits,
                  v1::OptimizerSpec& out) {
  std::set<absl::string_view> seen;  // Several kinds may have a switch of one key.
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    for (const OptimizerSwitch& of : any.switches) {
      if (!seen.insert(of.key).second) continue;
      const auto own =
          std::find_if(optimizer.switches.begin(), optimizer.switches.end(),
                       [&of](const OptimizerSwitch& each) { return each.key == of.key; });
      const bool value = in.Setting(of.key, FlagKey{});
      if (own == optimizer.switches.end()) {
        if (in.Has(of.key)) RefuseForKind(in, of.key, optimizer);
      } else if (in.Has(of.key) || !inherits) {
        (out.*own->set)(value);
      }
    }
  }
}

void ReadSchedule(Section in, v1::ScheduleSpec& out) {
  out.set_kind(in.OneOf<v1::ScheduleKind>("kind"));
  out.set_warmup_examples(in.Whole("warmup_examples"));
  out.set_decay_examples(in.Whole("decay_examples"));
  out.set_decay_rate(in.Number("decay_rate"));
  out.set_floor(in.Number("floor"));
  const bool constant = out.kind() == v1::SCHEDULE_KIND_UNSPECIFIED;
  const bool has_rate = !constant && out.kind() != v1::SCHEDULE_KIND_COSINE;
  const auto check = [&in](absl::string_view key, bool wanted) {
    if (in.Has(key) == wanted) return;
    in.Refuse(key, wanted ? "is missing" : "means nothing to this kind of schedule");
  };
  check("decay_examples", !constant);
  check("decay_rate", has_rate);
  if (constant && in.Has("floor")) check("floor", false);
}

// `base` is the optimizer whose settings apply where this section sets none, if both are of one
// kind; null: the defaults apply.
void ReadBeside(Section& in, v1::OptimizerKind fallback, const v1::OptimizerSpec* base,
                v1::OptimizerSpec& out) {
  out.set_kind(ReadKind(in, fallback));
  const OptimizerDescription& optimizer = *FindOptimizer(out.kind());
  if (base != nullptr && base->kind() != out.kind()) base = nullptr;
  if (base != nullptr) out = *base;
  ReadSettings(in, optimizer, base, out);
  ReadSwitches(in, optimizer, /*inherits=*/base != nullptr, out);
  v1::ScheduleSpec schedule;
  ReadSchedule(in.Map("schedule"), schedule);
  if (in.Has("schedule") || base == nullptr) *out.mutable_schedule() = schedule;
  if (!optimizer.follows_schedule && in.Has("schedule")) RefuseForKind(in, "schedule", optimizer);
  if (optimizer.complete != nullptr) optimizer.complete(out);
}

// Optimizers by row are for tables only, as tensors have no rows.
void RefuseByRow(Section& in, const v1::OptimizerSpec& of) {
  std::vector<absl::string_view> names;
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    if (!any.name.empty() && !any.by_row) names.push_back(any.name);
  }
  in.ValuesAre("kind", absl::StrJoin(names, ", "));
  const OptimizerDescription& optimizer = *FindOptimizer(of.kind());
  if (!optimizer.by_row) return;
  in.Refuse("kind", absl::StrCat(optimizer.name, " is for rows of tables; expected another"));
}

// What a group does not set is as in optimizer.dense.
void TellWhatGroupsInherit(Section& in) {
  std::set<std::string> keys = {"kind", "schedule"};
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    for (const OptimizerSetting& setting : any.settings) keys.emplace(setting.key);
    for (const OptimizerSwitch& of : any.switches) keys.emplace(of.key);
  }
  for (const std::string& key : keys) in.DefaultIs(key, "`optimizer.dense." + key + "`");
}

}  // namespace

void ReadOptimizer(Section& in, v1::OptimizerKind fallback, v1::OptimizerSpec& out) {
  ReadBeside(in, fallback, /*base=*/nullptr, out);
}

void ReadDenseOptimizer(Section& in, v1::JobSpec& spec) {
  v1::OptimizerSpec& dense = *spec.mutable_dense_optimizer();
  ReadOptimizer(in, v1::OPTIMIZER_KIND_ADAM, dense);
  RefuseByRow(in, dense);
  in.ForEach("groups", [&](Section& item) {
    v1::OptimizerGroup& group = *spec.add_dense_groups();
    for (const std::string& pattern : item.Texts("match")) group.add_match(pattern);
    if (group.match().empty()) {
      item.Refuse("match", "is missing; expected names of tensors, such as \"*.bias\"");
    }
    ReadBeside(item, dense.kind(), &dense, *group.mutable_optimizer());
    RefuseByRow(item, group.optimizer());
    TellWhatGroupsInherit(item);
  });
}

}  // namespace capstan
