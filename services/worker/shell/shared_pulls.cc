#include "worker/shell/shared_pulls.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "capstan/client/request_plan.h"

namespace capstan::worker {

bool LanesPullTheSame(const v1::JobSpec& job) {
  return job.tables_size() == 0 && job.dense_update().kind() == v1::POLICY_KIND_SYNC;
}

std::unique_ptr<SharedPulls::Part> SharedPulls::Join(const Name& name, std::shared_ptr<Step> step,
                                                     Done done) {
  const auto found = pulls_.find(name);
  const std::shared_ptr<Pull> pull = found == pulls_.end() ? nullptr : found->second.lock();
  if (pull == nullptr || pull->complete_) return nullptr;
  auto waiting =
      std::make_shared<Waiting>(Waiting{.step = std::move(step), .done = std::move(done)});
  pull->waiting_.push_back(waiting);
  return std::unique_ptr<Part>(new Part(std::move(waiting)));
}

std::shared_ptr<SharedPulls::Pull> SharedPulls::Begin(const Name& name,
                                                      std::shared_ptr<Step> step) {
  std::erase_if(pulls_, [](const auto& entry) { return entry.second.expired(); });
  auto pull = std::make_shared<Pull>(loop_, name, std::move(step));
  pulls_[name] = pull;
  return pull;
}

SharedPulls::Pull::~Pull() {
  Tell({.status = absl::UnavailableError("the lane that pulled for this one has stopped")});
}

void SharedPulls::Pull::Complete(const PullResult& result) {
  complete_ = true;
  for (const std::shared_ptr<Waiting>& waiting : waiting_) {
    if (result.status.ok() && waiting->done) CopyTo(*waiting->step);
  }
  Tell(result);
}

void SharedPulls::Pull::CopyTo(Step& step) const {
  const auto blocks = name_.frozen ? RequestPlan::Blocks::kAll : RequestPlan::Blocks::kChanging;
  for (const RequestPlan::Chunk& chunk : step_->plan.ChunksOf(name_.shard, blocks)) {
    for (uint32_t partition : chunk.partitions) {
      step.versions[partition] = step_->versions[partition];
      for (BlockId id : step_->plan.BlocksOf(partition, blocks)) {
        const Block& block = step_->plan.map().layout().block(id);
        std::copy_n(step_->parameters.data() + block.flat_offset, block.length,
                    step.parameters.data() + block.flat_offset);
      }
    }
  }
}

void SharedPulls::Pull::Tell(const PullResult& result) {
  for (std::shared_ptr<Waiting>& waiting : std::exchange(waiting_, {})) {
    loop_.Post([waiting = std::move(waiting), result] {
      // It may leave meanwhile, which ends what `done` holds.
      if (waiting->done) std::exchange(waiting->done, nullptr)(result);
    });
  }
}

}  // namespace capstan::worker
