
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/sections.h"

namespace capstan {
namespace {

// A setting that only one choice has, and may require.
struct Dependence {
  absl::string_view key;
  absl::string_view on;  // "policy: ssp"
  bool holds;
  bool needed;
};

void Check(Section& in, const Dependence& dependence) {
  const bool has = in.Has(dependence.key);
  if (has && !dependence.holds) {
    in.Refuse(dependence.key, absl::StrCat("is only for ", dependence.on));
  }
  if (!has && dependence.holds && dependence.needed) {
    in.Refuse(dependence.key, absl::StrCat("is missing: ", dependence.on, " needs it"));
  }
}

void CheckSettings(Section& in, bool lanes_needed, const v1::UpdatePolicy& policy) {
  const bool sync = policy.kind() == v1::POLICY_KIND_SYNC;
  const v1::StaleGradients stale = policy.stale_gradients();
  const Dependence dependences[] = {
      {"aggregate", "policy: async", policy.kind() == v1::POLICY_KIND_ASYNC, false},
      {"staleness", "policy: ssp", policy.kind() == v1::POLICY_KIND_SSP, true},
      {"lanes", "policy: sync", sync, lanes_needed},
      {"backup_workers", "policy: sync", sync, false},
      {"stale_gradients", "policy: async and ssp", !sync, false},
      {"lambda", "stale_gradients: compensate", stale == v1::STALE_GRADIENTS_COMPENSATE, false},
      {"drop_above", "stale_gradients: drop", stale == v1::STALE_GRADIENTS_DROP, true},
  };
  for (const Dependence& dependence : dependences) Check(in, dependence);
  if (sync && policy.lanes() > 0 && policy.backup_workers() >= policy.lanes()) {
    in.Refuse("backup_workers",
              absl::StrCat(policy.backup_workers(), " is not less than lanes, ", policy.lanes()));
  }
}

}  // namespace

void ReadUpdatePolicy(Section& in, uint32_t default_lanes, v1::UpdatePolicy& out) {
  out.set_kind(in.OneOf<v1::PolicyKind>("policy"));
  const bool sync = out.kind() == v1::POLICY_KIND_SYNC;
  out.set_aggregate(in.Whole("aggregate"));
  out.set_staleness(in.Whole("staleness"));
  out.set_lanes(in.Whole("lanes", sync ? default_lanes : 0));
  out.set_backup_workers(in.Whole("backup_workers"));
  out.set_stale_gradients(in.OneOf<v1::StaleGradients>("stale_gradients"));
  out.set_compensate_lambda(static_cast<float>(in.Number("lambda")));
  out.set_drop_above(in.Whole("drop_above"));
  CheckSettings(in, default_lanes == 0, out);
}

}  // namespace capstan
