#include "chief/state/checkpoint_catalog.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "capstan/model/metrics.h"

namespace capstan::chief {
namespace {

// The usual metrics: the first of these that a checkpoint has is used.
constexpr std::array<const char*, 5> kMetrics = {"auc", "accuracy", "logloss", "rmse", "loss"};

auto Age(const CheckpointFacts& facts) { return std::tie(facts.timeline, facts.step, facts.id); }

// Returns the metric `name` of a checkpoint, negated if less is better; nullopt if the checkpoint
// has no such metric, or it is NaN.
std::optional<double> GoodnessBy(const std::string& name, const CheckpointFacts& facts) {
  const auto metric = facts.metrics.find(name);
  if (metric == facts.metrics.end() || std::isnan(metric->second)) return std::nullopt;
  return MoreIsBetter(name) ? metric->second : -metric->second;
}

// The same for the metric `wanted` or, if that is empty, for the first of kMetrics that exists.
std::optional<double> Goodness(const CheckpointFacts& facts, const std::string& wanted) {
  if (!wanted.empty()) return GoodnessBy(wanted, facts);
  for (const char* name : kMetrics) {
    if (const std::optional<double> goodness = GoodnessBy(name, facts)) return goodness;
  }
  return std::nullopt;
}

}  // namespace

CheckpointFacts FactsOf(const v1::Manifest& manifest, absl::Time at) {
  CheckpointFacts facts{.id = manifest.id(),
                        .parent = manifest.parent(),
                        .timeline = manifest.timeline(),
                        .step = manifest.step(),
                        .examples = manifest.progress().examples(),
                        .metrics = {manifest.metrics().begin(), manifest.metrics().end()},
                        .held_out = manifest.held_out(),
                        .at = at};
  for (const v1::SavedFile& file : manifest.files()) facts.bytes += file.bytes();
  return facts;
}

void CheckpointCatalog::Add(CheckpointFacts facts) {
  Remove(facts.id);
  const auto place = std::upper_bound(facts_.begin(), facts_.end(), facts,
                                      [](const auto& a, const auto& b) { return Age(a) < Age(b); });
  facts_.insert(place, std::move(facts));
}

void CheckpointCatalog::Remove(const std::string& id) {
  std::erase_if(facts_, [&](const CheckpointFacts& facts) { return facts.id == id; });
}

void CheckpointCatalog::GoOnFrom(const std::string& id, uint64_t timeline) {
  const CheckpointFacts* from = Find(id);
  if (from == nullptr) return;
  const CheckpointFacts base = *from;
  for (CheckpointFacts facts : std::vector<CheckpointFacts>(facts_)) {
    if (facts.timeline > timeline || !(Age(base) < Age(facts))) continue;
    facts.timeline = 0;
    Add(std::move(facts));
  }
}

const CheckpointFacts* CheckpointCatalog::Find(const std::string& id) const {
  const auto found = std::find_if(facts_.begin(), facts_.end(),
                                  [&](const CheckpointFacts& facts) { return facts.id == id; });
  return found == facts_.end() ? nullptr : &*found;
}

const CheckpointFacts* CheckpointCatalog::best() const {
  const CheckpointFacts* best = nullptr;
  std::optional<double> most;
  for (const CheckpointFacts& facts : facts_) {
    const std::optional<double> goodness = Goodness(facts, options_.metric);
    if (!goodness || (most && *goodness <= *most)) continue;
    most = goodness;
    best = &facts;
  }
  return best;
}

bool CheckpointCatalog::Surpasses(const std::map<std::string, double>& metrics) const {
  const CheckpointFacts* before = best();
  const CheckpointFacts facts{.metrics = metrics};
  return Goodness(facts, options_.metric) && (before == nullptr || Better(facts, before->metrics));
}

bool CheckpointCatalog::Better(const CheckpointFacts& facts,
                               std::map<std::string, double> metrics) const {
  const std::optional<double> one = Goodness(facts, options_.metric);
  if (!one) return false;
  const auto wanted = metrics.find(options_.metric);
  // The training behind `metrics` has diverged.
  if (wanted != metrics.end() && std::isnan(wanted->second)) return true;
  const std::optional<double> other = Goodness({.metrics = std::move(metrics)}, options_.metric);
  return other && *one > *other;
}

std::optional<uint32_t> CheckpointCatalog::DeltasOf(const std::string& id) const {
  const CheckpointFacts* facts = Find(id);
  for (uint32_t deltas = 0; facts != nullptr && deltas <= facts_.size(); ++deltas) {
    if (facts->parent.empty()) return deltas;
    facts = Find(facts->parent);
  }
  return std::nullopt;
}

std::vector<std::string> CheckpointCatalog::Superfluous() const {
  std::set<std::string> kept;
  const auto keep = [&](const CheckpointFacts* facts) {
    while (facts != nullptr && kept.insert(facts->id).second) facts = Find(facts->parent);
  };
  for (size_t i = 0; i < std::min<size_t>(std::max(options_.keep, 1u), facts_.size()); ++i) {
    keep(&facts_[facts_.size() - 1 - i]);
  }
  keep(best());
  std::vector<std::string> superfluous;
  for (size_t i = facts_.size(); i-- > 0;) {
    if (!kept.contains(facts_[i].id)) superfluous.push_back(facts_[i].id);
  }
  // Sorted by age alone, a parent might come before its deltas: GoOnFrom makes checkpoints count as
  // older than the one on which they build.
  std::stable_sort(superfluous.begin(), superfluous.end(), [this](const auto& a, const auto& b) {
    return DeltasOf(a).value_or(0) > DeltasOf(b).value_or(0);
  });
  return superfluous;
}

}  // namespace capstan::chief
