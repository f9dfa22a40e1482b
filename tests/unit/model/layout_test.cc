#include "capstan/model/layout.h"

#include "capstan/model/presets.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "model_fixture.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

std::string Refusal(v1::JobSpec spec) {
  const absl::Status status = LayOutModel(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(LayOutModelTest, DeepFmOfThePeersHas410802DenseParametersAndRowsOf17) {
  v1::JobSpec spec = SpecOf("deepfm", 39, 0);
  spec.mutable_model()->set_embedding_dim(16);
  spec.mutable_model()->clear_hidden();
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  EXPECT_EQ(DenseParameterCount(spec), 410802);
  ASSERT_EQ(spec.tables_size(), 1);
  EXPECT_EQ(spec.tables(0).name(), "features");
  EXPECT_EQ(spec.tables(0).dim(), 17u);
  EXPECT_EQ(spec.tables(0).segments(0).name(), "linear");
  EXPECT_EQ(spec.tables(0).segments(0).initializer().kind(), v1::INITIALIZER_KIND_UNSPECIFIED);
  EXPECT_EQ(spec.tables(0).segments(1).name(), "embedding");
  EXPECT_EQ(spec.tables(0).segments(1).offset(), 1u);
  EXPECT_FLOAT_EQ(spec.tables(0).segments(1).initializer().scale(), 0.01f);
}

TEST(LayOutModelTest, NumbersTensorsTowerByTowerAndGivesThemTheDenseOptimizer) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 0);
  spec.mutable_dense_optimizer()->set_learning_rate(0.25f);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  std::vector<std::string> names;
  for (const v1::TensorSpec& tensor : spec.tensors()) {
    EXPECT_EQ(tensor.id(), names.size());
    EXPECT_EQ(tensor.optimizer().learning_rate(), 0.25f);
    names.push_back(tensor.name());
  }
  EXPECT_THAT(names,
              testing::ElementsAre("mlp/weights_0", "mlp/bias_0", "mlp/weights_1", "mlp/bias_1",
                                   "mlp/weights_2", "mlp/bias_2", "bias/bias"));
  EXPECT_THAT(spec.tensors(0).shape(), testing::ElementsAre(12, 5));
}

TEST(LayOutModelTest, ATowerThatDoesNotSayHasTheModelsActivationAndDropout) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 0);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  for (const v1::TowerSpec& tower : spec.model().towers()) {
    EXPECT_EQ(tower.activation(), v1::ACTIVATION_UNSPECIFIED) << "as before there was any";
  }
  spec = SpecOf("deepfm", 4, 0);
  spec.mutable_model()->set_activation(v1::ACTIVATION_TANH);
  spec.mutable_model()->set_dropout(0.25f);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  for (const v1::TowerSpec& tower : spec.model().towers()) {
    const bool layers = tower.kind() == "mlp";
    EXPECT_EQ(tower.activation(), layers ? v1::ACTIVATION_TANH : v1::ACTIVATION_UNSPECIFIED);
    EXPECT_EQ(tower.dropout(), layers ? 0.25f : 0);
  }
  spec.mutable_model()->mutable_towers(2)->set_activation(v1::ACTIVATION_ELU);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  EXPECT_EQ(spec.model().towers(2).activation(), v1::ACTIVATION_ELU);
}

TEST(LayOutModelTest, FeaturesHaveTheTablesThatTheyName) {
  v1::JobSpec spec;
  spec.mutable_model()->set_user("two.py");
  spec.mutable_model()->set_embedding_dim(8);
  spec.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  spec.mutable_sparse_optimizer()->set_learning_rate(0.5f);
  spec.mutable_table_limits()->set_admission_count(2);
  for (const auto& [name, table] :
       {std::pair("user", "user"), std::pair("seen", "item"), std::pair("item", "item")}) {
    spec.mutable_data()->add_features()->set_name(name);
    spec.mutable_data()->mutable_features()->rbegin()->set_table(table);
  }
  v1::TableSettings& item = *spec.add_table_settings();
  item.set_name("item");
  item.set_dim(32);
  item.mutable_optimizer()->set_learning_rate(0.25f);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  ASSERT_EQ(spec.tables_size(), 2);
  EXPECT_EQ(spec.tables(0).name(), "user");
  EXPECT_EQ(spec.tables(0).dim(), 8u);
  EXPECT_EQ(spec.tables(0).optimizer().learning_rate(), 0.5f);
  EXPECT_EQ(spec.tables(0).admission_count(), 2u);
  EXPECT_EQ(spec.tables(1).name(), "item");
  EXPECT_EQ(spec.tables(1).id(), 1u);
  EXPECT_EQ(spec.tables(1).dim(), 32u);
  EXPECT_EQ(spec.tables(1).optimizer().learning_rate(), 0.25f);
  EXPECT_NE(spec.tables(0).seed(), spec.tables(1).seed());
}

TEST(LayOutModelTest, TablesOfFeaturesHaveTheSegmentsThatTowersRead) {
  v1::JobSpec deepfm = SpecOfFeatures("deepfm", 2, 5, 5);
  ASSERT_EQ(LayOutModel(deepfm), absl::OkStatus());
  ASSERT_EQ(deepfm.tables_size(), 2);
  for (const v1::TableSpec& table : deepfm.tables()) {
    EXPECT_EQ(table.dim(), 6u);
    EXPECT_EQ(table.segments(0).name(), "linear");
    EXPECT_EQ(table.segments(1).name(), "embedding");
    EXPECT_EQ(table.segments(1).offset(), 1u);
  }
  EXPECT_EQ(deepfm.tensors(1).name(), "mlp/weights_0");
  EXPECT_THAT(deepfm.tensors(1).shape(), testing::ElementsAre(4 * 5 + 2, 5));
  EXPECT_THAT(TablesOfFeatures(deepfm), testing::ElementsAre(0, 1, 1, 1));

  v1::JobSpec dcn = SpecOfFeatures("dcn_v2", 0, 2, 7), lr = SpecOfFeatures("lr", 0, 0, 0);
  ASSERT_EQ(LayOutModel(dcn), absl::OkStatus());
  EXPECT_EQ(dcn.tables(0).dim(), 2u);
  EXPECT_EQ(dcn.tables(1).dim(), 7u);
  ASSERT_EQ(LayOutModel(lr), absl::OkStatus());
  EXPECT_EQ(lr.tables(0).dim(), 1u);
  EXPECT_EQ(lr.tables(0).segments(0).name(), "linear");
}

TEST(LayOutModelTest, TowersThatMultiplyFeaturesWantThemOfOneDim) {
  for (const std::string preset : {"fm", "deepfm", "dlrm"}) {
    EXPECT_THAT(Refusal(SpecOfFeatures(preset, 2, 4, 8)),
                HasSubstr("dims: user has 4, item has 8; give their tables one dim"))
        << preset;
  }
  EXPECT_THAT(Refusal(SpecOfFeatures("lr", 0, 4, 0)),
              HasSubstr("tables.user.dim: no tower of the model reads embeddings"));
  EXPECT_THAT(Refusal(SpecOfFeatures("mf", 0, 4, 4)), HasSubstr("two keys a record"));
  v1::JobSpec bias = SpecOfFeatures("", 0, 0, 0);
  bias.mutable_model()->add_towers()->set_kind("bias");
  EXPECT_THAT(Refusal(bias), HasSubstr("data.features: no tower of the model reads keys"));
}

TEST(LayOutModelTest, ChangesNothingTheSecondTime) {
  for (const std::string& preset : PresetNames()) {
    v1::JobSpec once = SpecOf(preset, 2, 4);
    once.mutable_data()->add_image_shape(2);
    once.mutable_data()->add_image_shape(2);
    if (preset == "softmax") once.mutable_model()->set_outputs(2);
    if (preset == "cnn") once.mutable_data()->mutable_image_shape()->Clear();
    if (preset == "cnn") {
      once.mutable_data()->set_dense_width(16);
      once.mutable_data()->add_image_shape(4);
      once.mutable_data()->add_image_shape(4);
    }
    ASSERT_EQ(LayOutModel(once), absl::OkStatus()) << preset;
    v1::JobSpec twice = once;
    ASSERT_EQ(LayOutModel(twice), absl::OkStatus()) << preset;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(once, twice)) << preset;
  }
}

TEST(LayOutModelTest, AProgramHasTheEmbeddingsAndKeepsTheTensorsThatItHasDeclared) {
  v1::JobSpec spec;
  spec.mutable_data()->set_fields(3);
  spec.mutable_model()->set_user("m.py");
  spec.mutable_model()->set_embedding_dim(8);
  spec.add_tensors()->set_name("layer.weight");
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  EXPECT_EQ(spec.model().loss(), v1::LOSS_LOGISTIC);
  EXPECT_EQ(spec.model().outputs(), 1u);
  ASSERT_EQ(spec.tables_size(), 1);
  EXPECT_EQ(spec.tables(0).dim(), 8u);
  ASSERT_EQ(spec.tables(0).segments_size(), 1);
  EXPECT_EQ(spec.tables(0).segments(0).name(), "embedding");
  ASSERT_EQ(spec.tensors_size(), 1);
  EXPECT_EQ(spec.tensors(0).name(), "layer.weight");
}

TEST(LayOutModelTest, AModelWithoutKeysHasNoTable) {
  v1::JobSpec spec = SpecOf("mlp", 0, 8);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  EXPECT_EQ(spec.tables_size(), 0);
}

TEST(LayOutModelTest, AWideModelHasOnlyTheSegmentsItReads) {
  v1::JobSpec lr = SpecOf("lr", 4, 0), dcn = SpecOf("dcn_v2", 4, 0);
  ASSERT_EQ(LayOutModel(lr), absl::OkStatus());
  ASSERT_EQ(LayOutModel(dcn), absl::OkStatus());
  EXPECT_EQ(lr.tables(0).dim(), 1u);
  EXPECT_EQ(dcn.tables(0).dim(), 3u);
}

TEST(LayOutModelTest, SaysInOneLineWhatDoesNotFit) {
  v1::JobSpec varying = SpecOf("deepfm", 0, 0);
  varying.mutable_data()->set_format(v1::DATA_FORMAT_LIBSVM);
  EXPECT_EQ(Refusal(varying),
            "tower mlp: needs the same number of keys in every record; where the data have it, say "
            "how many, such as data.fields: 16");

  EXPECT_EQ(Refusal(SpecOf("cnn", 0, 784)),
            "tower conv: the data has no images (data.image_shape)");
  EXPECT_THAT(Refusal(SpecOf("softmax", 0, 784)), HasSubstr("number of classes"));
  EXPECT_THAT(Refusal(SpecOf("mf", 3, 0)), HasSubstr("two keys a record"));
  EXPECT_THAT(Refusal(SpecOf("deepfn", 3, 0)), HasSubstr("\"deepfn\" is not one of cnn, dcn_v2"));
  EXPECT_THAT(Refusal(SpecOf("lr", 0, 0)), HasSubstr("neither keys nor numbers"));
  EXPECT_THAT(Refusal(SpecOf("dlrm", 0, 5)), HasSubstr("tower dot: multiplies embeddings, and"));

  v1::JobSpec classes = SpecOf("fm", 4, 0);
  classes.mutable_model()->set_outputs(3);
  EXPECT_EQ(Refusal(classes), "tower fm: has one output, the model has 3");

  v1::JobSpec no_embedding = SpecOf("deepfm", 4, 0);
  no_embedding.mutable_model()->set_embedding_dim(0);
  EXPECT_THAT(Refusal(no_embedding), HasSubstr("model.embedding_dim"));
}

TEST(LayOutModelTest, RefusesAnUnknownTowerAndTwoOfOneName) {
  v1::JobSpec spec = SpecOf("", 4, 0);
  spec.mutable_model()->add_towers()->set_kind("tree");
  EXPECT_THAT(Refusal(spec), HasSubstr("\"tree\" is not one of bias, conv, cross"));
  spec.mutable_model()->mutable_towers(0)->set_kind("bias");
  spec.mutable_model()->add_towers()->set_kind("bias");
  EXPECT_THAT(Refusal(spec), HasSubstr("\"bias\""));
}

TEST(LayOutModelTest, ASoftmaxHasAsManyOutputsAsTheSchemaNamesClasses) {
  v1::JobSpec spec = SpecOf("softmax", 2, 0);
  spec.mutable_model()->set_outputs(0);
  for (const char* name : {"setosa", "versicolor", "virginica"}) {
    spec.mutable_data()->add_label_classes(name);
  }
  v1::JobSpec other = spec;
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  EXPECT_EQ(spec.model().outputs(), 3u);
  other.mutable_model()->set_outputs(4);
  EXPECT_THAT(Refusal(other), HasSubstr("names 3 classes, and the model has 4"));
}

TEST(LayOutModelTest, LabelsMustSuitTheLossOfTheModel) {
  v1::JobSpec standard = SpecOf("lr", 2, 0);
  standard.mutable_data()->set_standardize_label(true);
  EXPECT_THAT(Refusal(standard), HasSubstr("data.label_transform"));
  v1::JobSpec positive = SpecOf("mf", 2, 0);
  positive.mutable_data()->add_positive_labels("yes");
  EXPECT_THAT(Refusal(positive), HasSubstr("data.schema.positive"));
}

}  // namespace
}  // namespace capstan
