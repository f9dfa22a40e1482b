// Exported models that others have written, or that were damaged on their way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "capstan/placement/placement.h"
#include "cli/model/exported_model.h"
#include "cli/model/safetensors.h"
#include "tests/unit/cli/model/small_checkpoints.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

class ImportModelTest : public SmallCheckpoints {
 protected:
  ImportModelTest() {
    EXPECT_TRUE(ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model")}).ok());
    std::ifstream file(Uri("model/model.safetensors"), std::ios::binary);
    parameters_.assign(std::istreambuf_iterator<char>(file), {});
  }

  // Replaces a piece of the parameters by one that is as long.
  void Replace(const std::string& piece, const std::string& by) {
    ASSERT_EQ(piece.size(), by.size());
    const size_t at = parameters_.find(piece);
    ASSERT_NE(at, parameters_.npos) << piece;
    parameters_.replace(at, piece.size(), by);
  }

  // Reads the model with these parameters.
  absl::StatusOr<ImportedModel> Import() {
    folder_.Write("model/model.safetensors", parameters_);
    const auto folder = *OpenObjectStore(Uri("model"));
    auto job = ReadExportedJob(*folder);
    if (!job.ok()) return job.status();
    return ImportModel(*folder, Uri("model"), *std::move(job));
  }

  void ExpectLoss(const std::string& why) {
    const absl::Status status = Import().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  std::string parameters_;
};

TEST_F(ImportModelTest, PutsEachRowWhereItsKeyBelongsHoweverManyThereAre) {
  const auto model = Import();
  ASSERT_TRUE(model.ok()) << model.status();
  uint64_t rows = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    rows += model->partitions[i]->row_count();
    model->partitions[i]->tables()[0]->ForEachRow([i](const RowState& row) {
      EXPECT_EQ(PartitionOfKey(row.key, /*table_seed=*/1, 2), static_cast<PartitionIndex>(i));
    });
    EXPECT_GT(model->partitions[i]->row_count(), 0u) << i;
  }
  EXPECT_EQ(rows, 20u);
}

TEST_F(ImportModelTest, NamesTheArrayThatIsNotThere) {
  Replace("table1.keys", "table1.kees");
  ExpectLoss("model.safetensors: holds no table1.keys");
  Replace("table1.kees", "table1.keys");
  Replace("\"w\"", "\"v\"");
  ExpectLoss("model.safetensors: holds no w");
}

TEST_F(ImportModelTest, NamesTheArrayThatIsOfAnotherTypeOrSize) {
  Replace("\"U64\",\"shape\":[20]", "\"F32\",\"shape\":[40]");
  ExpectLoss("model.safetensors: table1.keys has 40 F32, expected 40 U64");
  Replace("\"F32\",\"shape\":[40]", "\"U64\",\"shape\":[20]");
  folder_.Write("model/job.json",
                R"({"partition_count": 2, "tensors": [{"name": "w", "shape": [6]}]})");
  ExpectLoss("model.safetensors: w has 5 F32, expected 6 F32");
}

TEST_F(ImportModelTest, AKeyThatOccursTwiceIsALossAndNotTakenForARowThatIsThere) {
  const auto index = *ReadSafetensorsIndex(parameters_);
  char* const keys = &parameters_[index.data_begin + index.tensors.at("table1.keys").begin];
  std::memcpy(keys + sizeof(uint64_t), keys, sizeof(uint64_t));
  ExpectLoss("model.safetensors: table table1: key ");
}

TEST_F(ImportModelTest, WhatIsNoJobOfAModelIsALoss) {
  for (const char* text : {"", "[]", "{}", R"({"job": "ctr"})", R"({"partition_count": "many"})"}) {
    folder_.Write("model/job.json", text);
    ExpectLoss("job.json: not a job of an exported model");
  }
}

TEST_F(ImportModelTest, KeysOfAJobThatALaterVersionHasWrittenAreLeftOut) {
  std::ifstream file(Uri("model/job.json"));
  std::string job(std::istreambuf_iterator<char>(file), {});
  job.insert(job.find('{') + 1, "\"of_a_later_version\": {\"x\": [1]},");
  folder_.Write("model/job.json", job);
  const auto model = Import();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->job.job(), "small");
}

TEST_F(ImportModelTest, AVocabularyLiesInTheFolderHoweverThatIsWritten) {
  v1::JobSpec job = SmallJob();
  v1::FeatureSpec& city = *job.mutable_data()->add_features();
  city.set_name("city");
  city.mutable_vocabulary()->set_file("s3://elsewhere/cities.txt.gz");
  job.mutable_data()->add_features()->set_name("user");
  const auto folder = *OpenObjectStore(Uri("model"));
  for (const std::string& uri : {Uri("model"), Uri("model") + "/"}) {
    const auto model = ImportModel(*folder, uri, job);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->job.data().features(0).vocabulary().file(), Uri("model/city.vocabulary.txt"));
    EXPECT_FALSE(model->job.data().features(1).has_vocabulary());
  }
}

}  // namespace
}  // namespace capstan::cli
