// What a job's tasks take of its chief, where there are very many: memory, the size of the stored
// plan, the time of a start in the middle of the job, and of a lease.
//
//   tasks_bench [tasks]     10,000,000 unless it is told otherwise, of a thousand files
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
#include "capstan/checkpoint/sealed_json.h"
#include "capstan/v1/chief_state.pb.h"
#include "chief/work/generations.h"
#include "chief/work/work.h"
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

double Since(absl::Time begun) { return absl::ToDoubleSeconds(absl::Now() - begun); }

JobPlan PlanOfFiles(uint64_t tasks) {
  JobPlan plan;
  plan.spec.mutable_train()->set_batch_size(512);
  plan.spec.mutable_train()->set_epochs(3);
  plan.spec.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  plan.spec.mutable_data()->set_shuffle(true);
  plan.spec.mutable_data()->set_pieces(16);
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

int Run(uint64_t tasks) {
  const JobPlan plan = PlanOfFiles(tasks);
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
  return 0;
}

}  // namespace
}  // namespace capstan::chief

int main(int argc, char** argv) {
  return capstan::chief::Run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000);
}
