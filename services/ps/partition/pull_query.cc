#include "ps/partition/pull_query.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/rpc/limits.h"
#include "capstan/wire/floats.h"
#include "capstan/wire/reader.h"

namespace capstan::ps {

absl::StatusOr<std::unique_ptr<const PullQuery>> PullQuery::Read(const grpc::ByteBuffer& buffer,
                                                                 const Catalog& catalog) {
  std::unique_ptr<PullQuery> query(new PullQuery(buffer));
  CAPSTAN_RETURN_IF_ERROR(
      wire::Read(wire::kPullRequest, query->message_, query->head_, query->payload_));
  CAPSTAN_RETURN_IF_ERROR(catalog.CheckDtype(query->head_.dtype()));
  CAPSTAN_RETURN_IF_ERROR(catalog.CheckPartitions(query->payload_.partitions));
  CAPSTAN_RETURN_IF_ERROR(query->Resolve(catalog));
  return std::unique_ptr<const PullQuery>(std::move(query));
}

absl::Status PullQuery::Resolve(const Catalog& catalog) {
  const size_t float_size = wire::FloatSize(head_.dtype());
  size_t total = 0;
  for (const wire::PartitionPart& part : payload_.partitions) {
    reply_shape_.AddPartition(part.partition);
    for (const wire::TablePart& rows : std::as_const(payload_).tables_of(part)) {
      CAPSTAN_ASSIGN_OR_RETURN(const v1::TableSpec* table,
                               catalog.CheckTable(rows.table, rows.keys));
      const size_t count = rows.keys.size() / sizeof(uint64_t);
      keys_.emplace_back(message_.Contiguous(rows.keys), count);
      CAPSTAN_RETURN_IF_ERROR(catalog.CheckKeys(*table, keys_.back(), part.partition));
      const size_t bytes = count * table->dim() * float_size;
      const bool versions = catalog.CountsRowUpdates() && !head_.evaluation();
      const size_t updates = versions ? count * sizeof(uint32_t) : 0;
      total += bytes + updates;
      reply_shape_.Add(wire::TableShape{.table = rows.table, .values = bytes, .updates = updates});
    }
    for (const wire::BlockPart& wanted : payload_.blocks_of(part)) {
      CAPSTAN_ASSIGN_OR_RETURN(const Block* block,
                               catalog.CheckBlock(wanted.block, part.partition));
      total += block->length * float_size;
      reply_shape_.Add(
          wire::BlockShape{.block = wanted.block, .values = block->length * float_size});
    }
    // The sum is checked while it grows: a small request may name the same block a million times.
    if (total > kMaxMessageBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the reply would be above ", kMaxMessageBytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace capstan::ps
