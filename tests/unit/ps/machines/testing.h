// Short forms for the tests of the machines.
#ifndef CAPSTAN_TESTS_UNIT_PS_MACHINES_TESTING_H_
#define CAPSTAN_TESTS_UNIT_PS_MACHINES_TESTING_H_

#include <vector>

#include "ps/machines/coordinator_machine.h"
#include "ps/machines/partition_machine.h"

namespace capstan::ps {

inline constexpr absl::Time kNow = absl::UnixEpoch();
inline constexpr Timeline kLine{1};
inline constexpr StreamId kTask{5};
inline constexpr Generation kFirst{1, 1};
inline constexpr Generation kSecond{1, 2};

inline v1::UpdatePolicy Policy(v1::PolicyKind kind, uint32_t aggregate = 1) {
  v1::UpdatePolicy policy;
  policy.set_kind(kind);
  policy.set_aggregate(aggregate);
  return policy;
}

inline PartitionOptions Both(const v1::UpdatePolicy& policy) {
  PartitionOptions options;
  options.timeline = kLine;
  options.dense = options.sparse = policy;
  return options;
}

inline Decision Push(PartitionMachine& machine, uint64_t seq, uint64_t handle,
                     Generation generation = {1, 1}, uint64_t low_watermark = 0) {
  const StreamGradient gradient{{kTask, seq, generation, low_watermark}, 0, GradientHandle{handle}};
  return machine.PushStream(Part::kSparse, kLine, gradient, kNow);
}

inline Decision Stage(PartitionMachine& machine, int lane, uint64_t round, uint64_t handle,
                      Generation generation = {1, 1}) {
  const LaneGradient gradient{LaneIndex{lane}, generation, round, GradientHandle{handle}};
  return machine.PushStage(Part::kDense, kLine, gradient);
}

inline std::vector<uint64_t> Handles(const Update& update) {
  std::vector<uint64_t> handles;
  for (const Contribution& contribution : update.contributions) {
    handles.push_back(static_cast<uint64_t>(contribution.handle));
  }
  return handles;
}

inline std::vector<uint64_t> Discarded(const Decision& decision) {
  std::vector<uint64_t> handles;
  for (GradientHandle handle : decision.discarded) handles.push_back(static_cast<uint64_t>(handle));
  return handles;
}

// Asks the coordinator; nobody else is answered. UNSPECIFIED: parked.
inline OpenAnswer Open(CoordinatorMachine& coordinator, int lane, Generation generation,
                       uint64_t waiter = 1) {
  const CoordinatorAnswers answers =
      coordinator
          .Open({WaiterId{waiter}, LaneIndex{lane}, generation, kNow + absl::Seconds(5)}, kNow)
          .value();
  for (const CoordinatorAnswer& answer : answers) {
    if (answer.waiter == WaiterId{waiter}) return std::get<OpenAnswer>(answer.answer);
  }
  return {};
}

inline v1::ReportLaneReply::Answer Report(CoordinatorMachine& coordinator, int lane,
                                          Generation generation, uint64_t round,
                                          bool end_of_data = false) {
  return coordinator.Report({LaneIndex{lane}, generation, round, 8, end_of_data})->answer;
}

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_UNIT_PS_MACHINES_TESTING_H_
