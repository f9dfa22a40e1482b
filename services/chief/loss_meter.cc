#include "chief/loss_meter.h"

#include <algorithm>

namespace capstan::chief {
namespace {

uint64_t Less(uint64_t from, uint64_t what) { return from - std::min(from, what); }

}  // namespace

LossMeter::LossMeter(const v1::JobSpec& spec) {
  for (const v1::TableSpec& table : spec.tables()) names_.push_back(table.name());
}

void LossMeter::Hear(uint32_t shard, uint64_t incarnation, const v1::ShardReport& report) {
  if (report.tables_size() != static_cast<int>(names_.size())) return;
  heard_[shard] = {incarnation, {report.tables().begin(), report.tables().end()}};
}

std::vector<v1::TableLoss> LossMeter::LossOf(const std::set<uint32_t>& shards) const {
  std::vector<v1::TableLoss> losses(names_.size());
  for (uint32_t shard : shards) {
    const auto held = heard_.find(shard);
    if (held == heard_.end()) continue;
    const auto saved = saved_.find(shard);
    for (size_t i = 0; i < names_.size(); ++i) {
      const v1::TableReport& now = held->second.tables[i];
      v1::TableReport then;  // A process counts its own updates: one that has come since, from 0.
      if (saved != saved_.end()) {
        then.set_rows(saved->second.tables[i].rows());
        const bool same = saved->second.incarnation == held->second.incarnation;
        if (same) then.set_updates(saved->second.tables[i].updates());
      }
      losses[i].set_updates(losses[i].updates() + Less(now.updates(), then.updates()));
      losses[i].set_rows(losses[i].rows() + Less(now.rows(), then.rows()));
    }
  }
  for (size_t i = 0; i < names_.size(); ++i) losses[i].set_table(names_[i]);
  std::erase_if(losses, [](const auto& loss) { return loss.updates() == 0 && loss.rows() == 0; });
  return losses;
}

// Their rows are those of the checkpoint again; updates count on from here.
void LossMeter::OnReturned(const std::set<uint32_t>& shards) {
  for (uint32_t shard : shards) {
    const auto held = heard_.find(shard);
    if (held == heard_.end()) continue;
    Held& saved = saved_.try_emplace(shard, Held{0, std::vector<v1::TableReport>(names_.size())})
                      .first->second;
    saved.incarnation = held->second.incarnation;
    for (size_t i = 0; i < names_.size(); ++i) {
      saved.tables[i].set_updates(held->second.tables[i].updates());
      held->second.tables[i].set_rows(saved.tables[i].rows());
    }
  }
}

}  // namespace capstan::chief
