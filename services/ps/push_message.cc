#include "ps/push_message.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/consistency/decisions.h"
#include "capstan/optim/vector_math.h"
#include "capstan/wire/floats.h"
#include "capstan/wire/reader.h"
#include "ps/rejection.h"

namespace capstan::ps {
namespace {

absl::Status CheckFloats(const std::string& name, size_t got, size_t want) {
  if (got == want) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", got, " bytes of values, should be ", want));
}

// Weights as pulled are needed for compensation, and for nothing else.
absl::Status CheckPulled(const std::string& name, const v1::UpdatePolicy& policy, size_t got,
                         size_t values) {
  const bool needed = policy.stale_gradients() == v1::STALE_GRADIENTS_COMPENSATE && !IsSync(policy);
  if (got == (needed ? values : 0) || got == values) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", got, " bytes of pulled weights, should be ", values));
}

absl::Status CheckNames(const v1::PushRequest& head, const PushMessage& push,
                        const Catalog& catalog) {
  for (Part part : {Part::kDense, Part::kSparse}) {
    const bool sync = catalog.IsSync(part);
    if (sync ? head.has_stage() : head.has_stream()) continue;
    for (const wire::PartitionPart& partition : push.partitions()) {
      if (!push.Holds(partition, part)) continue;
      return absl::InvalidArgumentError(absl::StrCat(part == Part::kDense ? "dense" : "sparse",
                                                     " gradients need PushRequest.",
                                                     sync ? "stage" : "stream"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PushMessage>> PushMessage::Read(const grpc::ByteBuffer& buffer,
                                                                     const Catalog& catalog) {
  std::shared_ptr<PushMessage> push(new PushMessage(buffer));
  CAPSTAN_RETURN_IF_ERROR(
      wire::Read(wire::kPushRequest, push->message_, push->head_, push->payload_));
  CAPSTAN_RETURN_IF_ERROR(catalog.CheckDtype(push->head_.dtype()));
  CAPSTAN_RETURN_IF_ERROR(catalog.CheckPartitions(push->payload_.partitions));
  CAPSTAN_RETURN_IF_ERROR(CheckNames(push->head_, *push, catalog));
  CAPSTAN_RETURN_IF_ERROR(push->Resolve(catalog));
  return std::shared_ptr<const PushMessage>(std::move(push));
}

absl::StatusOr<PackedFloats> PushMessage::Floats(const wire::Bytes& bytes) {
  const size_t count = bytes.size() / wire::FloatSize(head_.dtype());
  PackedFloats floats;
  if (head_.dtype() == v1::DTYPE_BFLOAT16) {
    widened_.push_back(std::make_unique_for_overwrite<float[]>(count));
    wire::BytesReader reader(bytes);
    wire::TakeFloats(head_.dtype(), reader, count, widened_.back().get());
    floats = PackedFloats(widened_.back().get(), count);
  } else {
    floats = PackedFloats(message_.Contiguous(bytes), count);
  }
  if (!AllFinite(floats.at(0), count)) {
    return WithReason(absl::InvalidArgumentError("a gradient holds NaN or infinity"), "nan");
  }
  return floats;
}

absl::Status PushMessage::Resolve(const Catalog& catalog) {
  const size_t float_size = wire::FloatSize(head_.dtype());
  for (const wire::PartitionPart& part : payload_.partitions) {
    for (const wire::TablePart& rows : std::as_const(payload_).tables_of(part)) {
      CAPSTAN_ASSIGN_OR_RETURN(const v1::TableSpec* table,
                               catalog.CheckTable(rows.table, rows.keys));
      const size_t count = rows.keys.size() / sizeof(uint64_t);
      const size_t bytes = count * table->dim() * float_size;
      CAPSTAN_RETURN_IF_ERROR(
          CheckFloats(absl::StrCat("table ", table->name()), rows.values.size(), bytes));
      CAPSTAN_RETURN_IF_ERROR(CheckPulled(absl::StrCat("table ", table->name()),
                                          catalog.policy(Part::kSparse), rows.pulled.size(),
                                          bytes));
      const PackedKeys keys(message_.Contiguous(rows.keys), count);
      CAPSTAN_RETURN_IF_ERROR(catalog.CheckKeys(*table, keys, part.partition));
      CAPSTAN_ASSIGN_OR_RETURN(PackedFloats values, Floats(rows.values));
      CAPSTAN_ASSIGN_OR_RETURN(PackedFloats pulled, Floats(rows.pulled));
      rows_.push_back({TableId{rows.table}, {keys, values, pulled}});
    }
    for (const wire::BlockPart& values : payload_.blocks_of(part)) {
      CAPSTAN_ASSIGN_OR_RETURN(const Block* block,
                               catalog.CheckBlock(values.block, part.partition));
      const size_t bytes = block->length * float_size;
      CAPSTAN_RETURN_IF_ERROR(
          CheckFloats(absl::StrCat("block ", values.block), values.values.size(), bytes));
      CAPSTAN_RETURN_IF_ERROR(CheckPulled(absl::StrCat("block ", values.block),
                                          catalog.policy(Part::kDense), values.pulled.size(),
                                          bytes));
      CAPSTAN_ASSIGN_OR_RETURN(PackedFloats gradient, Floats(values.values));
      CAPSTAN_ASSIGN_OR_RETURN(PackedFloats pulled, Floats(values.pulled));
      blocks_.push_back({BlockId{values.block}, {gradient, pulled}});
    }
  }
  return absl::OkStatus();
}

absl::Span<const PushMessage::Rows> PushMessage::rows_of(const wire::PartitionPart& part) const {
  return absl::MakeSpan(rows_).subspan(part.tables_begin, part.tables_end - part.tables_begin);
}

absl::Span<const PushMessage::Values> PushMessage::blocks_of(
    const wire::PartitionPart& part) const {
  return absl::MakeSpan(blocks_).subspan(part.blocks_begin, part.blocks_end - part.blocks_begin);
}

bool PushMessage::Holds(const wire::PartitionPart& part, Part which) const {
  return which == Part::kDense ? part.blocks_end > part.blocks_begin
                               : part.tables_end > part.tables_begin;
}

}  // namespace capstan::ps
