#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/sections.h"
#include "capstan/optim/optimizer_description.h"

namespace capstan {
namespace {

constexpr Choice<v1::ScheduleKind> kSchedules[] = {
    {"constant", v1::SCHEDULE_KIND_UNSPECIFIED},
    {"step", v1::SCHEDULE_KIND_STEP},
    {"cosine", v1::SCHEDULE_KIND_COSINE},
    {"exponential", v1::SCHEDULE_KIND_EXPONENTIAL},
};

std::vector<Choice<v1::OptimizerKind>> Kinds() {
  std::vector<Choice<v1::OptimizerKind>> kinds;
  for (const OptimizerDescription& optimizer : OptimizerDescriptions()) {
    if (!optimizer.name.empty()) kinds.push_back({optimizer.name, optimizer.kind});
  }
  return kinds;
}

void RefuseForKind(Section& in, absl::string_view key, const OptimizerDescription& optimizer) {
  in.Refuse(key, absl::StrCat("is not a setting of ", optimizer.name));
}

// The keys of all kinds, each once; those of other kinds are refused.
void ReadSettings(Section& in, const OptimizerDescription& optimizer, v1::OptimizerSpec& out) {
  std::set<absl::string_view> seen;
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    for (const OptimizerSetting& setting : any.settings) {
      if (!seen.insert(setting.key).second) continue;
      const OptimizerSetting* const own = optimizer.FindSetting(setting.key);
      const OptimizerSetting& read = own == nullptr ? setting : *own;
      const double value = in.Number(read.key, {read.min, read.max, read.open}, read.default_value);
      if (own != nullptr) (out.*own->set)(static_cast<float>(value));
      if (own == nullptr && in.Has(read.key)) RefuseForKind(in, read.key, optimizer);
    }
  }
}

void ReadSwitches(Section& in, const OptimizerDescription& optimizer, v1::OptimizerSpec& out) {
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    for (const OptimizerSwitch& of : any.switches) {
      const bool value = in.Flag(of.key, false);
      if (any.kind == optimizer.kind) {
        (out.*of.set)(value);
      } else if (in.Has(of.key)) {
        RefuseForKind(in, of.key, optimizer);
      }
    }
  }
}

void ReadSchedule(Section in, v1::ScheduleSpec& out) {
  out.set_kind(in.OneOf<v1::ScheduleKind>("kind", kSchedules, v1::SCHEDULE_KIND_UNSPECIFIED));
  out.set_warmup_examples(in.Whole("warmup_examples", {}, 0));
  out.set_decay_examples(in.Whole("decay_examples", {.min = 1}, 0));
  out.set_decay_rate(in.Number("decay_rate", {.max = 1, .open = true}, 0));
  out.set_floor(in.Number("floor", {.max = 1}, 0));
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

}  // namespace

void ReadOptimizer(Section& in, v1::OptimizerKind fallback, v1::OptimizerSpec& out) {
  out.set_kind(in.OneOf<v1::OptimizerKind>("kind", Kinds(), fallback));
  const OptimizerDescription& optimizer = *FindOptimizer(out.kind());
  ReadSettings(in, optimizer, out);
  ReadSwitches(in, optimizer, out);
  ReadSchedule(in.Map("schedule"), *out.mutable_schedule());
  if (!optimizer.follows_schedule && in.Has("schedule")) RefuseForKind(in, "schedule", optimizer);
  if (optimizer.complete != nullptr) optimizer.complete(out);
}

}  // namespace capstan
