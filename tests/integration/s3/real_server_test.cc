// The object store over S3 against a real server: the contract of every store, and what only S3
// has. Skipped where there is no server; see tests/lib/s3_server.h.
#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/data/formats/object_files.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/object_store_contract.h"
#include "tests/lib/s3_server.h"
#include "tests/lib/strangers_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

S3Server* server = nullptr;  // Of the whole program; null: there is none.

class ServerOfTheProgram : public testing::Environment {
 public:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<S3Server>> started = S3Server::Start();
    if (absl::IsNotFound(started.status())) GTEST_SKIP() << started.status().message();
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    server = server_.get();
  }
  void TearDown() override {
    server = nullptr;
    server_.reset();
  }

 private:
  std::unique_ptr<S3Server> server_;
};

const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new ServerOfTheProgram);

// Each in a folder of its own.
std::unique_ptr<ObjectStore> OpenStore(const S3Options& options) {
  static std::atomic<int> stores = 0;
  return *OpenS3ObjectStore({"capstan", absl::StrCat("test-", stores++, "/a b ü")}, options);
}

INSTANTIATE_TEST_SUITE_P(S3, ObjectStoreContract,
                         testing::Values([] { return OpenStore(server->options()); }));

INSTANTIATE_TEST_SUITE_P(S3WithoutChecksums, ObjectStoreContract, testing::Values([] {
                           S3Options options = server->options();
                           options.checksums = false;
                           return OpenStore(options);
                         }));

TEST(RealS3Test, PruningDeletesNothingOfAStrangers) {
  const auto store = OpenStore(server->options());
  PutStrangersThings(*store);
  ASSERT_TRUE(store->Put("000000000009-a/partition-0000.capstan", "unfinished").ok());
  const auto list = ListCheckpoints(*store);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(CheckpointsToPrune(*list, 1, {}), testing::ElementsAre("000000000009-a"));
  const std::vector<ObjectInfo> objects = *store->List("");
  for (const ObjectInfo& object : objects) {
    (void)DeleteCheckpoint(*store, object.key.substr(0, object.key.find('/')));
  }
  ExpectStrangersThings(*store);
  EXPECT_THAT(*store->List("000000000009-a/"), testing::IsEmpty());
}

TEST(RealS3Test, WritesWithinParts) {
  S3Options options = server->options();
  options.part_bytes = uint64_t{5} << 20;
  const auto store = OpenStore(options);
  for (const size_t bytes : {(size_t{5} << 20) - 1, size_t{5} << 20, (size_t{5} << 20) + 1}) {
    const std::string content(bytes, 'x');
    auto writer = *store->Create("a");
    ASSERT_TRUE(writer->Append(content).ok());
    ASSERT_TRUE(writer->Commit().ok());
    EXPECT_EQ(store->Stat("a")->bytes, bytes);
    EXPECT_EQ(*store->Get("a"), content);
  }
}

TEST(RealS3Test, ListsMoreObjectsThanOnePageHolds) {
  const auto store = OpenStore(server->options());
  std::vector<std::string> keys;
  for (int i = 0; i < 1203; ++i) keys.push_back(absl::StrCat("many/", 10000 + i));
  std::vector<std::thread> threads;
  for (size_t begin = 0; begin < 8; ++begin) {
    threads.emplace_back([&, begin] {
      for (size_t i = begin; i < keys.size(); i += 8) EXPECT_TRUE(store->Put(keys[i], "").ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<ObjectInfo> found = *store->List("many/");
  ASSERT_EQ(found.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(found[i].key, keys[i]);
  EXPECT_TRUE(store->DeleteAll(keys).ok());
  EXPECT_THAT(*store->List(""), testing::IsEmpty());
}

TEST(RealS3Test, TrainsFromPlainAndCompressedObjectsOfAPattern) {
  const auto store = *OpenS3ObjectStore({"capstan", ""}, server->options());
  std::string lines;
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&lines, i % 2, ",", i, "\n");
  ASSERT_TRUE(store->Put("data/1.csv", lines).ok());
  ASSERT_TRUE(store->Put("data/2.csv.gz", Gzip(lines)).ok());
  ASSERT_TRUE(store->Put("data/3.csv.zst", Zstd(lines)).ok());
  ASSERT_TRUE(store->Put("data/other.txt", "not for us").ok());
  const std::unique_ptr<const Source> files = NewObjectFiles(
      [](const std::string& uri) { return OpenObjectStore(uri, server->options()); });
  v1::DataSpec data = CsvSpec("s3://capstan/data/*.csv*", {1}, {});
  ASSERT_TRUE(DeriveDataSpec(*files, data).ok());
  const auto tasks = PlanTasks(*files, data, {.batch_size = 100});
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  TaskReader reader({.data = data, .loss = v1::LOSS_LOGISTIC}, *files);
  size_t examples = 0;
  for (const v1::Task& task : tasks->Tasks()) {
    const auto loaded = reader.Read({.task = task});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    Batch batch;
    for (uint64_t k = 0; k < (*loaded)->batch_count(); ++k) {
      ASSERT_EQ((*loaded)->ReadBatch(k, batch), absl::OkStatus());
      examples += batch.examples();
    }
  }
  EXPECT_EQ(examples, 9000u);
}

TEST(RealS3Test, OutlivesAServerThatStandsStillForAWhile) {
  const auto store = OpenStore(server->options());
  ASSERT_TRUE(store->Put("a", "before").ok());
  server->Freeze();
  absl::Status written;
  std::thread writer([&] { written = store->Put("a", "after"); });
  server->Thaw();
  writer.join();
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(*store->Get("a"), "after");
}

TEST(RealS3Test, IsRefusedWithAWrongSecretThatNoMessageShows) {
  S3Options options = server->options();
  options.secret_key = "another-secret-key";
  const absl::Status status = OpenStore(options)->Put("a", "x");
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status.ToString(), testing::HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(status.ToString(), testing::Not(testing::HasSubstr("another-secret-key")));
}

TEST(RealS3Test, NamesABucketThatIsNotThere) {
  const auto store = *OpenS3ObjectStore({"no-such-bucket", "x"}, server->options());
  EXPECT_TRUE(absl::IsFailedPrecondition(store->Get("a").status())) << store->Get("a").status();
}

TEST(RealS3Test, CorrectsAClockThatIsWrong) {
  const std::unique_ptr<Http> http = NewCurlHttp({.allow_http = true});
  const SteadyClock clock;
  const S3World world{.http = *http,
                      .clock = clock,
                      .now = [] { return absl::Now() - absl::Hours(5); },
                      .sleep = [](absl::Duration) {},
                      .unit = [] { return 0.5; }};
  const auto store = *OpenS3ObjectStore({"capstan", "skewed"}, server->options(), world);
  EXPECT_TRUE(store->Put("a", "x").ok()) << store->Put("a", "x");
  EXPECT_EQ(*store->Get("a"), "x");
}

}  // namespace
}  // namespace capstan
