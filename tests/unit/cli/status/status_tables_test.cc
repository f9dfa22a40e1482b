#include "cli/status/status_tables.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/member_states.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Paint kPlain(/*color=*/false);
const Paint kColored(/*color=*/true);

v1::GetStatusReply StatusOfMembers(const std::string& text) {
  v1::GetStatusReply status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &status));
  return status;
}

TEST(WorkerTableTest, LeavesTheOrderOfTheChiefWhereAllFit) {
  const v1::GetStatusReply status = StatusOfMembers(R"pb(
    workers { name: "a" state: "active" }
    workers { name: "b" state: "lost" }
  )pb");
  EXPECT_THAT(WorkerTable(status, 2, kPlain),
              ElementsAre(StartsWith("worker"), StartsWith("a"), StartsWith("b")));
}

TEST(WorkerTableTest, TakesThoseInTroubleFirstWhereNotAllFitAndSumsUpAll) {
  const v1::GetStatusReply status = StatusOfMembers(R"pb(
    workers { name: "a" state: "active" }
    workers { name: "b" state: "idle" }
    workers { name: "c" state: "parked" }
    workers { name: "d" state: "stuck" }
    workers { name: "e" state: "active" straggler: true }
  )pb");
  EXPECT_THAT(WorkerTable(status, 3, kPlain),
              ElementsAre(StartsWith("worker"), StartsWith("d"), StartsWith("e"), StartsWith("a"),
                          "and 2 more; together 2 active, 1 idle, 1 parked, 1 stuck"));
}

TEST(WorkerTableTest, TellsThePhaseThatTakesMostOfAStep) {
  v1::GetStatusReply status = StatusOfMembers(R"pb(
    workers {
      name: "a"
      state: "active"
      report { data_seconds: 1 pull_seconds: 2 compute_seconds: 1 push_seconds: 3 wait_seconds: 1 }
    }
    workers { name: "b" state: "active" }
  )pb");
  status.mutable_workers(1)->mutable_report()->set_push_seconds(
      std::numeric_limits<double>::quiet_NaN());
  const auto lines = WorkerTable(status, 9, kPlain);
  EXPECT_THAT(lines[1], HasSubstr("push 38 %"));
  EXPECT_THAT(lines[2], Not(HasSubstr("%"))) << "nothing is known of b";
}

TEST(WorkerTableTest, OfAWorkerThatIsSilentItSaysForHowLong) {
  const v1::GetStatusReply status = StatusOfMembers(R"pb(
    workers { name: "a" state: "silent" silent_seconds: 64 straggler: true }
  )pb");
  EXPECT_THAT(WorkerTable(status, 9, kPlain)[1], HasSubstr("no word for 1m 04s"));
}

TEST(WorkerTableTest, NoNameCommandsTheTerminal) {
  v1::GetStatusReply status;
  v1::WorkerStatus& worker = *status.add_workers();
  worker.set_name("a\x1b[2J");
  worker.set_state("x\ny");
  EXPECT_THAT(WorkerTable(status, 1, kPlain),
              ElementsAre(StartsWith("worker"), StartsWith("a?[2J   x y")));
}

TEST(ShardTableTest, TakesThoseInTroubleFirstWhereNotAllFitAndSumsUpAll) {
  v1::GetStatusReply status;
  for (uint32_t i = 0; i < 40; ++i) {
    v1::ShardStatus& shard = *status.add_shards();
    shard.set_index(i);
    shard.set_state(i == 17   ? shard_state::kDraining
                    : i == 33 ? shard_state::kLost
                              : shard_state::kServing);
  }
  EXPECT_THAT(
      ShardTable(status, 3, kPlain),
      ElementsAre(StartsWith("shard"), StartsWith("ps-17"), StartsWith("ps-33"), StartsWith("ps-0"),
                  "and 37 more; together 1 draining, 1 lost, 38 serving"));
}

TEST(ShardTableTest, LeavesTheOrderOfTheChiefWhereAllFit) {
  const v1::GetStatusReply status = StatusOfMembers(R"pb(
    shards { index: 0 state: "serving" }
    shards { index: 1 state: "lost" }
  )pb");
  EXPECT_THAT(ShardTable(status, 2, kPlain),
              ElementsAre(StartsWith("shard"), StartsWith("ps-0"), StartsWith("ps-1")));
}

TEST(ShardTableTest, PaintsAStateByHowBadItIs) {
  const v1::GetStatusReply status = StatusOfMembers(R"pb(
    shards { index: 0 state: "serving" }
    shards { index: 1 state: "lost" }
    shards { index: 2 state: "draining" }
    shards { index: 3 state: "joining" }
  )pb");
  const auto lines = ShardTable(status, 9, kColored);
  EXPECT_THAT(lines[1], HasSubstr(kColored.Good("serving")));
  EXPECT_THAT(lines[2], HasSubstr(kColored.Bad("lost")));
  EXPECT_THAT(lines[3], HasSubstr(kColored.Warn("draining")));
  EXPECT_THAT(lines[4], HasSubstr("ps-3   joining")) << "in no colour";
}

TEST(NoShardIsThereTest, IsOfAJobWhoseShardsAreAllLost) {
  EXPECT_FALSE(NoShardIsThere({})) << "none has come yet";
  EXPECT_TRUE(NoShardIsThere(StatusOfMembers("shards { state: 'lost' } shards { state: 'lost' }")));
  EXPECT_FALSE(
      NoShardIsThere(StatusOfMembers("shards { state: 'lost' } shards { state: 'joining' }")));
}

}  // namespace
}  // namespace capstan::cli
