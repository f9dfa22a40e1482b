// Orders to save and to load, on shards that serve: what is saved is the parameters of a moment,
// and comes back bit for bit on any number of shards, or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "tests/integration/shard/counting_client.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::HasSubstr;

constexpr uint32_t kColumns = 2;
constexpr uint32_t kRows = 500;

class DurabilityTest : public testing::Test {
 protected:
  std::string Uri(const std::string& id) const { return folder_.Path(id); }

  // Orders a save of every shard, waits for it, and commits it.
  absl::Status Save(LocalShards& shards, const std::string& id, const std::string& parent = "") {
    v1::Manifest manifest;
    manifest.set_id(id);
    manifest.set_parent(parent);
    *manifest.mutable_job() = shards.job();
    for (int i = 0; i < shards.size(); ++i) {
      v1::SavePartitionsRequest order;
      order.mutable_header()->set_timeline(shards.view().timeline());
      order.set_uri(Uri(id));
      order.set_id(id);
      order.set_parent(parent);
      absl::StatusOr<v1::SavePartitionsReply> reply = shards.at(i).saver().Order(order);
      while (reply.ok() && !reply->done()) {
        absl::SleepFor(absl::Milliseconds(1));
        reply = shards.at(i).saver().Order(order);
      }
      if (!reply.ok()) return reply.status();
      manifest.mutable_files()->MergeFrom(reply->files());
    }
    return WriteManifest(**OpenObjectStore(Uri(id)), manifest);
  }

  // Orders every shard to load, in a new timeline, and waits. `told`: what it is told of that comes
  // back alone.
  absl::Status Load(LocalShards& shards, uint64_t timeline, const std::string& id,
                    const std::optional<v1::PartialRecoveryStart>& told = std::nullopt) {
    for (int i = 0; i < shards.size(); ++i) {
      v1::LoadPartitionsRequest order = shards.LoadOrder(i);
      order.mutable_header()->set_timeline(timeline);
      if (!id.empty()) order.set_uri(Uri(id));
      if (told) *order.mutable_partial() = *told;
      absl::StatusOr<v1::LoadPartitionsReply> reply = shards.at(i).loader().Order(order);
      while (reply.ok() && !reply->done()) {
        absl::SleepFor(absl::Milliseconds(1));
        reply = shards.at(i).loader().Order(order);
      }
      if (!reply.ok()) return reply.status();
    }
    shards.SetTimeline(timeline);
    return absl::OkStatus();
  }

  const v1::JobSpec job_ = SmallJob(kColumns, kColumns);
  const TestFolder folder_;
};

void PushSome(CountingClient& client, int pushes) {
  for (int i = 0; i < pushes; ++i) ASSERT_TRUE(client.Push().ok());
}

std::vector<float> CellsOf(CountingClient& client) {
  absl::StatusOr<std::vector<float>> cells = client.Pull();
  EXPECT_TRUE(cells.ok()) << cells.status();
  return cells.ok() ? *std::move(cells) : std::vector<float>();
}

std::vector<float> CellsOf(const LocalShards& shards, uint32_t rows) {
  CountingClient client(shards.job(), shards.view(), 0, rows);
  return CellsOf(client);
}

TEST_F(DurabilityTest, ComesBackBitForBitOnAnotherNumberOfShards) {
  LocalShards two(job_, 2);
  CountingClient client(job_, two.view(), 0, kRows);
  PushSome(client, 20);
  ASSERT_TRUE(Save(two, "20-a").ok());

  LocalShards three(job_, 3);
  ASSERT_TRUE(Load(three, /*timeline=*/2, "20-a").ok());
  EXPECT_EQ(CellsOf(three, kRows), CellsOf(client));
  ASSERT_TRUE(Save(three, "20-b").ok());
  for (uint32_t i = 0; i < job_.partition_count(); ++i) {
    const std::string name = PartitionFileName(PartitionIndex(i));
    v1::JobSpec job = job_;
    auto a = CheckpointReader::Open(Uri("20-a"))
                 ->Read(PartitionIndex(i), job, *DenseLayout::Create(job.tensors(), 8));
    auto b = CheckpointReader::Open(Uri("20-b"))
                 ->Read(PartitionIndex(i), job, *DenseLayout::Create(job.tensors(), 8));
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->machine.bytes, b->machine.bytes) << "ledgers and versions";
    const PartitionFileOptions options = {.partition_count = 8, .timeline = 0};
    EXPECT_EQ(EncodePartition(*a->store, options), EncodePartition(*b->store, options));
  }
}

TEST_F(DurabilityTest, AfterALoadTheLedgerFiltersWhatTheCheckpointHolds) {
  LocalShards shards(job_, 2);
  CountingClient client(job_, shards.view(), 0, kRows);
  PushSome(client, 10);
  ASSERT_TRUE(Save(shards, "10-a").ok());
  PushSome(client, 5);
  ASSERT_TRUE(Load(shards, /*timeline=*/2, "10-a").ok());
  // The job's progress is recorded before its checkpoint is taken: batches come again.
  CountingClient again(job_, shards.view(), 0, kRows);
  PushSome(again, 12);
  for (float cell : CellsOf(again)) ASSERT_TRUE(cell == 12 || cell == 0) << cell;
}

TEST_F(DurabilityTest, EveryPartitionIsSavedWithExactlyWhatItsLedgerSays) {
  LocalShards shards(job_, 2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> pushers;
  std::array<uint64_t, kColumns> pushes;
  for (uint32_t column = 0; column < kColumns; ++column) {
    pushers.emplace_back([&, column] {
      CountingClient client(job_, shards.view(), column, kRows);
      while (!stop) ASSERT_TRUE(client.Push().ok());
      pushes[column] = client.pushes();
    });
  }
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    const std::string id = absl::StrCat(i, "-x");
    const absl::Status saved = Save(shards, id, i % 3 == 0 ? "" : ids.back());
    ASSERT_TRUE(saved.ok()) << saved;
    ids.push_back(id);
  }
  stop = true;
  for (std::thread& pusher : pushers) pusher.join();
  for (const std::string& id : ids) {
    LocalShards restored(job_, 1);
    const absl::Status loaded = Load(restored, /*timeline=*/2, id);
    ASSERT_TRUE(loaded.ok()) << loaded;
    for (uint32_t column = 0; column < kColumns; ++column) {
      // Repeats all pushes of its stream and some more: only those not saved are applied.
      CountingClient client(job_, restored.view(), column, kRows);
      PushSome(client, static_cast<int>(pushes[column]) + 3);
      const std::vector<float> cells = CellsOf(client);
      for (size_t i = column; i < cells.size(); i += kColumns) {
        ASSERT_EQ(cells[i], pushes[column] + 3) << id;
      }
    }
  }
}

TEST_F(DurabilityTest, ADeltaIsSmallAndComesBackWhole) {
  LocalShards shards(job_, 2);
  CountingClient all(job_, shards.view(), 0, 20'000);
  PushSome(all, 2);
  ASSERT_TRUE(Save(shards, "1-a").ok());
  CountingClient few(job_, shards.view(), 1, 200);
  PushSome(few, 3);
  ASSERT_TRUE(Save(shards, "2-b", "1-a").ok());
  auto reader = CheckpointReader::Open(Uri("2-b"));
  uint64_t whole = 0, delta = 0;
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(reader->manifest().files(i).delta());
    delta += reader->manifest().files(i).bytes();
    whole += reader->bytes_of(PartitionIndex(reader->manifest().files(i).partition()));
  }
  EXPECT_LT(delta * 10, whole);
  LocalShards restored(job_, 3);
  ASSERT_TRUE(Load(restored, /*timeline=*/2, "2-b").ok());
  EXPECT_EQ(CellsOf(restored, 20'000), CellsOf(all));
  // The restored shards know what changes from here on.
  CountingClient more(job_, restored.view(), 1, 300);
  PushSome(more, 4);
  ASSERT_TRUE(Save(restored, "3-c", "2-b").ok());
  EXPECT_TRUE(CheckpointReader::Open(Uri("3-c"))->manifest().files(0).delta());
}

TEST_F(DurabilityTest, AnUnknownParentMakesAFullSave) {
  LocalShards shards(job_, 1);
  ASSERT_TRUE(Save(shards, "1-a").ok());
  ASSERT_TRUE(Save(shards, "2-b", "1-z").ok());
  EXPECT_FALSE(ReadManifest(**OpenObjectStore(Uri("2-b")))->files(0).delta());
}

TEST_F(DurabilityTest, ADamagedFileIsNamedAndNothingIsServed) {
  LocalShards shards(job_, 2);
  CountingClient client(job_, shards.view(), 0, kRows);
  PushSome(client, 3);
  ASSERT_TRUE(Save(shards, "3-a").ok());
  const v1::SavedFile file = ReadManifest(**OpenObjectStore(Uri("3-a")))->files(3);
  std::fstream(absl::StrCat(Uri("3-a"), "/", file.name()),
               std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(file.offset() + 300))
      .put('!');
  const absl::Status loaded = Load(shards, /*timeline=*/2, "3-a");
  EXPECT_TRUE(absl::IsDataLoss(loaded)) << loaded;
  EXPECT_THAT(std::string(loaded.message()), HasSubstr(file.name()));
  int serving = 0;
  for (int i = 0; i < 2; ++i) serving += shards.at(i).shard().ready() ? 1 : 0;
  EXPECT_LT(serving, 2);
  ASSERT_TRUE(Load(shards, /*timeline=*/3, "").ok()) << "initial values, in another timeline";
  for (float cell : CellsOf(shards, kRows)) ASSERT_EQ(cell, 0);
}

TEST_F(DurabilityTest, OrdersOfThePastAreRefused) {
  LocalShards shards(job_, 1);
  ASSERT_TRUE(Load(shards, /*timeline=*/5, "").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Load(shards, /*timeline=*/4, "")));
  v1::RequestHeader header;
  header.set_wire_version(1);
  header.set_target_incarnation(shards.view().shards(0).incarnation());
  header.mutable_epoch()->set_term(9);
  EXPECT_TRUE(shards.at(0).shard().view().CheckOrder(header).ok());
  header.mutable_epoch()->set_term(8);
  EXPECT_TRUE(absl::IsFailedPrecondition(shards.at(0).shard().view().CheckOrder(header)));
}

TEST_F(DurabilityTest, ALaterTimelineEndsServingAtOnce) {
  LocalShards shards(job_, 1);
  v1::View view = shards.view();
  view.set_timeline(2);
  view.mutable_epoch()->set_n(100);
  ASSERT_TRUE(shards.at(0).shard().SetView(view).ok());
  EXPECT_FALSE(shards.at(0).shard().ready());
  v1::RequestHeader header;
  header.set_wire_version(1);
  header.set_target_incarnation(view.shards(0).incarnation());
  header.set_timeline(1);
  EXPECT_TRUE(absl::IsUnavailable(shards.at(0).shard().view().CheckHeader(header)));
}

TEST_F(DurabilityTest, AShardThatComesBackAloneCountsWhatIsMissing) {
  LocalShards shards(job_, 1);
  CountingClient client(job_, shards.view(), 0, kRows);
  PushSome(client, 3);
  ASSERT_TRUE(Save(shards, "3-a").ok());
  PushSome(client, 4);
  v1::LoadPartitionsRequest order = shards.LoadOrder(0);
  order.mutable_header()->set_timeline(2);
  order.set_uri(Uri("3-a"));
  v1::OpenStreamFacts& stream = *order.mutable_partial()->add_open();
  stream.set_stream(StreamId::Task(0, 0).value);
  stream.mutable_generation()->set_term(1);
  stream.mutable_generation()->set_count(1);
  stream.set_prefix(7);
  absl::StatusOr<v1::LoadPartitionsReply> reply = shards.at(0).loader().Order(order);
  while (reply.ok() && !reply->done()) {
    absl::SleepFor(absl::Milliseconds(1));
    reply = shards.at(0).loader().Order(order);
  }
  ASSERT_TRUE(reply.ok()) << reply.status();
  // 4 batches: of the rows in each of the 8 partitions, of the dense block in one.
  EXPECT_EQ(reply->batches_lost(), 9u * 4);
  EXPECT_EQ(shards.at(0).Report().batches_lost(), 9u * 4);
  shards.SetTimeline(2);
  ASSERT_TRUE(Save(shards, "7-b", "3-a").ok());
  EXPECT_FALSE(ReadManifest(**OpenObjectStore(Uri("7-b")))->files(0).delta());
}

// A checkpoint is taken of a shard that has come back alone and lacks what nobody has told it of.
// All return to that checkpoint, and the stream is closed then.
TEST_F(DurabilityTest, WhatAShardLacksThatHadComeBackAloneIsCountedAfterAReturn) {
  LocalShards shards(job_, 1);
  CountingClient client(job_, shards.view(), 0, kRows);
  PushSome(client, 3);
  ASSERT_TRUE(Save(shards, "3-a").ok());
  PushSome(client, 4);
  v1::PartialRecoveryStart told;
  v1::OpenStreamFacts& stream = *told.add_open();
  stream.set_stream(StreamId::Task(0, 0).value);
  stream.set_prefix(3);
  ASSERT_TRUE(Load(shards, /*timeline=*/2, "3-a", told).ok());
  ASSERT_TRUE(Save(shards, "7-b").ok());
  ASSERT_TRUE(Load(shards, /*timeline=*/3, "7-b").ok());
  EXPECT_EQ(shards.at(0).Report().batches_lost(), 0u);

  v1::CloseStreamsRequest close;
  close.mutable_header()->set_timeline(3);
  close.add_streams()->set_stream(stream.stream());
  close.mutable_streams(0)->set_batches(7);
  ps::ReplicaWait nobody;
  ASSERT_TRUE(shards.at(0).shard().CloseStreams(close, nobody).ok());
  EXPECT_EQ(shards.at(0).Report().batches_lost(), 9u * 4) << "in each part of a partition";
}

TEST_F(DurabilityTest, AFrozenShardAcknowledgesNothingAfterItsSave) {
  LocalShards shards(job_, 1);
  CountingClient client(job_, shards.view(), 0, kRows);
  PushSome(client, 3);
  v1::SavePartitionsRequest order;
  order.mutable_header()->set_timeline(1);
  order.set_uri(Uri("3-a"));
  order.set_id("3-a");
  order.set_freeze(true);
  while (!shards.at(0).saver().Order(order)->done()) absl::SleepFor(absl::Milliseconds(1));
  client.SetPatience(absl::Milliseconds(200));
  EXPECT_FALSE(client.Push().ok());
  for (float cell : CellsOf(client)) ASSERT_TRUE(cell == 3 || cell == 0) << cell;
}

}  // namespace
}  // namespace capstan
