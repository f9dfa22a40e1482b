#include "chief/shell/chief_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ChiefMetricsTest, WhatEarlierChiefsHaveDoneIsNotCountedAsDoneAtOnce) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/2);
  EXPECT_THAT(registry.Text(), Not(HasSubstr("capstan_samples_processed_total 0")));
  v1::GetStatusReply status;
  status.set_examples(5000);
  status.add_losses()->set_examples(300);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_samples_processed_total 0\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_samples_lost_total 0\n"));
  status.set_examples(5040);
  status.add_losses()->set_examples(7);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_samples_processed_total 40\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_samples_lost_total 7\n"));
}

TEST(ChiefMetricsTest, TellsWhoOwnsHowManyPartitionsHowOftenTheyAreUsedAndOfThoseOnTheirWay) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/2);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_shards_expected 2\n"));
  v1::GetStatusReply status;
  for (uint32_t index : {0u, 4u, 5u}) {
    v1::ShardStatus& shard = *status.add_shards();
    shard.set_index(index);
    shard.set_partitions(index == 5 ? 0 : 8);
    shard.set_load(100 * index);
  }
  status.mutable_moves()->set_under_way(3);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_shard_partitions{shard=\"4\"} 8\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_shard_load_rows{shard=\"4\"} 400\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_partitions_moving 3\n"));
  status.mutable_shards()->DeleteSubrange(1, 2);
  status.mutable_moves()->set_under_way(0);
  status.mutable_moves()->set_moved(8);
  status.mutable_moves()->set_seconds(0.25);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), Not(HasSubstr("{shard=\"4\"}")));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_partition_moves_total{result=\"ok\"} 8\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_partition_switch_seconds 0.25\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_shards_expected 1\n"));
}

// Else the others would seem to have more than the mean, as if they were hot.
TEST(ChiefMetricsTest, AShardThatIsLostOrHasGivenAllAwayHasNoLoad) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/2);
  v1::GetStatusReply status;
  for (const char* state : {"serving", "serving", "draining"}) {
    v1::ShardStatus& shard = *status.add_shards();
    shard.set_index(static_cast<uint32_t>(status.shards_size() - 1));
    shard.set_state(state);
    shard.set_partitions(shard.index() == 0 ? 0 : 4);
    shard.set_load(9);
  }
  chief.Update(status);
  for (const char* index : {"0", "1", "2"}) {
    EXPECT_THAT(registry.Text(),
                HasSubstr(absl::StrCat("\ncapstan_shard_load_rows{shard=\"", index, "\"} 9\n")));
  }
  status.mutable_shards(1)->set_state("lost");
  for (int i : {1, 2}) status.mutable_shards(i)->set_partitions(0);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_shard_load_rows{shard=\"0\"} 9\n"));
  EXPECT_THAT(registry.Text(), Not(HasSubstr("capstan_shard_load_rows{shard=\"1\"}")));
  EXPECT_THAT(registry.Text(), Not(HasSubstr("capstan_shard_load_rows{shard=\"2\"}")));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_shard_partitions{shard=\"1\"} 0\n"));
}

TEST(ChiefMetricsTest, ARecoveryIsTimedAndMeasuredWhenItIsOver) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/2);
  v1::GetStatusReply status;
  status.add_losses()->set_examples(300);  // Before this chief came.
  chief.Update(status);
  EXPECT_THAT(registry.Text(), Not(HasSubstr("capstan_recovery_last")));
  v1::RecoveryLoss& loss = *status.add_losses();
  loss.set_examples(115);
  loss.add_tables()->set_updates(4);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_recovery_last_samples 115\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_recovery_last_updates 4\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_recovery_last_timestamp_seconds "));
}

// As a dashboard marks them: a time that wavered would be an event each time.
TEST(ChiefMetricsTest, TheTimeOfACheckpointDoesNotMoveUntilAnotherIsCommitted) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/2);
  const auto time = [&registry] {
    const std::string text = registry.Text();
    const std::string name = "\ncapstan_checkpoint_last_success_timestamp_seconds ";
    return text.substr(text.find(name), text.find('\n', text.find(name) + 1) - text.find(name));
  };
  v1::GetStatusReply status;
  status.mutable_checkpoint()->set_uri("file:///model/1");
  status.mutable_checkpoint()->set_taken(1);
  status.mutable_checkpoint()->set_age_seconds(1);
  chief.Update(status);
  const std::string first = time();
  status.mutable_checkpoint()->set_age_seconds(2.5);
  chief.Update(status);
  EXPECT_EQ(time(), first);
  status.mutable_checkpoint()->set_uri("file:///model/2");
  status.mutable_checkpoint()->set_taken(2);
  chief.Update(status);
  EXPECT_NE(time(), first);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_checkpoint_last_complete_timestamp_seconds "));
}

// As the alert compares the two: the next attempt follows within a second, and both may be heard of
// at once.
TEST(ChiefMetricsTest, ACheckpointThatFailedIsOlderThanTheOneThatSucceededAfterIt) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/2);
  const auto time = [&registry](const std::string& of) {
    const std::string text = registry.Text();
    const std::string name = "\ncapstan_checkpoint_last_" + of + "_timestamp_seconds ";
    const size_t at = text.find(name);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size()));
  };
  v1::GetStatusReply status;
  v1::CheckpointStatus& checkpoint = *status.mutable_checkpoint();
  chief.Update(status);
  EXPECT_EQ(time("failure"), 0) << "none has failed";
  checkpoint.set_failures(1);
  checkpoint.set_failed_seconds(3601);
  checkpoint.set_uri("file:///model/1");
  checkpoint.set_taken(1);
  checkpoint.set_age_seconds(3600);
  chief.Update(status);
  const double failed = time("failure");
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, time("success"));
  checkpoint.set_failed_seconds(3605);
  chief.Update(status);
  EXPECT_EQ(time("failure"), failed) << "it does not move until another fails";
}

TEST(ChiefMetricsTest, ReplicasAreToldOfWhereThereAreAny) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/2);
  v1::GetStatusReply status;
  chief.Update(status);
  EXPECT_THAT(registry.Text(), Not(HasSubstr("capstan_partitions_unpaired")));
  v1::ReplicaStatus& replicas = *status.mutable_replicas();
  replicas.set_wanted(1);
  chief.Update(status);
  replicas.set_unpaired(3);
  replicas.set_promotions(1);
  replicas.set_promoted(4);
  replicas.set_dropped(5);
  replicas.set_broken(2);
  chief.Update(status);
  for (const char* line :
       {"capstan_partitions_unpaired 3", "capstan_promotions_total 1",
        "capstan_partitions_promoted_total 4", "capstan_backups_dropped_total{because=\"lost\"} 3",
        "capstan_backups_dropped_total{because=\"broken\"} 2"}) {
    EXPECT_THAT(registry.Text(), HasSubstr(line));
  }
  status.set_state(v1::JOB_STATE_COMPLETED);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("capstan_partitions_unpaired 0"));
}

// Else each chief would begin with a loss of 0.
TEST(ChiefMetricsTest, ALossOfTrainingIsToldOnceItIsKnown) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/1);
  v1::GetStatusReply status;
  (*status.add_evaluations()->mutable_metrics())["loss"] = 0.75;  // By an earlier chief.
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("\ncapstan_loss{split=\"eval\"} 0.75\n"));
  EXPECT_THAT(registry.Text(), Not(HasSubstr("split=\"train\"")));
  for (const char* loss : {"0.5", "0"}) {
    status.set_loss(std::stod(loss));
    chief.Update(status);
    EXPECT_THAT(registry.Text(),
                HasSubstr(absl::StrCat("\ncapstan_loss{split=\"train\"} ", loss, "\n")));
  }
}

TEST(ChiefMetricsTest, TellsWhichWorkerIsSlowAndForgetsItWithTheWorker) {
  metrics::Registry registry;
  ChiefMetrics chief(registry, v1::JobSpec(), /*shards=*/1);
  v1::GetStatusReply status;
  v1::WorkerStatus& worker = *status.add_workers();
  worker.set_name("w-1");
  worker.set_state("active");
  worker.set_straggler(true);
  chief.Update(status);
  EXPECT_THAT(registry.Text(), HasSubstr("capstan_worker_straggler{worker=\"w-1\"} 1\n"));
  status.clear_workers();
  chief.Update(status);
  EXPECT_THAT(registry.Text(), Not(HasSubstr("w-1")));
}

}  // namespace
}  // namespace capstan::chief
