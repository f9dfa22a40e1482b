// The rows of a finished model for batches of data.features, and what its scorer makes of them.
#include "cli/model/batch_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cli/model/scorer.h"
#include "tests/unit/cli/model/films_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;

class BatchRowsTest : public testing::Test {
 protected:
  const FilmsFolder folder_;
  const Batch batch_ = TwoViewers();
};

TEST_F(BatchRowsTest, AreThoseOfTheDistinctKeysOfEachTable) {
  const auto model = FinishedModel::Load(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  BatchRows rows(*model);
  for (int i = 0; i < 2; ++i) {
    rows.Pull(batch_);
    ASSERT_EQ(rows.tables().size(), 2u);
    EXPECT_THAT(rows.begins(), ElementsAre(0, 0, 2, 4));
    EXPECT_THAT(rows.tables()[0].keys.unique, ElementsAre(7));
    EXPECT_THAT(rows.tables()[1].keys.unique, ElementsAre(5, 6, 9));
    EXPECT_THAT(rows.tables()[1].keys.index, ElementsAre(0, 1, 0, 2, 1, 1));
    std::vector<float> expected;
    model->PullRows(1, rows.tables()[1].keys.unique, expected);
    EXPECT_EQ(rows.tables()[1].rows, expected);
    EXPECT_EQ(expected.size(), 9u);
  }
}

TEST_F(BatchRowsTest, AScorerPoolsThem) {
  const auto model = FinishedModel::Load(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  BatchRows rows(*model);
  rows.Pull(batch_);
  const std::vector<float>& users = rows.tables()[0].rows;
  const std::vector<float>& items = rows.tables()[1].rows;
  float first = 0, second = 0;  // The linear weights are 0.
  for (size_t d = 1; d <= 2; ++d) {
    const float user = users[d], five = items[d], six = items[3 + d], nine = items[6 + d];
    const float seen = (five + 3 * nine) / 4, tags = 2 * six;
    first += user * five + user * seen + five * seen;
    second += user * six + user * tags + six * tags;
  }
  const auto scorer = Scorer::Create(*model);
  ASSERT_TRUE(scorer.ok()) << scorer.status();
  const auto logits = (*scorer)->Logits(batch_);
  ASSERT_EQ(logits.size(), 2u);
  EXPECT_NEAR(logits[0], first, 1e-5);
  EXPECT_NEAR(logits[1], second, 1e-5);
  EXPECT_NE(logits[0], logits[1]);
}

}  // namespace
}  // namespace capstan::cli
