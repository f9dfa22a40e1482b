#include "chief/state/full_memory.h"

#include <algorithm>

namespace capstan::chief {

void FullMemory::Hear(const v1::ShardReport& report, absl::Time now) {
  for (const v1::MemoryReport& memory : report.memory()) {
    const auto [found, is_new] = told_.try_emplace(memory.what());
    Told& told = found->second;
    const bool refuses = !is_new && memory.refused() > told.refused;
    told.refused = memory.refused();
    told.share.limit = memory.limit();
    if (refuses && now - told.last > kCalm) told.share = {.limit = memory.limit(), .since = now};
    if (refuses) told.last = now;
    told.share.held = std::max(told.share.held, memory.held());
  }
}

std::map<std::string, FullMemory::Share> FullMemory::Full(absl::Time now) const {
  std::map<std::string, Share> full;
  for (const auto& [what, told] : told_) {
    if (now - told.last <= kCalm) full.emplace(what, told.share);
  }
  return full;
}

}  // namespace capstan::chief
