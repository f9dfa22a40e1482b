// The real data, where it is present.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;

size_t Distinct(const std::vector<uint64_t>& keys) {
  return std::set<uint64_t>(keys.begin(), keys.end()).size();
}

double LabelSum(const Batch& batch) {
  return std::accumulate(batch.labels.begin(), batch.labels.end(), 0.0);
}

std::vector<uint32_t> Columns(uint32_t first, uint32_t last) {
  std::vector<uint32_t> columns(last - first + 1);
  std::iota(columns.begin(), columns.end(), first);
  return columns;
}

#define SKIP_WITHOUT(path) \
  if (path.empty()) GTEST_SKIP() << "no real data"

TEST(RealDataTest, CriteoHas54698KeysAsPairsOfColumnAndValue) {
  const std::string train = RealData("criteo/train.csv.gz");
  SKIP_WITHOUT(train);
  v1::DataSpec data = CsvSpec(train, {}, Columns(1, 39));
  data.add_eval(RealData("criteo/test.csv.gz"));
  const ReaderOptions options = *Derived(data);
  Batch all = *ReadEverything(options);
  EXPECT_EQ(all.examples(), 10000u);
  const Batch eval = *ReadEverything(options, Split::kEval);
  EXPECT_EQ(eval.examples(), 10000u);
  all.keys.insert(all.keys.end(), eval.keys.begin(), eval.keys.end());
  EXPECT_EQ(Distinct(all.keys), 54698u);
}

TEST(RealDataTest, CriteoAsPublishedHasEmptyCellsAndHex) {
  const std::string path = RealData("criteo/raw-2k.csv.gz");
  SKIP_WITHOUT(path);
  v1::DataSpec data = CsvSpec(path, Columns(2, 14), Columns(15, 40));
  data.set_header(true);
  data.set_label_column(1);
  for (auto& column : *data.mutable_numeric()) column.set_transform(v1::NUMERIC_TRANSFORM_LOG);
  const Batch batch = *ReadEverything(*Derived(data));
  EXPECT_EQ(batch.examples(), 1999u);
  EXPECT_EQ(batch.keys.size(), 1999u * 26);
  EXPECT_EQ(batch.dense.size(), 1999u * 13);
}

TEST(RealDataTest, AvazuHasLinesThatEndTheWindowsWay) {
  const std::string path = RealData("avazu/hour-3k.csv.gz");
  SKIP_WITHOUT(path);
  v1::DataSpec data = CsvSpec(path, {}, Columns(3, 23));
  data.set_header(true);
  data.set_label_column(1);
  EXPECT_EQ(ReadEverything(*Derived(data))->examples(), 2994u);
}

v1::DataSpec PairSpec(v1::DataFormat format, const std::string& path) {
  v1::DataSpec data;
  data.set_format(format);
  data.add_train(path);
  data.set_binarize_label(true);
  return data;
}

TEST(RealDataTest, A9aIsBinary) {
  const std::string path = RealData("a9a/train.libsvm.gz");
  SKIP_WITHOUT(path);
  const Batch batch = *ReadEverything(*Derived(PairSpec(v1::DATA_FORMAT_LIBSVM, path)));
  EXPECT_EQ(batch.examples(), 32561u);
  EXPECT_EQ(LabelSum(batch), 7841);
  EXPECT_EQ(Distinct(batch.keys), 123u);
  EXPECT_TRUE(batch.values.empty());
}

TEST(RealDataTest, FrappeHasTenFields) {
  const std::string path = RealData("frappe/train.libfm.gz");
  SKIP_WITHOUT(path);
  v1::DataSpec data = PairSpec(v1::DATA_FORMAT_LIBFM, path);
  data.set_fields(10);
  const Batch batch = *ReadEverything(*Derived(data));
  EXPECT_EQ(batch.examples(), 57722u);
  EXPECT_EQ(batch.keys.size(), 577220u);
}

TEST(RealDataTest, MovieLensIsTabSeparated) {
  const std::string path = RealData("ml-100k/u1.base.gz");
  SKIP_WITHOUT(path);
  v1::DataSpec data = CsvSpec(path, {}, {0, 1});
  data.set_format(v1::DATA_FORMAT_TSV);
  data.set_label_column(2);
  ReaderOptions options = *Derived(data);
  options.loss = v1::LOSS_SQUARED;
  const Batch batch = *ReadEverything(options);
  EXPECT_EQ(batch.examples(), 80000u);
  EXPECT_EQ(*std::max_element(batch.labels.begin(), batch.labels.end()), 5);
  EXPECT_EQ(Distinct(batch.keys), 943u + 1650u);
}

TEST(RealDataTest, MnistFindsItsLabels) {
  const std::string path = RealData("mnist/t10k-images-idx3-ubyte.gz");
  SKIP_WITHOUT(path);
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_IDX);
  data.add_train(path);
  ReaderOptions options = *Derived(data);
  options.loss = v1::LOSS_SOFTMAX;
  options.classes = 10;
  const Batch batch = *ReadEverything(options);
  EXPECT_EQ(batch.examples(), 10000u);
  EXPECT_THAT(options.data.image_shape(), ElementsAre(28, 28));
  EXPECT_THAT(std::vector<float>(batch.labels.begin(), batch.labels.begin() + 5),
              ElementsAre(7, 2, 1, 0, 4));
  EXPECT_LE(*std::max_element(batch.dense.begin(), batch.dense.end()), 1.0f);
}

}  // namespace
}  // namespace capstan
