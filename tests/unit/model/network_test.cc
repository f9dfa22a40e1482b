#include "capstan/model/network.h"

#include <limits>

#include "model_fixture.h"

namespace capstan {
namespace {

std::unique_ptr<Network> NewNetwork(v1::JobSpec& spec) {
  EXPECT_EQ(LayOutModel(spec), absl::OkStatus());
  auto network = Network::Create(spec);
  EXPECT_TRUE(network.ok()) << network.status();
  return *std::move(network);
}

struct Result {
  explicit Result(const NetworkGradients& g)
      : loss_sum(g.loss_sum),
        rows(g.rows.begin(), g.rows.end()),
        parameters(g.parameters.begin(), g.parameters.end()) {}
  friend bool operator==(const Result&, const Result&) = default;
  double loss_sum;
  std::vector<float> rows, parameters;
};

TEST(NetworkTest, GivesTheSameBitsWhateverWasComputedBefore) {
  for (const char* preset : {"deepfm", "dcn_v2", "dlrm", "fm"}) {
    v1::JobSpec spec = SpecOf(preset, 4, 2);
    const auto fresh = NewNetwork(spec), used = NewNetwork(spec);
    const RandomBatch batch(spec, 33, 1), other(spec, 50, 2);
    used->ForwardBackward(other.Input());
    used->Forward(other.Input());
    EXPECT_EQ(Result(fresh->ForwardBackward(batch.Input())),
              Result(used->ForwardBackward(batch.Input())))
        << preset;
  }
}

TEST(NetworkTest, GivesTheSameBitsOfFeaturesWhateverWasComputedBefore) {
  for (const char* preset : {"deepfm", "dcn_v2", "lr"}) {
    v1::JobSpec spec =
        SpecOfFeatures(preset, 2, preset[0] == 'l' ? 0 : 3, preset[0] == 'l' ? 0 : 3);
    const auto fresh = NewNetwork(spec), used = NewNetwork(spec);
    const RandomBatch batch(spec, 33, 1), other(spec, 50, 2);
    used->ForwardBackward(other.Input());
    used->Forward(other.Input());
    EXPECT_EQ(Result(fresh->ForwardBackward(batch.Input())),
              Result(used->ForwardBackward(batch.Input())))
        << preset;
  }
}

TEST(NetworkTest, GivesTheSameBitsWhereverTheInputLies) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 2);
  const auto network = NewNetwork(spec);
  RandomBatch batch(spec, 33, 1);
  const Result aligned(network->ForwardBackward(batch.Input()));
  std::vector<float> rows(batch.rows.size() + 1), parameters(batch.parameters.size() + 3);
  std::copy(batch.rows.begin(), batch.rows.end(), rows.begin() + 1);
  std::copy(batch.parameters.begin(), batch.parameters.end(), parameters.begin() + 3);
  NetworkInput shifted = batch.Input();
  shifted.rows = std::span(rows).subspan(1);
  shifted.parameters = std::span(parameters).subspan(3);
  EXPECT_EQ(aligned, Result(network->ForwardBackward(shifted)));
}

TEST(NetworkTest, ARecordOfAnotherNumberOfKeysIsPaddedWithZerosOrCut) {
  v1::JobSpec spec = SpecOf("deepfm", 2, 0);
  const auto network = NewNetwork(spec);
  RandomBatch batch(spec, 3, 1);
  batch.offsets = {0, 1, 4, 4};
  batch.index = {0, 1, 2, 3};
  const NetworkGradients gradients = network->ForwardBackward(batch.Input());
  for (float logit : gradients.logits) EXPECT_TRUE(std::isfinite(logit));
}

TEST(NetworkTest, DoesNotHideANumberThatIsNone) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 2);
  const auto network = NewNetwork(spec);
  RandomBatch batch(spec, 5, 1);
  batch.parameters[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(network->ForwardBackward(batch.Input()).loss_sum));
}

TEST(NetworkTest, AnEmptyBatchHasNoLossAndNoGradient) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 2);
  const auto network = NewNetwork(spec);
  const RandomBatch batch(spec, 0, 1);
  const NetworkGradients gradients = network->ForwardBackward(batch.Input());
  EXPECT_EQ(gradients.loss_sum, 0);
  for (float g : gradients.parameters) EXPECT_EQ(g, 0);
}

TEST(NetworkTest, RefusesALayoutThatIsNotThatOfItsTowers) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 2);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  spec.mutable_tensors()->RemoveLast();
  EXPECT_EQ(Network::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace capstan
