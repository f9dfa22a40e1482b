#include "cli/commands/plan_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/unit/plan/dense_job.h"

namespace capstan::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The plan of four lanes of 4 MB on this scale.
PlannedJob PlannedOf(const Scale& scale = {.workers = 4, .shards = 2}) {
  PlannedJob planned = {.job = DenseJob(4), .facts = {.records = 400'000, .tasks = 7}};
  planned.job.set_job("demo");
  planned.scale = scale;
  planned.rates.origin = "measured here";
  const auto plan =
      MakePlan(planned.job, planned.facts, scale, planned.rates, {.compute_seconds = 3});
  EXPECT_TRUE(plan.ok()) << plan.status();
  planned.plan = plan.value_or(Plan());
  return planned;
}

google::protobuf::Struct JsonOf(const PlannedJob& planned) {
  const std::string text = PlanJson(planned);
  google::protobuf::Struct json;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &json).ok()) << text;
  EXPECT_EQ(text.find('\n'), text.npos);
  return json;
}

TEST(PlanLinesTest, SayWhatAsynchronousWorkersDoTogetherAndLanesInARound) {
  PlannedJob planned = PlannedOf();
  EXPECT_THAT(PlanLines(planned), Contains(StartsWith("round       the busiest shard sends ")));
  planned.job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  EXPECT_THAT(PlanLines(planned), Contains(StartsWith("all workers the busiest shard sends ")));
}

TEST(PlanLinesTest, NameTheNetworkOnlyWhereThereIsOne) {
  EXPECT_THAT(PlanLines(PlannedOf()),
              Contains("scale       4 workers, 2 shards, 2 cores each, network 1.2GiB a second "
                       "each way"));
  EXPECT_THAT(PlanLines(PlannedOf({.workers = 4, .shards = 2, .cores = 8, .one_machine = true})),
              Contains("scale       4 workers, 2 shards, on one machine of 8 cores"));
}

TEST(PlanLinesTest, LeaveOutWhatIsNotKnown) {
  PlannedJob planned = PlannedOf();
  EXPECT_THAT(PlanLines(planned), Contains("data        7 tasks, 400,000 records an epoch"));
  EXPECT_THAT(PlanLines(planned), Contains(HasSubstr(", an epoch takes ")));
  EXPECT_THAT(PlanLines(planned), Contains(StartsWith("memory      is that of the job")));
  EXPECT_THAT(PlanLines(planned), Not(Contains(StartsWith("rows "))));
  planned.facts.records = 0;
  planned.plan.epoch_seconds = 0;
  planned.rates.shard_bytes = 1;
  EXPECT_THAT(PlanLines(planned), Contains("data        7 tasks"));
  EXPECT_THAT(PlanLines(planned), Not(Contains(HasSubstr("an epoch takes"))));
  EXPECT_THAT(PlanLines(planned), Not(Contains(StartsWith("memory "))));
}

TEST(PlanLinesTest, SayInTheEndWhatIsOddAndWhatDoesNotFit) {
  PlannedJob planned = PlannedOf();
  planned.plan.warnings = {"it is slow"};
  planned.plan.refusals = {"it is large"};
  const auto lines = PlanLines(planned);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[lines.size() - 2], "warning: it is slow");
  EXPECT_EQ(lines.back(), "does not fit: it is large");
}

TEST(PlanJsonTest, HasTheNumbersOfThePlan) {
  const PlannedJob planned = PlannedOf();
  const google::protobuf::Struct json = JsonOf(planned);
  EXPECT_EQ(json.fields().at("step_seconds").number_value(), planned.plan.pace.step.total());
  EXPECT_EQ(json.fields().at("tasks").number_value(), 7);
  EXPECT_EQ(json.fields().at("bottleneck").string_value(), planned.plan.pace.loads.front().what);
  EXPECT_THAT(json.fields().at("does_not_fit").list_value().values(), IsEmpty());
}

TEST(PlanJsonTest, ANumberThatIsNotFiniteIsNullAndTheRestStaysJson) {
  PlannedJob planned = PlannedOf();
  planned.plan.store_seconds = std::numeric_limits<double>::infinity();
  planned.plan.more_by_a_worker = std::numeric_limits<double>::quiet_NaN();
  planned.plan.warnings = {"a \"quoted\"\nword"};
  const google::protobuf::Struct json = JsonOf(planned);
  EXPECT_EQ(json.fields().at("store_seconds").kind_case(), google::protobuf::Value::kNullValue);
  EXPECT_EQ(json.fields().at("more_by_a_worker").kind_case(), google::protobuf::Value::kNullValue);
  EXPECT_EQ(json.fields().at("warnings").list_value().values(0).string_value(),
            "a \"quoted\"\nword");
}

}  // namespace
}  // namespace capstan::cli
