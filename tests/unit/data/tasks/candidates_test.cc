#include "capstan/data/tasks/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CandidatesTest : public testing::Test {
 protected:
  // 100 records, each with the item that is its place modulo 10, but for record 10, which has none.
  v1::DataSpec Data(const std::string& candidates) {
    std::string records = "liked,item\n";
    for (int i = 0; i < 100; ++i) {
      absl::StrAppend(&records, i % 2, ",", i == 10 ? "" : absl::StrCat(i % 10), "\n");
    }
    v1::DataSpec data;
    data.set_format(v1::DATA_FORMAT_CSV);
    data.set_header(true);
    data.add_train(folder_.Write("train.csv", records));
    data.set_label_name("liked");
    v1::FeatureSpec& item = *data.add_features();
    item.set_name("item");
    item.set_column_name("item");
    item.set_kind(v1::KEY_KIND_ID);
    item.set_table("item");
    v1::NegativeSpec& negatives = *data.mutable_negatives();
    negatives.set_feature("item");
    negatives.set_file(folder_.Write("items.txt", candidates));
    negatives.set_per_batch(50);
    negatives.set_share(v1::CANDIDATE_SHARE_WEIGHTS);
    negatives.set_distortion(1);
    return data;
  }

  std::string ErrorOf(const v1::DataSpec& data) {
    const auto read = Candidates::Read(*files_, data);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    return std::string(read.status().message());
  }

  std::string ErrorOf(const std::string& candidates) { return ErrorOf(Data(candidates)); }

  // The batches of one reading of the training file as a task.
  absl::StatusOr<std::vector<Batch>> Batches(const v1::DataSpec& data, uint32_t epoch = 0,
                                             bool evaluation = false, uint64_t seed = 1) {
    TaskReader reader({.data = data, .batch_size = 20, .seed = seed}, *files_);
    v1::Task task;
    task.set_file(data.train(0));
    task.set_end(kToTheEnd);
    const auto loaded = reader.Read({.task = task, .data_epoch = epoch, .evaluation = evaluation});
    if (!loaded.ok()) return loaded.status();
    std::vector<Batch> batches((*loaded)->batch_count());
    for (uint64_t k = 0; k < batches.size(); ++k) {
      EXPECT_TRUE((*loaded)->ReadBatch(k, batches[k]).ok());
    }
    return batches;
  }

  v1::DataSpec DerivedData(const std::string& candidates) {
    v1::DataSpec data = Data(candidates);
    const absl::Status derived = DeriveDataSpec(*files_, data);
    EXPECT_TRUE(derived.ok()) << derived;
    return data;
  }

  // What share of many draws each key has.
  std::map<uint64_t, double> SharesDrawn(v1::DataSpec data) {
    data.mutable_negatives()->set_per_batch(1000);
    const auto candidates = Candidates::Read(*files_, data);
    EXPECT_TRUE(candidates.ok()) << candidates.status();
    std::map<uint64_t, double> shares;
    Batch batch;
    batch.features.resize(1);
    for (uint64_t k = 0; k < 100; ++k) {
      candidates->Draw(/*seed=*/1, /*stream=*/2, k, batch);
      for (const uint64_t key : batch.negatives.keys) shares[key] += 1e-5;
    }
    for (size_t i = 0; i < 1000; ++i) {
      const uint64_t key = batch.negatives.keys[i];
      EXPECT_NEAR(std::exp(batch.negatives.log_shares[i]), shares[key], 0.01) << key;
    }
    return shares;
  }

  TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(CandidatesTest, AreDrawnAsOftenAsTheirWeightsSay) {
  const auto shares = SharesDrawn(Data("7,1\n 8 , 2.5 \n9,1e-3\n3,6.499\n"));
  EXPECT_NEAR(shares.at(7), 0.1, 0.005);
  EXPECT_NEAR(shares.at(8), 0.25, 0.005);
  EXPECT_NEAR(shares.at(3), 0.65, 0.005);
}

TEST_F(CandidatesTest, AreDrawnEquallyOftenWithoutWeights) {
  EXPECT_NEAR(SharesDrawn(Data("7\r\n8\r\n9\r\n3\r\n")).at(9), 0.25, 0.005);
}

TEST_F(CandidatesTest, ADistortionBringsTheirSharesTogether) {
  v1::DataSpec data = Data("1\t16\n2\t1\n");
  data.mutable_negatives()->set_distortion(0.75F);
  EXPECT_NEAR(SharesDrawn(data).at(1), 8.0 / 9, 0.005);
  data.mutable_negatives()->set_distortion(0);
  EXPECT_NEAR(SharesDrawn(data).at(1), 0.5, 0.005);
}

TEST_F(CandidatesTest, OfAFileInOrderOfHowOftenTheyOccurTheFirstAreDrawnMost) {
  v1::DataSpec data = Data("5,1\n6,1\n7,1\n");
  data.mutable_negatives()->set_share(v1::CANDIDATE_SHARE_LOG_UNIFORM);
  const auto shares = SharesDrawn(data);
  EXPECT_NEAR(shares.at(5), std::log(2.0) / std::log(4.0), 0.005);
  EXPECT_NEAR(shares.at(6), std::log(1.5) / std::log(4.0), 0.005);
  EXPECT_NEAR(shares.at(7), std::log(4.0 / 3) / std::log(4.0), 0.005);
}

TEST_F(CandidatesTest, HaveTheKeysThatTheFeatureGivesToItsCells) {
  v1::DataSpec data = Data("red, large\t3\nblue\t1\n");
  data.mutable_features(0)->set_kind(v1::KEY_KIND_HASH);
  EXPECT_NEAR(SharesDrawn(data).at(HashText("red, large")), 0.75, 0.005);
}

TEST_F(CandidatesTest, ThatABucketHoldsTogetherAreDrawnAsOftenAsAllOfThem) {
  v1::DataSpec data = Data("1\n11\n2\n");
  data.mutable_features(0)->set_buckets(10);
  EXPECT_NEAR(SharesDrawn(data).at(1), 2.0 / 3, 0.005);
}

TEST_F(CandidatesTest, ThatAVocabularyLacksAreDrawnAsOftenAsAllOfThem) {
  v1::DataSpec data = Data("red\nblue\ngreen\n");
  v1::FeatureSpec& item = *data.mutable_features(0);
  item.set_kind(v1::KEY_KIND_VOCABULARY);
  item.mutable_vocabulary()->set_file(folder_.Write("colours.txt", "blue\nblack\n"));
  item.mutable_vocabulary()->set_unknown(1);
  const auto shares = SharesDrawn(data);
  EXPECT_NEAR(shares.at(0), 1.0 / 3, 0.005);
  EXPECT_NEAR(shares.at(2), 2.0 / 3, 0.005);
}

TEST_F(CandidatesTest, MistakesAreToldWithFileAndLine) {
  EXPECT_THAT(ErrorOf("1\nx7\n"), HasSubstr("items.txt:2: \"x7\" is not an id: a whole number"));
  EXPECT_THAT(ErrorOf("1\n2\n\n"), HasSubstr("items.txt:3: is empty, expected an id"));
  EXPECT_THAT(ErrorOf("1,2\n3,many\n"),
              HasSubstr("items.txt:2: weight \"many\" is not a number above 0"));
  EXPECT_THAT(ErrorOf("1,2\n3,0\n"), HasSubstr("items.txt:2: weight \"0\" is not a number"));
  EXPECT_THAT(ErrorOf("1,2\n3,nan\n"), HasSubstr("items.txt:2: weight \"nan\""));
  EXPECT_THAT(ErrorOf("1,2\n3,-1\n"), HasSubstr("items.txt:2: weight \"-1\""));
  EXPECT_THAT(ErrorOf("1,2\n3\n"), HasSubstr("items.txt:2: has no weight, and the first line"));
  EXPECT_THAT(ErrorOf("1\n3,2\n"), HasSubstr("items.txt:2: has a weight, and the first line"));
  EXPECT_THAT(ErrorOf("1,2\n,2\n"), HasSubstr("items.txt:2: has no id in front of its weight"));
  EXPECT_THAT(ErrorOf("5\n4\n5\n"), HasSubstr("items.txt:3: is the id of line 1 again"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("items.txt: is empty, expected an id a line"));
  v1::DataSpec other = Data("1\n");
  other.mutable_negatives()->set_feature("itme");
  EXPECT_THAT(ErrorOf(other), HasSubstr("\"itme\" is none of data.features"));
  other.mutable_negatives()->set_feature("item");
  other.mutable_negatives()->set_file(folder_.Path("nowhere.txt"));
  EXPECT_TRUE(absl::IsNotFound(Candidates::Read(*files_, other).status()));
}

TEST_F(CandidatesTest, MoreThanAWorkerIsToHoldAreRefused) {
  const v1::DataSpec data = Data("1\n2\n3\n");
  EXPECT_TRUE(Candidates::Read(*files_, data, /*most=*/3).ok());
  EXPECT_THAT(std::string(Candidates::Read(*files_, data, /*most=*/2).status().message()),
              HasSubstr("items.txt:3: one candidate too many; expected at most 2"));
}

TEST_F(CandidatesTest, AnyBytesAreRefusedOrRead) {
  const v1::DataSpec data = Data("1\n");
  for (uint64_t i = 0; i < 2000; ++i) {
    std::string bytes;
    for (uint64_t j = 0; j < i % 40; ++j) {
      constexpr char kOften[] = "0123456789,\t\n \r.e-";
      const uint64_t drawn = Draw(3, i, j);
      bytes.push_back(drawn % 8 == 0 ? static_cast<char>(drawn >> 8)
                                     : kOften[(drawn >> 8) % (sizeof(kOften) - 1)]);
    }
    const auto read = Candidates::Read(*NewTextSource(bytes), data);
    EXPECT_TRUE(read.ok() || !read.status().message().empty());
  }
}

TEST_F(CandidatesTest, ATrainedBatchHasItsOwnWhoeverReadsIt) {
  const v1::DataSpec data = DerivedData("0,1\n1,2\n2,3\n77,4\n");
  EXPECT_EQ(data.negatives().candidates(), 4u);
  const auto once = Batches(data);
  const auto again = Batches(data);
  const auto later = Batches(data, /*epoch=*/1);
  const auto other = Batches(data, /*epoch=*/0, /*evaluation=*/false, /*seed=*/2);
  ASSERT_TRUE(once.ok()) << once.status();
  ASSERT_THAT(*once, SizeIs(5));
  EXPECT_EQ(*once, *again);
  EXPECT_THAT((*once)[0].negatives.keys, SizeIs(50));
  EXPECT_NE((*once)[0].negatives.keys, (*once)[1].negatives.keys);
  EXPECT_NE((*once)[0].negatives.keys, (*later)[0].negatives.keys);
  EXPECT_NE((*once)[0].negatives.keys, (*other)[0].negatives.keys);
}

TEST_F(CandidatesTest, TheSharesOfTheRecordsOwnKeysAreTold) {
  v1::DataSpec data = DerivedData("0,1\n1,3\n");
  const auto batches = Batches(data);
  ASSERT_TRUE(batches.ok()) << batches.status();
  const std::vector<float>& shares = batches->front().negatives.record_log_shares;
  ASSERT_THAT(shares, SizeIs(20));
  EXPECT_NEAR(shares[0], std::log(0.25), 1e-6);
  EXPECT_NEAR(shares[1], std::log(0.75), 1e-6);
  EXPECT_EQ(shares[2], shares[0]) << "the file lacks it: it counts as the rarest";
  EXPECT_EQ(shares[10], shares[0]) << "the record has none";
  data.mutable_features(0)->set_many(true);
  data.mutable_features(0)->set_most(5);
  EXPECT_THAT(Batches(data)->front().negatives.record_log_shares, IsEmpty())
      << "a record may have many keys";
}

TEST_F(CandidatesTest, HeldOutRecordsHaveNone) {
  v1::DataSpec data = DerivedData("0\n1\n");
  data.mutable_negatives()->set_file(folder_.Path("gone.txt"));
  const auto batches = Batches(data, /*epoch=*/0, /*evaluation=*/true);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_THAT(batches->front().negatives.keys, IsEmpty());
}

TEST_F(CandidatesTest, AFileThatHasChangedSinceTheJobBeganIsRefused) {
  const v1::DataSpec data = DerivedData("0\n1\n");
  folder_.Write("items.txt", "0\n2\n");
  const absl::Status read = Batches(data).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(read)) << read;
  EXPECT_THAT(std::string(read.message()),
              HasSubstr("items.txt: the candidates of data.negatives have changed since"));
}

TEST_F(CandidatesTest, ACompressedFileHasTheSameOnes) {
  v1::DataSpec data = DerivedData("0,5\n1,6\n");
  const auto plain = Batches(data);
  data.mutable_negatives()->set_file(folder_.Write("items.txt.gz", Gzip("0,5\n1,6\n")));
  const auto packed = Batches(data);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(*packed, *plain);
}

}  // namespace
}  // namespace capstan
