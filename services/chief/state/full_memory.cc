#include "chief/state/full_memory.h"

#include <algorithm>
#include <utility>

namespace capstan::chief {

void FullMemory::Hear(const v1::ShardReport& report, absl::Time now) {
  std::map<std::string, Told> heard;  // Shares that `report` does not name are forgotten.
  for (const v1::MemoryReport& memory : report.memory()) {
    const auto before = told_.find(memory.what());
    Told& told = heard[memory.what()];
    if (before != told_.end()) told = before->second;
    const bool refuses = before != told_.end() && memory.refused() > told.refused;
    told.refused = memory.refused();
    told.share.limit = memory.limit();
    if (refuses && now - told.last > kCalm) told.share = {.limit = memory.limit(), .since = now};
    if (refuses) told.last = now;
    told.share.held = std::max(told.share.held, memory.held());
  }
  told_ = std::move(heard);
}

std::map<std::string, FullMemory::Share> FullMemory::Full(absl::Time now) const {
  std::map<std::string, Share> full;
  for (const auto& [what, told] : told_) {
    if (now - told.last <= kCalm) full.emplace(what, told.share);
  }
  return full;
}

}  // namespace capstan::chief
