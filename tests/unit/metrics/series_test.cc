#include "capstan/metrics/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace capstan::metrics {
namespace {

using ::testing::ElementsAre;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(CounterTest, AddsWhatItIsTold) {
  Counter counter(Labels{{"shard", "3"}});
  EXPECT_EQ(counter.value(), 0);
  counter.Add();
  counter.Add(2.5);
  EXPECT_EQ(counter.value(), 3.5);
  EXPECT_EQ(counter.labels().at("shard"), "3");
}

TEST(HistogramTest, ABoundIsWithinItsOwnBucket) {
  Histogram histogram({}, {0, 1, 10});
  for (const double value : {-5.0, 0.0, 0.5, 1.0, 1.5, 10.0, 10.5, kInfinite, -kInfinite}) {
    histogram.Observe(value);
  }
  EXPECT_THAT(histogram.counts(), ElementsAre(3, 2, 2, 2));
}

TEST(HistogramTest, ManyObservationsOfOneValueAreOneCall) {
  Histogram histogram({}, {1});
  histogram.Observe(0.5, 4);
  histogram.Observe(3, 2);
  histogram.Observe(7, 0);
  EXPECT_THAT(histogram.counts(), ElementsAre(4, 2));
  EXPECT_EQ(histogram.sum(), 8);
}

TEST(HistogramTest, WhatIsNoNumberIsNotCountedAsTheLeast) {
  Histogram histogram({}, {0, 1});
  histogram.Observe(std::nan(""));
  EXPECT_THAT(histogram.counts(), ElementsAre(0, 0, 1));
  EXPECT_TRUE(std::isnan(histogram.sum()));
}

TEST(HistogramTest, WithoutBoundsThereIsOneBucket) {
  Histogram histogram({}, {});
  histogram.Observe(-1);
  histogram.Observe(1e300);
  EXPECT_THAT(histogram.counts(), ElementsAre(2));
}

TEST(HistogramTest, NoObservationIsLostBetweenThreads) {
  Histogram histogram({}, {1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&histogram] {
      for (int i = 0; i < 1000; ++i) histogram.Observe(i % 2 == 0 ? 1 : 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(histogram.counts(), ElementsAre(2000, 2000));
  EXPECT_EQ(histogram.sum(), 6000);
}

TEST(HistogramDeathTest, BoundsAscendWithoutRepetition) {
  EXPECT_DEATH(Histogram({}, {1, 1}), "is_sorted");
  EXPECT_DEATH(Histogram({}, {2, 1}), "is_sorted");
}

}  // namespace
}  // namespace capstan::metrics
