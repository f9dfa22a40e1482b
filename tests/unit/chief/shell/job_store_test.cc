#include "chief/shell/job_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "capstan/checkpoint/sealed_json.h"
#include "capstan/checkpoint/state_format.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/strangers_folder.h"

namespace capstan::chief {
namespace {

v1::ChiefState State(uint64_t term, uint64_t written_by) {
  v1::ChiefState state;
  state.set_term(term);
  state.set_written_by(written_by);
  return state;
}

// Two chiefs with stores of their own over one folder.
class JobStoreTest : public testing::Test {
 protected:
  uint64_t TermThatIsStored() {
    JobStore reader(std::make_unique<FaultyObjectStore>(*folder_), nullptr);
    const absl::StatusOr<std::optional<v1::ChiefState>> state = reader.ReadState();
    return state.ok() && *state ? (*state)->term() : 0;
  }

  const std::unique_ptr<ObjectStore> folder_ = MakeMemoryObjectStore();
  FaultyObjectStore* const faults_ = new FaultyObjectStore(*folder_);  // Owned by first_.
  JobStore first_{std::unique_ptr<ObjectStore>(faults_), nullptr};
  JobStore second_{std::make_unique<FaultyObjectStore>(*folder_), nullptr};
};

TEST_F(JobStoreTest, ReadsNothingWhereNothingWasWritten) {
  const absl::StatusOr<std::optional<v1::ChiefState>> state = first_.ReadState();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(state->has_value());
}

TEST_F(JobStoreTest, WritesOnlyInThePlaceOfWhatItKnows) {
  ASSERT_TRUE(first_.WriteState(State(1, 100)).ok());
  EXPECT_TRUE(absl::IsAborted(second_.WriteState(State(2, 200))));
  ASSERT_TRUE(second_.ReadState().ok());
  EXPECT_TRUE(second_.WriteState(State(2, 200)).ok());
  EXPECT_TRUE(absl::IsAborted(first_.WriteState(State(1, 100))));
  EXPECT_EQ(TermThatIsStored(), 2u);
}

TEST_F(JobStoreTest, AWriteWhoseAnswerWasLostIsItsOwn) {
  ASSERT_TRUE(first_.WriteState(State(1, 100)).ok());
  faults_->SetPlan([](const StoreCall& call) -> StoreFault {
    if (call.kind != StoreCall::Kind::kWrite) return {};
    return {.status = absl::UnavailableError("no answer"), .effect = StoreFault::Effect::kDone};
  });
  EXPECT_TRUE(absl::IsUnavailable(first_.WriteState(State(1, 100))));
  faults_->Heal();
  // The store holds a version that this object has never been told of.
  EXPECT_TRUE(absl::IsUnavailable(first_.WriteState(State(1, 100))));
  EXPECT_TRUE(first_.WriteState(State(1, 100)).ok());
}

TEST_F(JobStoreTest, ADamagedStateIsDataLoss) {
  ASSERT_TRUE(first_.WriteState(State(1, 100)).ok());
  faults_->SetPlan([](const StoreCall&) { return StoreFault{.flip_bit = true}; });
  EXPECT_TRUE(absl::IsDataLoss(first_.ReadState().status()));
  faults_->SetPlan([](const StoreCall& call) -> StoreFault {
    if (call.kind != StoreCall::Kind::kWrite) return {};
    return {.status = absl::UnavailableError("the disk is full"),
            .effect = StoreFault::Effect::kTorn};
  });
  EXPECT_FALSE(first_.WriteState(State(1, 100)).ok());
  EXPECT_TRUE(absl::IsDataLoss(second_.ReadState().status()));
}

TEST_F(JobStoreTest, AStateOfALaterFormatIsRefusedWithWhoIsOlder) {
  v1::ChiefState later = State(1, 100);
  later.set_format(kStateFormat + 1);
  ASSERT_TRUE(first_.WriteState(later).ok());
  EXPECT_EQ(second_.ReadState().status(),
            absl::FailedPreconditionError(
                "state/chief.json: has format 2, expected at most 1: this chief is older than the "
                "chief that has written it; use a version that is not older than that one"));
  later.set_format(kStateFormat);
  ASSERT_TRUE(first_.WriteState(later).ok());
  EXPECT_TRUE(second_.ReadState().ok());
}

TEST_F(JobStoreTest, TasksAreKeptOnceUnderTheirFingerprint) {
  v1::Task task;
  task.set_file("/data/a.csv");
  task.set_end(~uint64_t{0});
  EXPECT_TRUE(absl::IsNotFound(first_.ReadTasks(0xabc).status()));
  ASSERT_TRUE(first_.KeepTasks(0xabc, std::vector{task}).ok());
  ASSERT_TRUE(second_.KeepTasks(0xabc, {}).ok());
  const absl::StatusOr<TaskRanges> kept = second_.ReadTasks(0xabc);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ((*kept)[0].file(), "/data/a.csv");
  EXPECT_EQ((*kept)[0].end, ~uint64_t{0});
  ASSERT_TRUE(folder_->Put("state/tasks-0000000000000abc.json", "{}").ok());
  EXPECT_TRUE(absl::IsDataLoss(second_.ReadTasks(0xabc).status()));
}

TEST_F(JobStoreTest, WithTheTasksTheLastListingOfTheirFilesIsKept) {
  const std::vector<v1::TaskRun> runs(1);
  ASSERT_TRUE(first_.KeepTasks(0xabc, TaskRanges(runs)).ok());
  EXPECT_EQ(first_.ReadTasks(0xabc)->listing(), 0u) << "of an earlier version";
  for (const uint64_t listing : {7u, 8u}) {
    ASSERT_TRUE(first_.KeepTasks(0xabc, TaskRanges(runs, listing)).ok());
    EXPECT_EQ(second_.ReadTasks(0xabc)->listing(), listing);
  }
  ASSERT_TRUE(first_.KeepTasks(0xabc, TaskRanges(runs)).ok());
  EXPECT_EQ(second_.ReadTasks(0xabc)->listing(), 8u);
  ASSERT_TRUE(folder_->Put("state/listing-0000000000000abc.txt", "no number").ok());
  EXPECT_EQ(second_.ReadTasks(0xabc)->listing(), 0u);
}

TEST_F(JobStoreTest, TasksThatAnEarlierVersionHasListedAreRead) {
  v1::TrainTasks listed;
  listed.set_format(1);
  listed.add_tasks()->set_file("/data/a.csv");
  listed.add_tasks()->set_expected_records(7);
  ASSERT_TRUE(folder_->Put("state/tasks-0000000000000abc.json", *SealJson(listed)).ok());
  const absl::StatusOr<TaskRanges> kept = first_.ReadTasks(0xabc);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->size(), 2u);
  EXPECT_EQ((*kept)[0].file(), "/data/a.csv");
  EXPECT_EQ((*kept)[1].expected_records, 7u);
}

TEST_F(JobStoreTest, WhatIsSetAsideStaysWhenAnotherIsWritten) {
  ASSERT_TRUE(first_.WriteState(State(7, 100)).ok());
  ASSERT_TRUE(first_.SetStateAside(7).ok());
  ASSERT_TRUE(first_.WriteState(State(8, 100)).ok());
  EXPECT_TRUE(folder_->Get("state/chief-7.json").ok());
  EXPECT_EQ(TermThatIsStored(), 8u);
}

TEST(JobStoreDeletionTest, DeletesTheOthersWhereOneIsNotItsOwn) {
  const std::unique_ptr<ObjectStore> folder = MakeMemoryObjectStore();
  JobStore store(nullptr, std::make_unique<FaultyObjectStore>(*folder));
  PutStrangersThings(*folder);
  ASSERT_TRUE(folder->Put("000000000009-a/partition-0000.capstan", "x").ok());
  const JobStore::Deletion deletion = store.Delete({"photos", "2024-photos", "000000000009-a"});
  EXPECT_THAT(deletion.deleted, testing::ElementsAre("000000000009-a"));
  EXPECT_EQ(deletion.status.message(),
            "\"photos\" is not named as a checkpoint is (<step>-<id>): it is left alone");
  EXPECT_TRUE(folder->List("000000000009-a/")->empty());
  ExpectStrangersThings(*folder);
}

TEST(JobStoreDeletionTest, TellsOnlyWhatIsGoneWhereTheStoreIsAway) {
  const std::unique_ptr<ObjectStore> folder = MakeMemoryObjectStore();
  auto faulty = std::make_unique<FaultyObjectStore>(*folder);
  FaultyObjectStore* const faults = faulty.get();
  JobStore store(nullptr, std::move(faulty));
  ASSERT_TRUE(folder->Put("000000000009-a/partition-0000.capstan", "x").ok());
  faults->FailAlways(absl::UnavailableError("away"));
  for (const JobStore::Deletion& deletion :
       {store.Delete({"000000000009-a"}), store.DeleteUncompleted({"000000000009-a"})}) {
    EXPECT_TRUE(absl::IsUnavailable(deletion.status)) << deletion.status;
    EXPECT_THAT(deletion.deleted, testing::IsEmpty());
  }
  faults->Heal();
  EXPECT_THAT(store.Delete({"000000000009-a"}).deleted, testing::ElementsAre("000000000009-a"));
}

}  // namespace
}  // namespace capstan::chief
