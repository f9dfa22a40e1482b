#include "chief/shell/traced_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "capstan/base/trace.h"
#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What the process writes while this object lives, without times and names.
class Trace {
 public:
  Trace() { EXPECT_TRUE(trace::Open(path_, "chief").ok()); }

  std::vector<std::string> News() {
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      lines.push_back(line.substr(line.find("\"event\"")));
    }
    std::vector<std::string> news(lines.begin() + static_cast<std::ptrdiff_t>(seen_), lines.end());
    seen_ = lines.size();
    return news;
  }

 private:
  const TestFolder folder_;
  const std::string path_ = folder_.Path("chief.trace");
  size_t seen_ = 0;
};

void AddTask(uint32_t task, uint64_t batches, uint64_t count, v1::TaskProgress& progress) {
  v1::OpenTask& open = *progress.add_open_tasks();
  open.set_task(task);
  open.set_batches(batches);
  open.mutable_generation()->set_term(1);
  open.mutable_generation()->set_count(count);
}

TEST(TracedTasksTest, TellsWhatHasChangedSinceItLookedLast) {
  Trace trace;
  TracedTasks traced;
  v1::TaskProgress progress;
  traced.See(1, progress, {});
  EXPECT_THAT(trace.News(), ElementsAre(R"("event":"entered","timeline":1,"begun":0,"open":""})"));

  AddTask(/*task=*/5, /*batches=*/0, /*count=*/3, progress);
  AddTask(/*task=*/7, /*batches=*/0, /*count=*/4, progress);
  traced.See(1, progress, {});
  EXPECT_THAT(trace.News(),
              ElementsAre(R"("event":"leased","stream":5,"generation":"1.3","first":0})",
                          R"("event":"leased","stream":7,"generation":"1.4","first":0})"));
  traced.See(1, progress, {});
  EXPECT_THAT(trace.News(), IsEmpty());

  v1::TaskProgress later;  // Task 5 is done; 7 was given back, and goes to another.
  AddTask(/*task=*/7, /*batches=*/2, /*count=*/8, later);
  traced.See(1, later, {});
  EXPECT_THAT(trace.News(),
              ElementsAre(R"("event":"done","stream":5,"generation":"1.3"})",
                          R"("event":"reported","stream":7,"generation":"1.4","batches":2})",
                          R"("event":"leased","stream":7,"generation":"1.8","first":2})"));

  traced.See(2, progress, {});  // It returns to a checkpoint: nothing is done or leased by that.
  EXPECT_THAT(trace.News(),
              ElementsAre(R"("event":"entered","timeline":2,"begun":0,"open":"5:0 7:0"})"));
}

TEST(TracedTasksTest, TellsWhatTheMachineAsksFor) {
  Trace trace;
  TracedTasks traced;
  StoreState store;
  AddTask(/*task=*/7, /*batches=*/2, /*count=*/8, *store.state.mutable_progress());
  v1::SavePartitionsRequest save;
  save.set_id("c1");
  v1::CloseStreamsRequest close;
  for (uint64_t stream : {3, 4}) {
    close.add_streams()->set_stream(stream);
    close.mutable_streams()->rbegin()->set_batches(9);
  }
  std::vector<Action> actions;
  actions.emplace_back(std::move(store));
  actions.emplace_back(CallShard{.shard = 0, .request = save});
  actions.emplace_back(CallShard{.shard = 1, .request = save});
  actions.emplace_back(CallShard{.request = close});
  traced.See(0, {}, actions);
  EXPECT_THAT(trace.News(), ElementsAre(R"("event":"storing","open":"7:2"})",
                                        R"("event":"recorded","checkpoint":"c1"})",
                                        R"("event":"closing","streams":"3:9 4:9"})"));
}

}  // namespace
}  // namespace capstan::chief
