#include "capstan/model/parallel_network.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model_fixture.h"

namespace capstan {
namespace {

void ExpectClose(std::span<const float> got, std::span<const float> want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-5 * (1 + std::abs(want[i]))) << what << " " << i;
  }
}

TEST(ParallelNetworkTest, ComputesWhatOneThreadComputes) {
  for (const char* preset : {"deepfm", "dcn_v2", "dlrm", "lr"}) {
    for (const bool sum_loss : {false, true}) {
      v1::JobSpec spec = SpecOf(preset, 4, 2);
      spec.mutable_train()->set_sum_loss(sum_loss);
      ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
      const auto alone = NetworkOf(spec, 1);
      for (const uint32_t threads : {2u, 3u}) {
        const auto together = NetworkOf(spec, threads);
        for (const int examples : {33, 2, 1, 0, 64}) {
          const std::string what = absl::StrCat(preset, " ", threads, " ", examples, " ");
          const RandomBatch batch(spec, examples, 1);
          const NetworkGradients want = alone->ForwardBackward(batch.Weighted());
          const NetworkGradients got = together->ForwardBackward(batch.Weighted());
          EXPECT_NEAR(got.loss_sum, want.loss_sum, 1e-5 * (1 + want.loss_sum)) << what;
          ExpectClose(got.logits, want.logits, what + "logit");
          ExpectClose(got.rows, want.rows, what + "row");
          ExpectClose(got.parameters, want.parameters, what + "parameter");
          ExpectClose(together->Forward(batch.Input()), alone->Forward(batch.Input()), what);
        }
      }
    }
  }
}

TEST(ParallelNetworkTest, TakesRecordsOfAnyNumberOfKeysWithValues) {
  v1::JobSpec spec = SpecOf("fm", 0, 0);
  spec.mutable_data()->set_format(v1::DATA_FORMAT_LIBSVM);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const RandomBatch batch(spec, 21, 3);
  ASSERT_FALSE(batch.values.empty());
  const auto alone = NetworkOf(spec, 1);
  const auto together = NetworkOf(spec, 4);
  ExpectClose(together->ForwardBackward(batch.Input()).rows,
              alone->ForwardBackward(batch.Input()).rows, "row");
}

TEST(ParallelNetworkTest, TakesTheBagsOfFeatures) {
  v1::JobSpec spec = SpecOfFeatures("wide_deep", 2, 3, 5);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const auto alone = NetworkOf(spec, 1);
  const auto together = NetworkOf(spec, 3);
  for (const int examples : {33, 2, 0}) {
    const RandomBatch batch(spec, examples, 1);
    const NetworkGradients want = alone->ForwardBackward(batch.Weighted());
    const NetworkGradients got = together->ForwardBackward(batch.Weighted());
    ExpectClose(got.logits, want.logits, "logit");
    ExpectClose(got.rows, want.rows, "row");
    ExpectClose(got.parameters, want.parameters, "parameter");
    ExpectClose(together->Forward(batch.Input()), alone->Forward(batch.Input()), "logit");
  }
}

TEST(ParallelNetworkTest, GivesTheSameBitsEveryTime) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 2);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const RandomBatch batch(spec, 50, 1);
  const auto first = NetworkOf(spec, 3);
  const NetworkGradients once = first->ForwardBackward(batch.Input());
  const std::vector<float> rows(once.rows.begin(), once.rows.end());
  const std::vector<float> parameters(once.parameters.begin(), once.parameters.end());
  for (int i = 0; i < 20; ++i) {
    const auto again = NetworkOf(spec, 3);
    const NetworkGradients gradients = again->ForwardBackward(batch.Input());
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), gradients.rows.begin()));
    EXPECT_TRUE(std::equal(parameters.begin(), parameters.end(), gradients.parameters.begin()));
  }
}

}  // namespace
}  // namespace capstan
