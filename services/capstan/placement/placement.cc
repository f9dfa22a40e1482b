#include "capstan/placement/placement.h"

namespace capstan {

std::vector<uint32_t> FirstShardMap(uint32_t partition_count, uint32_t shard_count) {
  std::vector<uint32_t> owners(partition_count);
  for (uint32_t p = 0; p < partition_count; ++p) owners[p] = p % shard_count;
  return owners;
}

}  // namespace capstan
