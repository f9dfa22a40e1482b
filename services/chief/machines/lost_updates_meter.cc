#include "chief/machines/lost_updates_meter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan::chief {
namespace {

uint64_t Less(uint64_t from, uint64_t what) { return from - std::min(from, what); }

}  // namespace

LostUpdatesMeter::LostUpdatesMeter(const v1::JobSpec& spec) {
  for (const v1::TableSpec& table : spec.tables()) names_.push_back(table.name());
}

void LostUpdatesMeter::Hear(uint32_t shard, uint64_t incarnation, const v1::ShardReport& report) {
  if (report.tables_size() != static_cast<int>(names_.size())) return;
  heard_[shard] = {incarnation, {report.tables().begin(), report.tables().end()}};
}

// A shard reports the hot rows that have changed since it last saved its rows. If that checkpoint
// was not stored after all, the rows that had changed before it are unsaved as well.
void LostUpdatesMeter::BeginCheckpoint() {
  std::map<uint32_t, Held> now = heard_;
  for (auto& [shard, held] : now) {
    for (size_t i = 0; i < names_.size(); ++i) {
      held.tables[i].set_hot_rows_unsaved(HotRowsLost(shard, i));
    }
  }
  begun_ = std::move(now);
  open_ = true;
}

void LostUpdatesMeter::OnCheckpointStored() {
  saved_ = begun_;
  open_ = false;
}

uint64_t LostUpdatesMeter::HotRowsLost(uint32_t shard, size_t table) const {
  const Held& held = heard_.at(shard);
  const v1::TableReport& now = held.tables[table];
  const auto begun = begun_.find(shard);
  uint64_t unsaved = now.hot_rows_unsaved();
  if (open_ && begun != begun_.end() && begun->second.incarnation == held.incarnation) {
    unsaved += begun->second.tables[table].hot_rows_unsaved();
  }
  return std::min(unsaved, now.hot_rows());
}

std::vector<v1::TableLoss> LostUpdatesMeter::LossOf(const std::set<uint32_t>& shards) const {
  std::vector<v1::TableLoss> losses(names_.size());
  for (uint32_t shard : shards) {
    const auto held = heard_.find(shard);
    if (held == heard_.end()) continue;
    const auto saved = saved_.find(shard);
    for (size_t i = 0; i < names_.size(); ++i) {
      const v1::TableReport& now = held->second.tables[i];
      v1::TableReport then;  // Each process counts its own updates from 0.
      if (saved != saved_.end()) {
        then.set_rows(saved->second.tables[i].rows());
        const bool same = saved->second.incarnation == held->second.incarnation;
        if (same) then.set_updates(saved->second.tables[i].updates());
      }
      losses[i].set_updates(losses[i].updates() + Less(now.updates(), then.updates()));
      losses[i].set_rows(losses[i].rows() + Less(now.rows(), then.rows()));
      losses[i].set_hot_rows(losses[i].hot_rows() + HotRowsLost(shard, i));
      losses[i].set_hot_rows_held(losses[i].hot_rows_held() + now.hot_rows());
    }
  }
  for (size_t i = 0; i < names_.size(); ++i) losses[i].set_table(names_[i]);
  std::erase_if(losses, [](const auto& loss) { return loss.updates() == 0 && loss.rows() == 0; });
  return losses;
}

// The shards have the rows of the checkpoint again, but their counts of updates are not reset.
void LostUpdatesMeter::OnReturned(const std::set<uint32_t>& shards) {
  for (uint32_t shard : shards) {
    const auto held = heard_.find(shard);
    if (held == heard_.end()) continue;
    Held& saved = saved_.try_emplace(shard, Held{0, std::vector<v1::TableReport>(names_.size())})
                      .first->second;
    saved.incarnation = held->second.incarnation;
    for (size_t i = 0; i < names_.size(); ++i) {
      saved.tables[i].set_updates(held->second.tables[i].updates());
      held->second.tables[i].set_rows(saved.tables[i].rows());
      held->second.tables[i].set_hot_rows_unsaved(0);
    }
    begun_.erase(shard);
  }
}

std::string TextOf(const v1::RecoveryLoss& loss) {
  return absl::StrJoin(loss.tables(), "; ", [](std::string* out, const v1::TableLoss& table) {
    absl::StrAppend(out, table.table(), ": ", table.updates(), " updates, ", table.rows(),
                    " rows, ", table.hot_rows(), " of ", table.hot_rows_held(), " hot rows");
  });
}

}  // namespace capstan::chief
