#include "capstan/model/group_auc.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"

namespace capstan {
namespace {

// The group of a record whose cell is empty, or null. It is not known who such records belong to,
// so they are not compared with each other.
constexpr uint64_t kNoGroup = HashText("");
constexpr uint32_t kMostHalvings = 63;

bool Holds(uint32_t halvings, uint64_t group) {
  return halvings == 0 || group >> (64 - halvings) == 0;
}

size_t SizeOf(const v1::GroupSample& sample) { return static_cast<size_t>(sample.groups_size()); }

struct Example {
  uint64_t group = 0;
  float logit = 0;
  float weight = 1;
  bool positive = false;
};

Example ExampleAt(const v1::GroupSample& sample, int i) {
  return {sample.groups(i), sample.logits(i), sample.weights(i), sample.positives(i)};
}

void Append(const Example& example, v1::GroupSample& sample) {
  sample.add_groups(example.group);
  sample.add_logits(example.logit);
  sample.add_weights(example.weight);
  sample.add_positives(example.positive);
}

// Keeps only the groups that belong to a sample which was halved `halvings` times.
void KeepBelow(uint32_t halvings, v1::GroupSample& sample) {
  v1::GroupSample kept;
  kept.set_halvings(halvings);
  for (int i = 0; i < sample.groups_size(); ++i) {
    if (Holds(halvings, sample.groups(i))) Append(ExampleAt(sample, i), kept);
  }
  sample.Swap(&kept);
}

// Halves the sample's groups until it has at most `most` examples, or one group.
void Shrink(size_t most, v1::GroupSample& sample) {
  while (SizeOf(sample) > most && HalveGroups(sample)) {
  }
}

// Returns the AUC of examples that are sorted by their logits; nullopt if a class is missing. A
// pair of equal logits counts one half.
std::optional<double> AucOfSorted(std::span<const Example> examples) {
  double wins = 0, positive = 0, negative = 0;
  for (size_t i = 0; i < examples.size();) {
    double positive_here = 0, negative_here = 0;
    const float logit = examples[i].logit;
    for (; i < examples.size() && examples[i].logit == logit; ++i) {
      (examples[i].positive ? positive_here : negative_here) += examples[i].weight;
    }
    wins += positive_here * (negative + 0.5 * negative_here);
    positive += positive_here;
    negative += negative_here;
  }
  if (positive == 0 || negative == 0) return std::nullopt;
  return wins / (positive * negative);
}

}  // namespace

void AddToGroups(const Scores& scores, v1::GroupSample& sample, size_t most) {
  CAPSTAN_CHECK(scores.outputs == 1 && scores.groups.size() == scores.labels.size());
  for (size_t i = 0; i < scores.groups.size(); ++i) {
    if (scores.groups[i] == kNoGroup || !Holds(sample.halvings(), scores.groups[i])) continue;
    const float logit =
        std::isnan(scores.logits[i]) ? -std::numeric_limits<float>::infinity() : scores.logits[i];
    Append({scores.groups[i], logit, scores.WeightOf(i), scores.labels[i] > 0.5f}, sample);
  }
  Shrink(most, sample);
}

absl::Status CheckGroups(const v1::GroupSample& sample) {
  const int examples = sample.groups_size();
  if (sample.logits_size() != examples || sample.weights_size() != examples ||
      sample.positives_size() != examples || sample.halvings() > kMostHalvings) {
    return absl::InvalidArgumentError(absl::StrCat(
        "evaluation: a sample of ", examples, " groups, ", sample.logits_size(), " logits, ",
        sample.weights_size(), " weights, ", sample.positives_size(), " labels and ",
        sample.halvings(), " halvings, expected as many of each and at most ", kMostHalvings));
  }
  for (int i = 0; i < examples; ++i) {
    const float weight = sample.weights(i);
    if (!std::isnan(sample.logits(i)) && std::isfinite(weight) && weight >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("evaluation: example ", i,
                                                   " of a group has logit ", sample.logits(i),
                                                   " and weight ", weight));
  }
  return absl::OkStatus();
}

void MergeGroups(const v1::GroupSample& from, v1::GroupSample& into, size_t most) {
  if (from.halvings() > into.halvings()) KeepBelow(from.halvings(), into);
  for (int i = 0; i < from.groups_size(); ++i) {
    if (Holds(into.halvings(), from.groups(i))) Append(ExampleAt(from, i), into);
  }
  Shrink(most, into);
}

bool HalveGroups(v1::GroupSample& sample) {
  if (sample.halvings() >= kMostHalvings) return false;
  KeepBelow(sample.halvings() + 1, sample);
  return true;
}

std::optional<double> GroupAuc(const v1::GroupSample& sample) {
  std::vector<Example> examples;
  examples.reserve(SizeOf(sample));
  for (int i = 0; i < sample.groups_size(); ++i) examples.push_back(ExampleAt(sample, i));
  std::sort(examples.begin(), examples.end(), [](const Example& a, const Example& b) {
    return a.group != b.group ? a.group < b.group : a.logit < b.logit;
  });
  double sum = 0, weights = 0;
  for (auto begin = examples.begin(); begin != examples.end();) {
    const auto end = std::find_if(begin, examples.end(),
                                  [&](const Example& each) { return each.group != begin->group; });
    if (const std::optional<double> auc = AucOfSorted({begin, end})) {
      const double weight = std::accumulate(
          begin, end, 0.0, [](double so_far, const Example& each) { return so_far + each.weight; });
      sum += weight * *auc;
      weights += weight;
    }
    begin = end;
  }
  return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

double ShareOfGroups(const v1::GroupSample& sample) {
  return std::ldexp(1.0, -static_cast<int>(sample.halvings()));
}

}  // namespace capstan
