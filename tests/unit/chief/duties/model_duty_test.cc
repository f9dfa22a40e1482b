#include "chief/duties/model_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kModel[] = "/models/test/checkpoints/x";

// A job of eight partitions on two shards, which is completed.
class ModelDutyTest : public DutyTest {
 protected:
  ModelDutyTest() {
    Run(2);
    job_.state = v1::JOB_STATE_COMPLETED;
    job_.model_uri = kModel;
    Publish();
  }

  // Another process comes in the shard's place, and everybody hears of it.
  void Replace(uint32_t index, uint64_t incarnation) {
    AddShard(index, incarnation);
    Publish();
  }
  void PassSettling() {
    duty_.Advance(now_);
    now_ += absl::Seconds(3);
    duty_.Advance(now_);
    duty_.Advance(now_);
  }
  void Answer(const CallShard& call, absl::StatusOr<ShardReply> reply) {
    duty_.OnAnswer(*job_.calls.OnReply(call.call, std::move(reply), now_), now_);
  }
  static ShardReply Loaded() {
    v1::LoadPartitionsReply reply;
    reply.set_done(true);
    return reply;
  }

  ModelDuty duty_{job_, orders_};
};

TEST_F(ModelDutyTest, NothingIsLoadedWhereTheShardsHaveWhatTheyOwn) {
  const uint64_t timeline = job_.placement.timeline();
  PassSettling();
  EXPECT_THAT(Calls(), IsEmpty());
  EXPECT_EQ(job_.placement.timeline(), timeline);
  EXPECT_FALSE(duty_.loads());
}

TEST_F(ModelDutyTest, AllLoadTheModelInATimelineOfItsOwnWhereOneHasComeAnew) {
  const uint64_t timeline = job_.placement.timeline();
  Replace(1, 777);
  PassSettling();
  EXPECT_GT(job_.placement.timeline(), timeline);
  const std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, SizeIs(2));
  for (const CallShard& call : calls) {
    const auto& load = call.request.Get<v1::LoadPartitionsRequest>();
    EXPECT_EQ(load.uri(), kModel);
    EXPECT_TRUE(load.parameters_only()) << "nobody trains any more";
    EXPECT_EQ(load.header().timeline(), job_.placement.timeline());
    EXPECT_THAT(load.partitions(), SizeIs(4));
    Answer(call, Loaded());
  }
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), IsEmpty());
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
}

TEST_F(ModelDutyTest, ThoseThatComeWithinAMomentLoadTogetherAndLaterOnesAlone) {
  Replace(1, 777);
  duty_.Advance(now_);
  now_ += absl::Seconds(2.9);
  duty_.Advance(now_);
  EXPECT_FALSE(duty_.loads());
  Replace(0, 778);
  now_ += absl::Seconds(0.1);
  duty_.Advance(now_);
  const uint64_t timeline = job_.placement.timeline();
  duty_.Advance(now_);
  for (const CallShard& call : Calls()) Answer(call, Loaded());
  Replace(1, 779);
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), ElementsAre(testing::Field(&CallShard::shard, 1u)));
  EXPECT_EQ(job_.placement.timeline(), timeline) << "shard 0 has the model";
}

TEST_F(ModelDutyTest, NobodyIsAskedBeforeTheTimelineAndTheNewProcessAreKnown) {
  Replace(1, 777);
  orders_.publish = [] {};
  PassSettling();
  EXPECT_TRUE(duty_.loads());
  EXPECT_THAT(Calls(), IsEmpty());
  Publish();
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), SizeIs(2));
}

TEST_F(ModelDutyTest, AModelThatCannotBeReadIsAskedForAgainAndAWarningIsShownMeanwhile) {
  Replace(1, 777);
  PassSettling();
  for (const CallShard& call : Calls()) {
    if (call.shard == 0) Answer(call, Loaded());
    if (call.shard == 1) Answer(call, absl::DataLossError("MANIFEST.json is gone"));
  }
  EXPECT_THAT(Warning("model"), testing::AllOf(HasSubstr("shard 1 cannot load the model"),
                                               HasSubstr("MANIFEST.json is gone")));
  duty_.Advance(now_);
  EXPECT_THAT(Calls(), IsEmpty());
  now_ += absl::Seconds(1);
  const std::vector<CallShard> again = Calls();
  ASSERT_THAT(again, SizeIs(1));
  Answer(again[0], Loaded());
  EXPECT_EQ(Warning("model"), "");
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
}

TEST_F(ModelDutyTest, WhereNoModelWasWrittenOrTheJobHasFailedNothingIsLoaded) {
  Replace(1, 777);
  job_.model_uri = "";
  PassSettling();
  job_.model_uri = kModel;
  job_.state = v1::JOB_STATE_FAILED;
  PassSettling();
  EXPECT_FALSE(duty_.loads());
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(ModelDutyTest, WhereThereIsNoMapOneIsMadeOnceAllShardsAreThere) {
  job_.placement.views.ForgetMap();
  PassSettling();
  EXPECT_EQ(job_.placement.views.current().owners_size(), 8);
  EXPECT_THAT(Calls(), SizeIs(2));
}

}  // namespace
}  // namespace capstan::chief
