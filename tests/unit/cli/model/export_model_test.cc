// Exports: what is written is read back, by us as by any reader of safetensors.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/placement/placement.h"
#include "cli/model/exported_model.h"
#include "cli/model/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/full_disk.h"
#include "tests/unit/checkpoint/small_partition.h"
#include "tests/unit/cli/model/small_checkpoints.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using ExportTest = SmallCheckpoints;

TEST_F(ExportTest, HoldsEveryWeightAndIsReadBack) {
  const auto exported =
      ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model"), .slots = true});
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_EQ(exported->rows, 20u);
  EXPECT_EQ(exported->bytes, std::filesystem::file_size(Uri("model") + "/model.safetensors"));

  const auto folder = *OpenObjectStore(Uri("model"));
  ASSERT_TRUE(IsExportedModel(*folder));
  const auto imported = ImportModel(*folder, Uri("model"), *ReadExportedJob(*folder));
  ASSERT_TRUE(imported.ok()) << imported.status();
  for (const PartitionStore* store : {first_.get(), second_.get()}) {
    PartitionStore& copy = *imported->partitions[static_cast<size_t>(Raw(store->partition()))];
    EXPECT_EQ(copy.tables()[0]->slot_count(), 0u);
    for (const Block& block : store->blocks().blocks()) {
      EXPECT_EQ(copy.blocks().Weights(block.id), store->blocks().Weights(block.id));
    }
    store->tables()[0]->ForEachRow([&](const RowState& row) {
      // The small partition holds keys of any partition; an import puts them where they belong.
      const PartitionIndex home = PartitionOfKey(row.key, /*table_seed=*/1, 2);
      std::vector<float> weights(2);
      imported->partitions[static_cast<size_t>(Raw(home))]->tables()[0]->Pull(
          std::vector<uint64_t>{row.key}, weights.data());
      EXPECT_THAT(weights, ElementsAre(row.state[0], row.state[1]));
    });
  }
  const auto file = *folder->Get("model.safetensors");
  const auto index = *ReadSafetensorsIndex(file);
  EXPECT_THAT(index.tensors.at("table1.slots").shape,
              ElementsAre(20, second_->tables()[0]->slot_count()));
  EXPECT_THAT(index.tensors.at("w").shape, ElementsAre(5));
}

TEST_F(ExportTest, CarriesTheVocabulariesThatTheJobHas) {
  v1::FeatureSpec& city = *data_.add_features();
  city.set_name("city");
  city.mutable_vocabulary()->set_file(folder_.Write("cities.txt", "Bern\nRome\n"));
  const auto files = NewLocalFiles();
  ASSERT_TRUE(DeriveVocabularies(*files, data_).ok());
  Write("1-b");
  ASSERT_TRUE(ExportModel({.checkpoint = Uri("1-b"), .output = Uri("model")}).ok());
  folder_.Write("cities.txt", "Rome\n");
  const auto folder = *OpenObjectStore(Uri("model"));
  const auto imported = ImportModel(*folder, Uri("model"), *ReadExportedJob(*folder));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->job.data().features(0).vocabulary().file(), Uri("model/city.vocabulary.txt"));
  const auto known = ReadKnownVocabularies(*files, imported->job.data());
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ((*known)[0]->Find("Rome"), 1u);
  const absl::Status again =
      ExportModel({.checkpoint = Uri("1-b"), .output = Uri("other")}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST_F(ExportTest, OneThatFailsLeavesTheModelOfBefore) {
  ASSERT_TRUE(ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model")}).ok());
  const std::string parameters = TextOf(Uri("model/model.safetensors"));
  const std::string job = TextOf(Uri("model/job.json"));
  {
    const FullDisk full(parameters.size() / 2);
    const auto failed =
        ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model"), .slots = true});
    EXPECT_THAT(std::string(failed.status().message()), HasSubstr("model/model.safetensors"));
    EXPECT_FALSE(failed.ok());
  }
  EXPECT_EQ(TextOf(Uri("model/model.safetensors")), parameters);
  EXPECT_EQ(TextOf(Uri("model/job.json")), job);
  EXPECT_THAT(NamesIn(Uri("model")),
              testing::UnorderedElementsAre("model.safetensors", "job.json"));
}

TEST_F(ExportTest, OneThatFailsInBetweenIsNotTakenForAWholeModel) {
  ASSERT_TRUE(ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model")}).ok());
  std::filesystem::create_directories(Uri("model/score.py/in_the_way"));
  EXPECT_FALSE(
      ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model"), .python = true}).ok());
  EXPECT_FALSE(IsExportedModel(**OpenObjectStore(Uri("model"))));
}

TEST_F(ExportTest, DoesNotOverwriteFilesThatAreOfNoExportedModel) {
  for (const char* const name : {"model.safetensors", "job.json", "model.onnx", "model.pt"}) {
    const std::string to = folder_.Path(absl::StrCat("of ", name));
    std::filesystem::create_directory(to);
    const std::string mine = folder_.Write(absl::StrCat("of ", name, "/", name), "{\"mine\": 1}");
    const auto exported = ExportModel({.checkpoint = Uri("1-a"), .output = to});
    EXPECT_TRUE(absl::IsFailedPrecondition(exported.status())) << exported.status();
    EXPECT_THAT(exported.status().message(), HasSubstr(mine + ": is of no exported model"));
    EXPECT_EQ(TextOf(mine), "{\"mine\": 1}");
    EXPECT_THAT(NamesIn(to), ElementsAre(name));
  }
}

TEST_F(ExportTest, AGraphAndAModuleOfAModelBeforeGoWithIt) {
  ASSERT_TRUE(ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model")}).ok());
  folder_.Write("model/model.onnx", "of before");
  folder_.Write("model/model.pt", "of before");
  ASSERT_TRUE(ExportModel({.checkpoint = Uri("1-a"), .output = "file://" + Uri("model")}).ok());
  EXPECT_THAT(NamesIn(Uri("model")),
              testing::UnorderedElementsAre("model.safetensors", "job.json"));
}

TEST_F(ExportTest, AFolderElsewhereIsRefused) {
  const absl::Status refused =
      ExportModel({.checkpoint = Uri("1-a"), .output = "s3://ads/model"}).status();
  EXPECT_EQ(refused, absl::InvalidArgumentError(
                         "s3://ads/model: a model is exported to a folder of this machine, and "
                         "copied from there"));
  EXPECT_FALSE(std::filesystem::exists("s3:"));
}

TEST_F(ExportTest, TellsWhatIsMissing) {
  ASSERT_TRUE(ExportModel({.checkpoint = Uri("1-a"), .output = Uri("model")}).ok());
  std::filesystem::resize_file(Uri("model") + "/model.safetensors", 400);
  const auto folder = *OpenObjectStore(Uri("model"));
  const absl::Status status =
      ImportModel(*folder, Uri("model"), *ReadExportedJob(*folder)).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(
      absl::IsNotFound(ExportModel({.checkpoint = Uri("none"), .output = Uri("model")}).status()));
}

TEST_F(ExportTest, AProgramHasNoFormulasForPythonAndIsToldWhatElseThereIs) {
  const auto folder = *OpenObjectStore(Uri("5-e"));
  v1::Manifest manifest;
  manifest.set_id("5-e");
  *manifest.mutable_job() = SmallJob();
  manifest.mutable_job()->mutable_model()->set_user("ranker");
  for (PartitionStore* store : {first_.get(), second_.get()}) {
    *manifest.add_files() =
        PutPartial(*folder, store->partition(), EncodePartition(*store, {.partition_count = 2}), 0);
  }
  ASSERT_TRUE(WriteManifest(*folder, manifest).ok());
  const absl::Status refused =
      ExportModel({.checkpoint = Uri("5-e"), .output = Uri("model"), .python = true}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("state_dict()"));
  EXPECT_FALSE(std::filesystem::exists(Uri("model") + "/score.py"));
  EXPECT_TRUE(ExportModel({.checkpoint = Uri("5-e"), .output = Uri("model")}).ok());
}

}  // namespace
}  // namespace capstan::cli
