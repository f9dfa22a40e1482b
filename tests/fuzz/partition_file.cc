// A partition file of a checkpoint: decoded or refused; what is decoded can be encoded, and that
// decodes to the same bytes.
//
// First byte 0: the rest is the file. Otherwise it is a list of blocks, `kind:u8 length:u16
// payload`, which get their front and checksum here, so that mutations come past the checksums.
#include "capstan/checkpoint/partition_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "capstan/base/check.h"
#include "capstan/checkpoint/blocks.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

std::string WithChecksums(std::string_view blocks) {
  BlockWriter writer;
  while (blocks.size() >= 3) {
    uint16_t length;
    std::memcpy(&length, &blocks[1], sizeof(length));
    writer.Begin(static_cast<BlockKind>(static_cast<uint8_t>(blocks[0])));
    writer.bytes() += blocks.substr(3, length);
    writer.Finish();
    blocks.remove_prefix(std::min(blocks.size(), size_t{3} + length));
  }
  return std::move(writer).TakeFile();
}

void Decode(const std::string& file) {
  static const v1::JobSpec& job = *new v1::JobSpec(SmallJob());
  static const DenseLayout& layout = *new DenseLayout(LayoutOf(job));
  const auto decoded = DecodePartition(file, job, layout, PartitionIndex{1});
  if (!decoded.ok()) return;
  const auto encode = [](const DecodedPartition& partition) {
    return EncodePartition(*partition.store, {.partition_count = job.partition_count(),
                                              .timeline = partition.timeline,
                                              .machine = partition.machine});
  };
  const std::string encoded = encode(*decoded);
  const auto again = DecodePartition(encoded, job, layout, PartitionIndex{1});
  CAPSTAN_CHECK(again.ok());
  CAPSTAN_CHECK(encode(*again) == encoded);
}

}  // namespace
}  // namespace capstan

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  capstan::Decode(input[0] == 0 ? std::string(rest) : capstan::WithChecksums(rest));
}
