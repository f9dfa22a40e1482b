// What a job's tasks take of its chief, where there are very many: memory, the size of the stored
// plan, the time of a start in the middle of the job, and of a lease. And what the shards keep of
// the streams of tasks that are done.
//
//   tasks_bench [tasks]     10,000,000 unless it is told otherwise, of a thousand files
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/checkpoint/sealed_json.h"
#include "capstan/consistency/closed_streams.h"
#include "capstan/consistency/generation.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/v1/chief_state.pb.h"
#include "chief/work/generations.h"
#include "chief/work/work.h"
#include "ps/partition/machine_state.h"
#include "tests/bench/result.h"

namespace capstan::chief {
namespace {

constexpr uint64_t kTaskBytes = uint64_t{8} << 20;
constexpr int kLeases = 10'000;

double ResidentMiB() {
  uint64_t pages = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

// What is allocated, whether or not the pages under it were there before.
double AllocatedMiB() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd) / (1 << 20);
}

double Since(absl::Time begun) { return absl::ToDoubleSeconds(absl::Now() - begun); }

JobPlan PlanOfFiles(uint64_t tasks, uint32_t pieces) {
  JobPlan plan;
  plan.spec.mutable_train()->set_batch_size(512);
  plan.spec.mutable_train()->set_epochs(3);
  plan.spec.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  plan.spec.mutable_data()->set_shuffle(true);
  plan.spec.mutable_data()->set_pieces(pieces);
  plan.spec.mutable_data()->set_numbered_in_order(true);
  const uint64_t files = std::min<uint64_t>(tasks, 1000);
  std::vector<v1::TaskRun> runs;
  for (uint64_t i = 0; i < files; ++i) {
    v1::TaskRun& run = runs.emplace_back();
    run.set_file(absl::StrCat("s3://clicks/2026/day-", 1000 + i, ".csv"));
    run.set_ranges(tasks / files);
    run.set_end(run.ranges() * kTaskBytes);
    run.set_record_bytes(100);
  }
  plan.train = TaskRanges(std::move(runs));
  return plan;
}

// The epoch whose streams are closed.
constexpr uint64_t kEpochTasks = 1'000'000;
constexpr uint64_t kWorkers = 100;
constexpr size_t kPartitions = 256;

// One part of one partition: each stream is pushed to when its task is leased, and closed when the
// task is done. Every other part of every partition hears the same.
class Ledger {
 public:
  void Begin(const v1::Lease& lease) {
    const StreamPush push{.stream = StreamId::Task(lease.data_epoch(), lease.task().index()),
                          .generation = GenerationFromProto(lease.generation())};
    CAPSTAN_CHECK(ledger_.Look(push, absl::UnixEpoch()) == LedgerAnswer::kFresh);
    ledger_.Settle(push);
  }
  void Close(const v1::StreamClose& close) {
    ledger_.Close({close.stream()}, close.batches());
    closed_.Insert({close.stream()});
    if (closed_.intervals().size() > largest_.closed.size()) largest_ = ledger_.state();
  }
  // As it was when it had the most intervals of closed streams.
  const LedgerState& largest() const { return largest_; }

 private:
  StreamLedger ledger_;
  ClosedStreams closed_;  // The ledger's own, which it shows only with all of its state.
  LedgerState largest_;
};

v1::LeaseReport Done(const v1::Lease& lease) {
  v1::LeaseReport report;
  *report.mutable_generation() = lease.generation();
  report.set_finished(true);
  report.set_batches_done(1);
  report.set_total_batches(1);
  report.set_examples(1);
  report.set_total_examples(1);
  return report;
}

// Trains an epoch of shuffled tasks, and returns the ledger that has most to keep. Every worker has
// a task, and any of them is the next that is done with its own: tasks end in another order than
// they are leased in, as they do where some are long and some workers slow.
LedgerState TrainAnEpoch() {
  Work work(PlanOfFiles(kEpochTasks, /*pieces=*/1));
  Generations generations(1);
  Ledger ledger;
  std::vector<v1::Lease> held;
  const auto lease = [&](TrainerId trainer) {
    held.push_back(*work.tasks()->Grant(trainer, generations));
    ledger.Begin(held.back());
  };
  for (uint64_t i = 1; i <= kWorkers; ++i) lease(TrainerId{i});
  for (uint64_t done = 0; done < kEpochTasks; ++done) {
    std::swap(held[Draw(/*seed=*/7, /*stream=*/0, done) % held.size()], held.back());
    const TrainerId trainer{held.back().trainer()};
    const ReportResult result = work.Report({&trainer, 1}, Done(held.back()));
    CAPSTAN_CHECK(result.closes.size() == 1);
    ledger.Close(result.closes.front());
    held.pop_back();
    lease(trainer);
  }
  return ledger.largest();
}

// What all shards together keep of the streams, in memory and in a checkpoint, when it is most.
void TellStreams() {
  const LedgerState largest = TrainAnEpoch();
  const std::string what = absl::StrCat("streams of ", kEpochTasks, " tasks: ");
  const ps::PartitionState partition{
      .parts = {ps::PartState{.ledger = largest}, ps::PartState{.ledger = largest}}};
  const size_t stored = ps::EncodeMachineState(partition).bytes.size();
  const double before = AllocatedMiB();
  std::vector<StreamLedger> ledgers;
  ledgers.reserve(kPartitions * kParts);
  for (size_t i = 0; i < kPartitions * kParts; ++i) {
    ledgers.push_back(StreamLedger::FromState(largest, absl::UnixEpoch()));
  }
  TellResult(absl::StrCat(what, "intervals of closed ones"), "intervals",
             static_cast<double>(largest.closed.size()));
  TellResult(absl::StrCat(what, "memory of ", kPartitions, " partitions"), "MiB",
             AllocatedMiB() - before);
  TellResult(absl::StrCat(what, "a checkpoint's part"), "MiB",
             static_cast<double>(stored * kPartitions) / (1 << 20));
}

int Run(uint64_t tasks) {
  const JobPlan plan = PlanOfFiles(tasks, /*pieces=*/16);
  v1::TrainTasks stored;
  stored.mutable_runs()->Add(plan.train.runs().begin(), plan.train.runs().end());
  const std::string what = absl::StrCat(plan.train.size(), " tasks: ");
  TellResult(absl::StrCat(what, "the stored plan"), "bytes",
             static_cast<double>(SealJson(stored)->size()));
  const double before = ResidentMiB();
  absl::Time begun = absl::Now();
  Work work(plan);
  v1::TaskProgress progress;
  progress.set_begun(plan.train.size() * uint64_t{2} + plan.train.size() / 2);
  work.Restore(progress);
  TellResult(absl::StrCat(what, "start in the middle of the last of 3 epochs"), "s", Since(begun));
  TellResult(absl::StrCat(what, "memory"), "MiB", ResidentMiB() - before);
  begun = absl::Now();
  Generations generations(1);
  for (int i = 0; i < kLeases; ++i) {
    CAPSTAN_CHECK(work.tasks()->Grant(TrainerId{1}, generations).has_value());
  }
  TellResult(absl::StrCat(what, "a lease"), "us", 1e6 * Since(begun) / kLeases);
  TellStreams();
  return 0;
}

}  // namespace
}  // namespace capstan::chief

int main(int argc, char** argv) {
  return capstan::chief::Run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000);
}
