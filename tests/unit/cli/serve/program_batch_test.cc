#include "cli/serve/program_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/unit/cli/model/films_folder.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

template <typename T>
std::vector<T> NumbersOfPart(std::string_view part) {
  std::vector<T> numbers(part.size() / sizeof(T));
  std::memcpy(numbers.data(), part.data(), part.size());
  return numbers;
}

TEST(ProgramBatchTest, RecordsOfColumnsHaveOffsetsOneTableAndNoFeatures) {
  const DeepFmFolder folder;
  const auto model = FinishedModel::Load(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const Batch batch = BatchOf(/*examples=*/3, /*seed=*/1);
  const ProgramBatch asked(*model, batch);
  const std::vector<std::string_view> parts = asked.parts();
  ASSERT_THAT(parts, SizeIs(7));
  EXPECT_EQ(NumbersOfPart<float>(parts[0]), batch.dense);
  EXPECT_THAT(parts[1], IsEmpty()) << "all values of keys are 1";
  EXPECT_THAT(parts[2], IsEmpty()) << "there are no features";
  EXPECT_THAT(NumbersOfPart<uint32_t>(parts[3]), ElementsAre(0, 4, 8, 12));
  const auto unique = NumbersOfPart<uint64_t>(parts[4]);
  const auto index = NumbersOfPart<uint32_t>(parts[5]);
  ASSERT_EQ(index.size(), batch.keys.size());
  for (size_t i = 0; i < index.size(); ++i) EXPECT_EQ(unique.at(index[i]), batch.keys[i]);
  std::vector<float> rows;
  model->PullRows(0, unique, rows);
  EXPECT_EQ(NumbersOfPart<float>(parts[6]), rows);
}

TEST(ProgramBatchTest, EachFeatureHasItsOffsetsAndWeightsInFrontOfTheTables) {
  const FilmsFolder folder;
  const auto model = FinishedModel::Load(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const Batch batch = TwoViewers();
  const ProgramBatch asked(*model, batch);
  const std::vector<std::string_view> parts = asked.parts();
  ASSERT_THAT(parts, SizeIs(3 + 4 * 2 + 2 * 3));
  EXPECT_THAT(parts[0], IsEmpty());
  EXPECT_THAT(NumbersOfPart<uint64_t>(parts[2]), ElementsAre(0, 0, 2, 4));
  EXPECT_THAT(NumbersOfPart<uint32_t>(parts[3]), ElementsAre(0, 1, 2)) << "of user";
  EXPECT_THAT(parts[4], IsEmpty());
  EXPECT_THAT(NumbersOfPart<uint32_t>(parts[7]), ElementsAre(0, 2, 2)) << "of seen";
  EXPECT_THAT(NumbersOfPart<float>(parts[8]), ElementsAre(1, 3));
  EXPECT_THAT(NumbersOfPart<uint32_t>(parts[9]), ElementsAre(0, 0, 2)) << "of tags";
  EXPECT_THAT(NumbersOfPart<uint64_t>(parts[11]), ElementsAre(7)) << "of the table of users";
  EXPECT_THAT(NumbersOfPart<uint64_t>(parts[14]), ElementsAre(5, 6, 9)) << "of that of items";
  EXPECT_THAT(NumbersOfPart<uint32_t>(parts[15]), ElementsAre(0, 1, 0, 2, 1, 1));
  std::vector<float> rows;
  model->PullRows(1, NumbersOfPart<uint64_t>(parts[14]), rows);
  EXPECT_EQ(NumbersOfPart<float>(parts[16]), rows);
}

}  // namespace
}  // namespace capstan::cli
