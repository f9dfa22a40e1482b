#include "capstan/model/declaration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/model/declared.h"

namespace capstan {
namespace {

using testing::HasSubstr;

TEST(DeclarationDifferenceTest, NamesTheFirstTensorInWhichTheyDiffer) {
  const v1::ModelDeclaration job = Declaration(kModel);
  EXPECT_EQ(DeclarationDifference(job, job), "");
  EXPECT_EQ(DeclarationDifference(job, Declaration({kModel[0], {"fc.weight", {4, 3}}})),
            "fc.weight is [4, 3] here, [2, 3] in the job");
  EXPECT_EQ(DeclarationDifference(job, Declaration({kModel[1]})),
            "bn.running_mean of [2] is in the job, and not here");
  EXPECT_EQ(DeclarationDifference(job, Declaration({kModel[0], {"fc.bias", {2}}, kModel[1]})),
            "fc.bias of [2] is here, and not in the job");
  EXPECT_EQ(DeclarationDifference(job, Declaration({{"bn.running_mean", {2}}, kModel[1]})),
            "bn.running_mean is trained here, running (a buffer) in the job");
  v1::ModelDeclaration without = job;
  without.add_outputs("label");
  EXPECT_EQ(DeclarationDifference(job, without), "predict gives (label) here, () in the job");
}

TEST(DeclarationDifferenceTest, FactsAndWhoDeclaredAreTold) {
  v1::ModelDeclaration other = Declaration(kModel);
  other.set_declared_by("worker-7");
  (*other.mutable_facts())["torch"] = "2.0";
  EXPECT_EQ(DeclarationDifference(Declaration(kModel), other), "");
}

TEST(FactsDifferenceTest, NamesEachFactThatDiffersOrIsKnownOnOneSideAlone) {
  const auto facts = [](const std::map<std::string, std::string>& of) {
    return Facts(of.begin(), of.end());
  };
  const Facts job = facts({{"python", "3.11.2"}, {"threads", "1"}, {"torch", "1.13.1"}});
  EXPECT_EQ(FactsDifference(job, job), "");
  EXPECT_EQ(
      FactsDifference(
          job, facts({{"blas", "mkl"}, {"python", "3.11.2"}, {"threads", "1"}, {"torch", "2.0"}})),
      "blas is mkl here, and unknown in the job; torch is 2.0 here, and 1.13.1 in the job");
}

TEST(CheckDeclarationTest, RefusesWhatNoJobCanTrain) {
  EXPECT_EQ(CheckDeclaration(Declaration(kModel)), absl::OkStatus());
  EXPECT_THAT(std::string(CheckDeclaration(Declaration({kModel[1], kModel[0]})).message()),
              HasSubstr("bn.running_mean is out of order"));
  EXPECT_THAT(std::string(CheckDeclaration(Declaration({{"a", {3, 0}}})).message()),
              HasSubstr("tensor a of [3, 0] has no elements"));
  EXPECT_THAT(
      std::string(CheckDeclaration(Declaration({{"a", {1u << 31, 1u << 31, 4}}})).message()),
      HasSubstr("more than"));
}

TEST(CheckNamesInExportsTest, RefusesNamesThatExportedModelsHaveForSomethingElse) {
  v1::JobSpec job;
  job.add_tables()->set_name("user");
  const auto said = [&](const std::string& name) {
    return std::string(CheckNamesInExports(Declaration({{name, {2}}}), job).message());
  };
  EXPECT_EQ(said("user"), "");
  EXPECT_THAT(said("user.keys"), HasSubstr("tensor user.keys has the name that a part of"));
  EXPECT_EQ(said("__metadata__"),
            "tensor __metadata__ has the name that the format of exported models keeps to itself; "
            "rename it");
}

TEST(AddTensorsTest, WhatIsNotTrainedHasTheOptimizerThatAddsIncrements) {
  v1::JobSpec job;
  job.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_ADAM);
  AddTensors(Declaration(kModel), job);
  ASSERT_EQ(job.tensors_size(), 2);
  EXPECT_EQ(job.tensors(0).optimizer().kind(), v1::OPTIMIZER_KIND_RUNNING);
  EXPECT_EQ(job.tensors(0).role(), v1::TENSOR_ROLE_RUNNING);
  EXPECT_EQ(job.tensors(1).optimizer().kind(), v1::OPTIMIZER_KIND_ADAM);
  EXPECT_EQ(job.tensors(1).id(), 1u);
}

TEST(AddTensorsTest, AGroupHasAnOptimizerOfItsOwn) {
  v1::JobSpec job;
  job.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_ADAM);
  v1::OptimizerGroup& group = *job.add_dense_groups();
  group.add_match("*.bias");
  group.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  AddTensors(Declaration({{"fc.bias", {2}}, {"fc.weight", {2, 3}}}), job);
  EXPECT_EQ(job.tensors(0).optimizer().kind(), v1::OPTIMIZER_KIND_SGD);
  EXPECT_EQ(job.tensors(1).optimizer().kind(), v1::OPTIMIZER_KIND_ADAM);
}

}  // namespace
}  // namespace capstan
