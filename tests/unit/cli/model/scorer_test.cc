#include "cli/model/scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/model/exported_model.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/cli/model/films_folder.h"
#include "tests/unit/cli/model/small_checkpoints.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> LogitsOf(Scorer& scorer, const Batch& batch) {
  const std::span<const float> logits = scorer.Logits(batch);
  return {logits.begin(), logits.end()};
}

TEST(ScorerTest, ARecordHasTheSameLogitInAnyBatch) {
  const DeepFmFolder folder;
  const auto model = FinishedModel::Load(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto scorer = Scorer::Create(*model);
  ASSERT_TRUE(scorer.ok()) << scorer.status();
  const Batch batch = BatchOf(/*examples=*/5, /*seed=*/3);
  const std::vector<float> together = LogitsOf(**scorer, batch);
  ASSERT_EQ(together.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    Batch one;
    one.labels = {0};
    one.offsets = {0, 4};
    one.keys.assign(batch.keys.begin() + 4 * i, batch.keys.begin() + 4 * (i + 1));
    one.dense.assign(batch.dense.begin() + 2 * i, batch.dense.begin() + 2 * (i + 1));
    const std::vector<float> alone = LogitsOf(**scorer, one);
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_NEAR(alone[0], together[i], 1e-5) << i;
  }
  EXPECT_EQ(LogitsOf(**scorer, batch), together) << "smaller batches leave nothing behind";
}

TEST(ScorerTest, RecordsWithoutKeysHaveALogitToo) {
  const FilmsFolder folder;
  const auto model = FinishedModel::Load(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto scorer = Scorer::Create(*model);
  ASSERT_TRUE(scorer.ok()) << scorer.status();
  Batch batch = TwoViewers();
  for (Bags& bags : batch.features) bags = {.offsets = {0, 0, 0}, .keys = {}, .weights = {}};
  EXPECT_THAT(LogitsOf(**scorer, batch), ElementsAre(0, 0));
}

TEST(ScorerTest, AModelOfAProgramIsNotComputedAndToldByWhomItIs) {
  const TestFolder folder;
  folder.Write("model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  folder.Write("job.json", R"({"partition_count": 1, "model": {"user": "ranker.py"}})");
  const auto model = FinishedModel::Load(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status refused = Scorer::Create(*model).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--program ranker.py"));
}

TEST(ScorerTest, TowersThatDoNotAgreeWithTheTensorsAreRefused) {
  const TestFolder folder;
  folder.Write("model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  folder.Write("job.json", R"({"partition_count": 1, "model": {"outputs": 1, "towers":
                              [{"name": "deep", "kind": "mlp", "hidden": [4]}]},
                              "data": {"dense_width": 3}})");
  const auto model = FinishedModel::Load(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(absl::IsInvalidArgument(Scorer::Create(*model).status()));
}

}  // namespace
}  // namespace capstan::cli
