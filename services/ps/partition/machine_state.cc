#include "ps/partition/machine_state.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "capstan/v1/partition_state.pb.h"

namespace capstan::ps {
namespace {

constexpr uint32_t kVersion = 1;

void ToProto(const PartState& state, v1::PartMachineState& proto) {
  proto.set_version(state.version);
  proto.set_lost(state.ledger.lost);
  proto.set_alone(state.ledger.alone);
  proto.set_told_by(state.ledger.told_by);
  if (state.batches) proto.set_batches(*state.batches);
  for (const StreamEntry& entry : state.ledger.streams) {
    v1::OpenStream& stream = *proto.add_streams();
    stream.set_stream(entry.stream.value);
    stream.set_prefix(entry.prefix);
    stream.set_above(entry.above);
    stream.set_suspect_below(entry.suspect_below);
    capstan::ToProto(entry.generation, *stream.mutable_generation());
  }
  for (const auto& [first, last] : state.ledger.closed) {
    v1::StreamInterval& interval = *proto.add_closed();
    interval.set_first(first);
    interval.set_last(last);
  }
}

absl::StatusOr<PartState> FromProto(const v1::PartMachineState& proto) {
  PartState state;
  state.version = proto.version();
  state.ledger.lost = proto.lost();
  state.ledger.alone = proto.alone();
  state.ledger.told_by = proto.told_by();
  if (proto.has_batches()) state.batches = proto.batches();
  for (const v1::OpenStream& stream : proto.streams()) {
    state.ledger.streams.push_back({{stream.stream()},
                                    stream.prefix(),
                                    stream.above(),
                                    GenerationFromProto(stream.generation()),
                                    stream.suspect_below()});
  }
  for (const v1::StreamInterval& interval : proto.closed()) {
    const bool ascends =
        state.ledger.closed.empty() || state.ledger.closed.back().second < interval.first();
    if (!ascends || interval.last() < interval.first()) {
      return absl::DataLossError("closed streams are out of order");
    }
    state.ledger.closed.emplace_back(interval.first(), interval.last());
  }
  return state;
}

}  // namespace

MachineState EncodeMachineState(const PartitionState& state) {
  v1::PartitionMachineState proto;
  proto.set_round(state.round);
  ToProto(state.parts[static_cast<size_t>(Part::kDense)], *proto.mutable_dense());
  ToProto(state.parts[static_cast<size_t>(Part::kSparse)], *proto.mutable_sparse());
  return {kVersion, proto.SerializeAsString()};
}

absl::StatusOr<PartitionState> DecodeMachineState(const MachineState& state) {
  if (state.version != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", state.version, " of the protocol's state is not known here, only ", kVersion));
  }
  v1::PartitionMachineState proto;
  if (!proto.ParseFromString(state.bytes)) {
    return absl::DataLossError("the protocol's state is malformed");
  }
  PartitionState result;
  result.round = proto.round();
  CAPSTAN_ASSIGN_OR_RETURN(result.parts[static_cast<size_t>(Part::kDense)],
                           FromProto(proto.dense()));
  CAPSTAN_ASSIGN_OR_RETURN(result.parts[static_cast<size_t>(Part::kSparse)],
                           FromProto(proto.sparse()));
  return result;
}

}  // namespace capstan::ps
