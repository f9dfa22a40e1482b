// How long a chief takes to cut the objects of a store into tasks, where each answer takes 20 ms.
//
//   plan_bench [objects]     100,000 unless it is told otherwise
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/data/formats/object_files.h"
#include "capstan/data/tasks/tasks.h"
#include "tests/bench/result.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

constexpr absl::Duration kLatency = absl::Milliseconds(20);
constexpr size_t kOnAPage = 1000;  // As S3 lists: each page is an answer.

int Run(int objects) {
  const std::unique_ptr<ObjectStore> memory = MakeMemoryObjectStore();
  const std::string text = "0,0.5\n1,0.25\n0,0.125\n1,0.75\n";
  for (int i = 0; i < objects; ++i) {
    CAPSTAN_CHECK(memory->Put(absl::StrCat("part-", 1'000'000 + i, ".csv"), text).ok());
  }
  const std::unique_ptr<const Source> files = NewObjectFiles([&](const std::string&) {
    auto store = std::make_unique<FaultyObjectStore>(*memory);
    store->SetPlan([objects](const StoreCall& call) {
      const size_t answers =
          call.kind == StoreCall::Kind::kList ? static_cast<size_t>(objects) / kOnAPage + 1 : 1;
      return StoreFault{.pause = [answers] { absl::SleepFor(kLatency * answers); }};
    });
    return absl::StatusOr<std::unique_ptr<ObjectStore>>(std::move(store));
  });
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.add_train("s3://data/part-*");
  absl::Time begun = absl::Now();
  const auto tasks = PlanTasks(*files, data, {.batch_size = 64});
  CAPSTAN_CHECK(tasks.ok());
  TellResult(absl::StrCat(objects, " objects: planned"), "s",
             absl::ToDoubleSeconds(absl::Now() - begun));
  begun = absl::Now();
  CAPSTAN_CHECK(*StillFit(*files, data, Split::kTrain, *tasks));
  TellResult(absl::StrCat(objects, " objects: a stored plan is found to fit"), "s",
             absl::ToDoubleSeconds(absl::Now() - begun));
  return 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Run(argc > 1 ? std::atoi(argv[1]) : 100'000); }
