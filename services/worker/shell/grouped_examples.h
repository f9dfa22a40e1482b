// The examples with groups that all evaluations of a worker keep together
// (capstan/model/group_auc.h): their memory is bounded however many evaluations are under way, and
// none of them is left out as long as all of them together are no more than the chief keeps.
#ifndef CAPSTAN_WORKER_SHELL_GROUPED_EXAMPLES_H_
#define CAPSTAN_WORKER_SHELL_GROUPED_EXAMPLES_H_

#include <cstddef>
#include <set>

#include "capstan/model/group_auc.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::worker {

// Thread-compatible.
class GroupedExamples {
 public:
  explicit GroupedExamples(size_t most = kMostGroupedExamples) : most_(most) {}

  // The samples of `sums` count from now on. `sums` must outlive this object, or be removed.
  void Add(v1::EvaluationResult& sums) { all_.insert(&sums); }
  void Remove(v1::EvaluationResult& sums) { all_.erase(&sums); }

  // Halves the groups of samples until all of them together hold at most the examples allowed.
  // Those with the largest share of groups come first: the chief's sample has the groups that are
  // in all of them.
  void Shrink();

 private:
  const size_t most_;
  std::set<v1::EvaluationResult*> all_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_GROUPED_EXAMPLES_H_
