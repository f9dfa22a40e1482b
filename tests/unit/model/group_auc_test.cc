#include "capstan/model/group_auc.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "capstan/base/hash.h"
#include "capstan/model/metrics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

// Examples of many groups of different sizes and difficulty; some logits are equal.
struct Examples {
  std::vector<float> logits, labels, weights;
  std::vector<uint64_t> groups;

  Scores Part(size_t begin, size_t count) const {
    return {.loss = v1::LOSS_LOGISTIC,
            .outputs = 1,
            .logits = std::span(logits).subspan(begin, count),
            .labels = std::span(labels).subspan(begin, count),
            .weights = weights.empty() ? std::span<const float>()
                                       : std::span(weights).subspan(begin, count),
            .groups = std::span(groups).subspan(begin, count)};
  }
  Scores All() const { return Part(0, labels.size()); }
};

Examples Draws(size_t count, uint64_t groups, bool weighted) {
  Examples of;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t group =
        static_cast<uint64_t>(groups * Unit(Draw(7, 1, i)) * Unit(Draw(7, 2, i)));
    const bool positive = Unit(Draw(7, 3, i)) < 0.3;
    const auto level = static_cast<float>(group % 5);
    const auto noise = static_cast<float>(Draw(7, 4, i) % 16) / 4;
    of.logits.push_back(level + noise + (positive ? 1.0f : 0.0f));
    of.labels.push_back(positive ? 1.0f : 0.0f);
    of.groups.push_back(Mix64(group + 1));
    if (weighted) of.weights.push_back(static_cast<float>(i % 3));
  }
  return of;
}

// By counting the pairs of each group.
double Counted(const Examples& of) {
  std::map<uint64_t, std::vector<size_t>> members;
  for (size_t i = 0; i < of.labels.size(); ++i) members[of.groups[i]].push_back(i);
  const auto weight = [&](size_t i) { return of.weights.empty() ? 1.0 : of.weights[i]; };
  double sum = 0, total = 0;
  for (const auto& [group, all] : members) {
    double wins = 0, pairs = 0, heaviness = 0;
    for (const size_t i : all) {
      heaviness += weight(i);
      for (const size_t j : all) {
        if (of.labels[i] == 0 || of.labels[j] == 1) continue;
        const double won = of.logits[i] > of.logits[j] ? 1 : of.logits[i] == of.logits[j] ? 0.5 : 0;
        wins += weight(i) * weight(j) * won;
        pairs += weight(i) * weight(j);
      }
    }
    if (pairs == 0) continue;
    sum += heaviness * wins / pairs;
    total += heaviness;
  }
  return sum / total;
}

TEST(GroupAucTest, IsThatOfCountingThePairsOfEachGroup) {
  for (const bool weighted : {false, true}) {
    const Examples of = Draws(3000, 200, weighted);
    v1::EvaluationResult sums;
    AddToEvaluation(of.All(), sums);
    const auto metrics = MetricsOf(v1::LOSS_LOGISTIC, sums);
    EXPECT_NEAR(metrics.at("group_auc"), Counted(of), 1e-12);
    EXPECT_EQ(metrics.at("group_share"), 1);
    EXPECT_GT(metrics.at("group_auc"), metrics.at("auc") + 0.05)
        << "the levels of the groups do not count";
  }
}

TEST(GroupAucTest, IsTheSameWhoeverEvaluatesWhatAndInWhichOrder) {
  const Examples of = Draws(4000, 300, true);
  for (const size_t most : {size_t{10000}, size_t{1000}, size_t{100}}) {
    v1::GroupSample whole, forwards, backwards;
    AddToGroups(of.All(), whole, most);
    for (size_t part = 0; part < 8; ++part) {
      v1::GroupSample one, other;
      AddToGroups(of.Part(500 * part, 500), one, most);
      MergeGroups(one, forwards, most);
      AddToGroups(of.Part(4000 - 500 * (part + 1), 500), other, most);
      MergeGroups(other, backwards, most);
    }
    EXPECT_LE(whole.groups_size(), static_cast<int>(most));
    EXPECT_EQ(whole.halvings() > 0, most < 4000) << most;
    for (const v1::GroupSample* each : {&forwards, &backwards}) {
      EXPECT_EQ(each->halvings(), whole.halvings()) << most;
      EXPECT_EQ(each->groups_size(), whole.groups_size()) << most;
      EXPECT_NEAR(*GroupAuc(*each), *GroupAuc(whole), 1e-12) << most;
    }
  }
}

TEST(GroupAucTest, ASampleHoldsWholeGroups) {
  const Examples of = Draws(4000, 300, false);
  v1::GroupSample sample;
  AddToGroups(of.All(), sample, 1000);
  EXPECT_EQ(ShareOfGroups(sample), std::pow(0.5, sample.halvings()));
  std::map<uint64_t, int> sampled, all;
  for (const uint64_t group : sample.groups()) ++sampled[group];
  for (const uint64_t group : of.groups) ++all[group];
  EXPECT_GT(sampled.size(), 20u);
  for (const auto& [group, examples] : sampled) EXPECT_EQ(examples, all[group]);
}

TEST(GroupAucTest, IsNotToldWhereNoGroupHasBothLabels) {
  const std::vector<float> logits = {1, 2, 3}, labels = {0, 0, 1};
  const std::vector<uint64_t> groups = {7, 7, 8};
  v1::EvaluationResult sums;
  AddToEvaluation({v1::LOSS_LOGISTIC, 1, logits, labels, {}, groups}, sums);
  const auto metrics = MetricsOf(v1::LOSS_LOGISTIC, sums);
  EXPECT_TRUE(metrics.contains("auc"));
  EXPECT_FALSE(metrics.contains("group_auc"));
}

TEST(GroupAucTest, RecordsThatNameNoGroupAreNotComparedWithEachOther) {
  const std::vector<float> logits = {1, 2, 9, 8}, labels = {0, 1, 0, 1};
  const std::vector<uint64_t> groups = {7, 7, HashText(""), HashText("")};
  v1::GroupSample sample;
  AddToGroups({v1::LOSS_LOGISTIC, 1, logits, labels, {}, groups}, sample, 10);
  EXPECT_EQ(sample.groups_size(), 2);
  EXPECT_EQ(GroupAuc(sample), 1);
}

TEST(GroupAucTest, ANonsensicalSampleOfAPeerIsRefusedAndChangesNothing) {
  const Examples of = Draws(100, 10, false);
  v1::EvaluationResult good;
  AddToEvaluation(of.All(), good);
  v1::EvaluationResult sums = good;
  const auto refuse = [&](auto spoil, const char* why) {
    v1::EvaluationResult bad = good;
    spoil(*bad.mutable_groups());
    EXPECT_THAT(std::string(MergeEvaluation(bad, sums).message()), HasSubstr(why));
    EXPECT_EQ(sums.examples(), good.examples());
  };
  refuse([](v1::GroupSample& of) { of.mutable_logits()->RemoveLast(); }, "99 logits");
  refuse([](v1::GroupSample& of) { of.mutable_positives()->Clear(); }, "0 labels");
  refuse([](v1::GroupSample& of) { of.set_halvings(64); }, "64 halvings");
  refuse([](v1::GroupSample& of) { of.set_logits(3, std::numeric_limits<float>::quiet_NaN()); },
         "example 3 of a group has logit nan");
  refuse([](v1::GroupSample& of) { of.set_weights(4, -1); }, "weight -1");
}

TEST(GroupAucTest, ALogitThatIsNoNumberIsTheLowest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {nan, 2}, labels = {1, 0};
  const std::vector<uint64_t> groups = {7, 7};
  v1::GroupSample sample;
  AddToGroups({v1::LOSS_LOGISTIC, 1, logits, labels, {}, groups}, sample, 10);
  EXPECT_EQ(GroupAuc(sample), 0);
  EXPECT_TRUE(CheckGroups(sample).ok());
}

}  // namespace
}  // namespace capstan
