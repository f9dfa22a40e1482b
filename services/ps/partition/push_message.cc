#include "ps/partition/push_message.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/status.h"
#include "capstan/consistency/decisions.h"
#include "capstan/optim/vector_math.h"
#include "capstan/rpc/status.h"
#include "capstan/wire/floats.h"
#include "capstan/wire/reader.h"
#include "ps/partition/rejection.h"

namespace capstan::ps {
namespace {

// Returns the beginning of an error message: the kind and name of a table or block. Called only if
// something is wrong.
using NameOf = absl::FunctionRef<std::string()>;

absl::Status CheckFloats(NameOf name, size_t got, size_t want) {
  if (got == want) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name(), ": ", got, " bytes of values, should be ", want));
}

// Checks the pulled weights, which are needed only for compensation.
absl::Status CheckPulled(NameOf name, const v1::UpdatePolicy& policy, size_t got, size_t values) {
  const bool needed = policy.stale_gradients() == v1::STALE_GRADIENTS_COMPENSATE && !IsSync(policy);
  if (got == (needed ? values : 0) || got == values) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name(), ": ", got, " bytes of pulled weights, should be ", values));
}

// Checks the pulled versions of rows: a push has them for all of its rows or for none.
absl::Status CheckUpdates(NameOf name, size_t got, size_t keys) {
  if (got == 0 || got == keys * sizeof(uint32_t)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name(), ": ", got, " bytes of updates, should be ",
                                                 keys * sizeof(uint32_t), " or none"));
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

absl::StatusOr<v1::PushRequest> PushMessage::ReadHead(const grpc::ByteBuffer& buffer) {
  wire::Message message(buffer);
  v1::PushRequest head;
  wire::Payload payload;
  CAPSTAN_RETURN_IF_ERROR(wire::Read(wire::kPushRequest, message, head, payload));
  return head;
}

absl::StatusOr<std::shared_ptr<const PushMessage>> PushMessage::Read(const grpc::ByteBuffer& buffer,
                                                                     const Catalog& catalog,
                                                                     Reservation reservation) {
  std::shared_ptr<PushMessage> push(new PushMessage(buffer, reservation == nullptr
                                                                ? wire::Message::Memory::kTransport
                                                                : wire::Message::Memory::kOwn));
  push->reservation_ = std::move(reservation);
  CAPSTAN_RETURN_IF_ERROR(
      wire::Read(wire::kPushRequest, push->message_, push->head_, push->payload_));
  CAPSTAN_RETURN_IF_ERROR(catalog.CheckDtype(push->head_.dtype()));
  CAPSTAN_RETURN_IF_ERROR(catalog.CheckPartitions(push->payload_.partitions));
  CAPSTAN_RETURN_IF_ERROR(CheckNames(push->head_, *push, catalog));
  CAPSTAN_RETURN_IF_ERROR(push->Resolve(catalog));
  return std::shared_ptr<const PushMessage>(std::move(push));
}

// Returns memory for `count` floats, out of one allocation for all floats of the message: many
// small ones would take longer to allocate than to fill.
float* PushMessage::Widened(size_t count) {
  if (widened_ == nullptr) {
    size_t bytes = 0;
    for (const wire::TablePart& rows : payload_.tables) {
      bytes += rows.values.size() + rows.pulled.size();
    }
    for (const wire::BlockPart& values : payload_.blocks) {
      bytes += values.values.size() + values.pulled.size();
    }
    widened_ = std::make_unique_for_overwrite<float[]>(bytes / sizeof(uint16_t));
  }
  return widened_.get() + std::exchange(widened_used_, widened_used_ + count);
}

absl::StatusOr<PackedFloats> PushMessage::Floats(const wire::Bytes& bytes) {
  const size_t count = bytes.size() / wire::FloatSize(head_.dtype());
  PackedFloats floats;
  if (head_.dtype() == v1::DTYPE_BFLOAT16) {
    float* const widened = Widened(count);
    wire::BytesReader reader(bytes);
    wire::TakeFloats(head_.dtype(), reader, count, widened);
    floats = PackedFloats(widened, count);
  } else {
    floats = PackedFloats(message_.Contiguous(bytes), count);
  }
  if (!AllFinite(floats.at(0), count)) {
    return WithReason(absl::InvalidArgumentError("a gradient holds NaN or infinity"),
                      Rejection::kNan);
  }
  return floats;
}

absl::Status PushMessage::Resolve(const Catalog& catalog) {
  rows_.reserve(payload_.tables.size());
  blocks_.reserve(payload_.blocks.size());
  const size_t float_size = wire::FloatSize(head_.dtype());
  for (const wire::PartitionPart& part : payload_.partitions) {
    for (const wire::TablePart& rows : std::as_const(payload_).tables_of(part)) {
      CAPSTAN_ASSIGN_OR_RETURN(const v1::TableSpec* table,
                               catalog.CheckTable(rows.table, rows.keys));
      const size_t count = rows.keys.size() / sizeof(uint64_t);
      const size_t bytes = count * table->dim() * float_size;
      const auto name = [table] { return absl::StrCat("table ", table->name()); };
      CAPSTAN_RETURN_IF_ERROR(CheckFloats(name, rows.values.size(), bytes));
      CAPSTAN_RETURN_IF_ERROR(
          CheckPulled(name, catalog.policy(Part::kSparse), rows.pulled.size(), bytes));
      CAPSTAN_RETURN_IF_ERROR(CheckUpdates(name, rows.updates.size(), count));
      const PackedKeys keys(message_.Contiguous(rows.keys), count);
      CAPSTAN_RETURN_IF_ERROR(catalog.CheckKeys(*table, keys, part.partition));
      CAPSTAN_ASSIGN_OR_RETURN(PackedFloats values, Floats(rows.values));
      CAPSTAN_ASSIGN_OR_RETURN(PackedFloats pulled, Floats(rows.pulled));
      RowGradients gradients = {.keys = keys, .values = values, .pulled = pulled};
      if (!rows.updates.empty()) {
        gradients.versions = PackedCounts(message_.Contiguous(rows.updates), count);
      }
      rows_.push_back({TableId{rows.table}, gradients});
    }
    for (const wire::BlockPart& values : payload_.blocks_of(part)) {
      CAPSTAN_ASSIGN_OR_RETURN(const Block* block,
                               catalog.CheckBlock(values.block, part.partition));
      const size_t bytes = block->length * float_size;
      const auto name = [&values] { return absl::StrCat("block ", values.block); };
      CAPSTAN_RETURN_IF_ERROR(CheckFloats(name, values.values.size(), bytes));
      CAPSTAN_RETURN_IF_ERROR(
          CheckPulled(name, catalog.policy(Part::kDense), values.pulled.size(), bytes));
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

bool PushMessage::KnowsRowVersions(const wire::PartitionPart& part) const {
  const absl::Span<const Rows> all = rows_of(part);
  return std::none_of(all.begin(), all.end(),
                      [](const Rows& rows) { return rows.gradients.versions.empty(); });
}

// Partitions that are adjacent in the message share one slice.
size_t PushMessage::AppendShares(absl::Span<const size_t> places,
                                 std::vector<grpc::Slice>& slices) const {
  const std::string head = head_.SerializeAsString();
  if (!head.empty()) slices.emplace_back(head);
  size_t size = head.size();
  for (size_t i = 0; i < places.size();) {
    const wire::PartitionPart& first = payload_.partitions[places[i]];
    size_t run = 0;
    for (; i < places.size(); ++i) {
      const wire::PartitionPart& next = payload_.partitions[places[i]];
      if (next.place != first.place + run) break;
      run += next.field.size();
    }
    first.field.Prolonged(run).ShareAs(slices);
    size += run;
  }
  return size;
}

bool PushMessage::Holds(const wire::PartitionPart& part, Part which) const {
  return which == Part::kDense ? part.blocks_end > part.blocks_begin
                               : part.tables_end > part.tables_begin;
}

}  // namespace capstan::ps
