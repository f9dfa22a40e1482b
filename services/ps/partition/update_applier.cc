#include "ps/partition/update_applier.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "capstan/base/failpoint.h"
#include "capstan/v1/job.pb.h"

namespace capstan::ps {

UpdateApplier::Gradients UpdateApplier::Begin(PartitionStore* store, bool observed) {
  store_ = store;
  observed_ = observed;
  progress_ = 0;  // Pushes tell it anew.
  sum_ = RoundSum();
  version_times_ = {};
  PutAway();
  for (Later& later : put_off_) {
    kept_.emplace(GradientHandle{++last_handle_}, std::move(later.gradient));
  }
  put_off_.clear();
  put_off_bytes_ = 0;
  return std::exchange(kept_, Gradients());
}

void UpdateApplier::PutAway() {
  if (last_kept_.push == nullptr) return;
  kept_.emplace(GradientHandle{last_handle_}, std::exchange(last_kept_, PushShare()));
}

GradientHandle UpdateApplier::Keep(const PushShare& gradient) {
  PutAway();
  last_kept_ = gradient;
  return GradientHandle{++last_handle_};
}

const PushShare& UpdateApplier::Kept(GradientHandle handle) const {
  return handle == GradientHandle{last_handle_} ? last_kept_ : kept_.at(handle);
}

void UpdateApplier::Forget(GradientHandle handle) {
  if (handle == GradientHandle{last_handle_}) {
    last_kept_ = PushShare();
  } else {
    kept_.erase(handle);
  }
}

bool UpdateApplier::JudgedByRows(const PushShare& gradient) const {
  return catalog_.CountsRowUpdates() &&
         gradient.push->KnowsRowVersions(gradient.push->partitions()[gradient.place]);
}

bool UpdateApplier::CarryOut(const Decision& decision, absl::Time now) {
  if (!decision.additions.empty() || !decision.updates.empty()) ApplyPutOff(now);
  for (const Addition& addition : decision.additions) {
    Add(addition);
    Forget(addition.handle);
  }
  if (observed_) metrics_.CountAddedAhead(decision.additions.size());
  bool fresh = decision.updates.empty();
  for (const Update& update : decision.updates) {
    fresh |= Apply(update, progress_, now);
    CAPSTAN_FAILPOINT("partition.applied");
    for (const Contribution& used : update.contributions) Forget(used.handle);
  }
  for (GradientHandle handle : decision.discarded) Forget(handle);
  return fresh;
}

// Only DROP excludes gradients, and for rows that are judged separately this is known when they are
// looked up.
bool UpdateApplier::MayTurnOutStale(Part part, const PushShare& gradient) const {
  return part == Part::kSparse && JudgedByRows(gradient) &&
         catalog_.policy(part).stale_gradients() == v1::STALE_GRADIENTS_DROP;
}

bool UpdateApplier::PutOff(const Decision& decision) {
  if (decision.updates.size() != 1 || !decision.additions.empty()) return false;
  const Update& update = decision.updates.front();
  if (update.added > 0 || update.contributions.size() != 1) return false;
  const bool of_last = update.contributions.front().handle == GradientHandle{last_handle_};
  if (!of_last || !last_kept_.push->owns_memory()) return false;
  if (MayTurnOutStale(update.part, last_kept_)) return false;
  put_off_bytes_ += sizeof(Later) + last_kept_.push->ShareSize(last_kept_.place);
  put_off_.push_back({std::exchange(last_kept_, PushShare()), update, progress_});
  return true;
}

void UpdateApplier::GatherAhead() {
  ahead_.clear();
  for (const Later& later : put_off_) {
    if (later.update.part != Part::kSparse) continue;
    const PushMessage& push = *later.gradient.push;
    for (const PushMessage::Rows& rows : push.rows_of(push.partitions()[later.gradient.place])) {
      ahead_.push_back({store_->FindTable(rows.table), rows.gradients.keys});
    }
  }
}

void UpdateApplier::ApplyPutOff(absl::Time now) {
  if (put_off_.empty()) return;
  GatherAhead();
  size_t next = 0;   // The first of ahead_ that the next update uses.
  size_t asked = 0;  // The first that has not been prefetched.
  for (Later& later : put_off_) {
    if (later.update.part == Part::kSparse) {
      const PushMessage& push = *later.gradient.push;
      if (next == asked) asked = AskAhead(ahead_, next, RowUse::kApply);
      next += push.rows_of(push.partitions()[later.gradient.place]).size();
      asked = std::max(asked, next);
    }
    const GradientHandle handle = Keep(later.gradient);
    later.update.contributions.front().handle = handle;
    Apply(later.update, later.progress, now);
    CAPSTAN_FAILPOINT("partition.applied");
    Forget(handle);
  }
  put_off_.clear();
  put_off_bytes_ = 0;
}

void UpdateApplier::Add(const Addition& addition) {
  const PushShare& kept = Kept(addition.handle);
  const wire::PartitionPart& share = kept.push->partitions()[kept.place];
  const auto weight = static_cast<float>(addition.weight);
  if (addition.part == Part::kSparse) {
    for (const PushMessage::Rows& rows : kept.push->rows_of(share)) {
      RowGradients gradients = rows.gradients;
      gradients.weight = weight;
      sum_.AddRows(rows.table, store_->FindTable(rows.table)->dim(), gradients);
    }
    return;
  }
  for (const PushMessage::Values& values : kept.push->blocks_of(share)) {
    BlockGradient gradient = values.gradient;
    gradient.weight =
        IsRunning(values.block) ? static_cast<float>(addition.running_weight) : weight;
    sum_.AddBlock(values.block, gradient);
  }
}

bool UpdateApplier::Apply(const Update& update, uint64_t progress, absl::Time now) {
  Observe(update, now);
  const UpdateContext context = ContextOf(update, progress);
  bool fresh = true;
  if (update.part == Part::kSparse) {
    fresh = ApplyRows(update, context);
    sum_.ClearRows();
  } else {
    ApplyBlocks(update, context);
    sum_.ClearBlocks();
  }
  return fresh;
}

UpdateContext UpdateApplier::ContextOf(const Update& update, uint64_t progress) const {
  const v1::UpdatePolicy& policy = catalog_.policy(update.part);
  UpdateContext context;
  context.compensate_lambda = policy.compensate_lambda();
  context.scale = static_cast<float>(update.scale);
  if (update.part == Part::kSparse && catalog_.CountsRowUpdates()) {
    context.row_policy = &policy;
  }
  if (update.round == 0) {
    context.progress_examples = progress;
  } else {
    // The progress is a function of the round alone, so that it does not depend on which workers
    // there are. With b backup workers a round closes with b lanes fewer.
    const uint32_t lanes = policy.lanes() - std::min(policy.backup_workers(), policy.lanes() - 1);
    context.progress_examples =
        (update.round - 1) * uint64_t{lanes} * catalog_.job().train().batch_size();
  }
  return context;
}

bool UpdateApplier::ApplyRows(const Update& update, const UpdateContext& context) {
  GatherRows(update);
  wanted_.clear();
  for (const TableShare& share : shares_) {
    wanted_.push_back({store_->tables()[share.table].get(), share.gradients.keys});
  }
  bool fresh = false;
  rows_.clear();
  VisitAhead(wanted_, RowUse::kApply, [&](size_t i) {
    rows_.push_back(shares_[i].gradients);
    if (i + 1 < shares_.size() && shares_[i + 1].table == shares_[i].table) return;
    Table& table = *store_->tables()[shares_[i].table];
    fresh |= table.Apply(rows_, context);
    rows_.clear();
    if (observed_) metrics_.ObserveRowStaleness(table.row_staleness());
  });
  return fresh;
}

void UpdateApplier::GatherRows(const Update& update) {
  shares_.clear();
  for (size_t table = 0; update.added > 0 && table < store_->tables().size(); ++table) {
    if (const std::optional<RowGradients> sum = sum_.rows(store_->tables()[table]->id())) {
      shares_.push_back({table, *sum});
    }
  }
  for (const Contribution& used : update.contributions) {
    const PushShare& kept = Kept(used.handle);
    const bool judged = JudgedByRows(kept);
    for (const PushMessage::Rows& rows : kept.push->rows_of(kept.push->partitions()[kept.place])) {
      TableShare& share = shares_.emplace_back();
      share = {store_->PlaceOf(rows.table), rows.gradients};
      share.gradients.weight = static_cast<float>(used.weight);
      if (!used.compensate) share.gradients.pulled = {};
      if (!judged) share.gradients.versions = {};
    }
  }
  const auto before = [](const TableShare& a, const TableShare& b) { return a.table < b.table; };
  // This is the usual case: one push.
  if (std::is_sorted(shares_.begin(), shares_.end(), before)) return;
  std::stable_sort(shares_.begin(), shares_.end(), before);
}

bool UpdateApplier::IsRunning(BlockId block) const {
  return store_->blocks().optimizer_kind(block) == v1::OPTIMIZER_KIND_RUNNING;
}

void UpdateApplier::ApplyBlocks(const Update& update, const UpdateContext& context) {
  UpdateContext of_running = context;
  of_running.scale = static_cast<float>(update.running_scale);
  for (const Block& block : store_->blocks().blocks()) {
    const bool running = IsRunning(block.id);
    blocks_.clear();
    if (update.added > 0) {
      if (const std::optional<BlockGradient> sum = sum_.block(block.id)) blocks_.push_back(*sum);
    }
    for (const Contribution& used : update.contributions) {
      const PushShare& kept = Kept(used.handle);
      for (const PushMessage::Values& values :
           kept.push->blocks_of(kept.push->partitions()[kept.place])) {
        if (values.block != block.id) continue;
        blocks_.push_back(values.gradient);
        blocks_.back().weight = static_cast<float>(running ? used.running_weight : used.weight);
        if (running || !used.compensate) blocks_.back().pulled = {};
      }
    }
    if (!blocks_.empty()) {
      store_->blocks().Apply(block.id, blocks_, running ? of_running : context);
    }
  }
}

void UpdateApplier::Observe(const Update& update, absl::Time now) {
  if (!observed_) return;
  VersionTimes& times = version_times_[static_cast<size_t>(update.part)];
  for (uint32_t i = 0; i < update.added; ++i) {
    metrics_.ObserveStaleness(/*staleness=*/0, absl::ZeroDuration());
  }
  for (const Contribution& used : update.contributions) {
    // Pulled version = the version before this update minus the updates since the pull.
    const uint64_t before = update.version - 1;
    const absl::Duration age = times.Age(before - std::min(used.staleness, before), before, now);
    metrics_.ObserveStaleness(used.staleness, age);
  }
  times.Made(update.version, now);
}

}  // namespace capstan::ps
