#include "worker/shell/grouped_examples.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace capstan::worker {
namespace {

// The samples that hold any examples. Of several labels each has its own.
std::vector<v1::GroupSample*> SamplesOf(const std::set<v1::EvaluationResult*>& all) {
  std::vector<v1::GroupSample*> samples;
  for (v1::EvaluationResult* sums : all) {
    if (sums->groups().groups_size() > 0) samples.push_back(sums->mutable_groups());
    for (v1::EvaluationResult& label : *sums->mutable_labels()) {
      if (label.groups().groups_size() > 0) samples.push_back(label.mutable_groups());
    }
  }
  return samples;
}

size_t SizeOf(const std::vector<v1::GroupSample*>& samples) {
  size_t size = 0;
  for (const v1::GroupSample* sample : samples) size += static_cast<size_t>(sample->groups_size());
  return size;
}

// The larger share of the groups first, then the more examples.
bool ComesBefore(const v1::GroupSample* a, const v1::GroupSample* b) {
  return std::pair(a->halvings(), -int64_t{a->groups_size()}) <
         std::pair(b->halvings(), -int64_t{b->groups_size()});
}

}  // namespace

void GroupedExamples::Shrink() {
  const std::vector<v1::GroupSample*> samples = SamplesOf(all_);
  while (SizeOf(samples) > most_) {
    if (!HalveGroups(**std::min_element(samples.begin(), samples.end(), ComesBefore))) return;
  }
}

}  // namespace capstan::worker
