#include "capstan/model/gemm.h"

#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

std::vector<float> Random(size_t count, uint64_t stream) {
  std::vector<float> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = static_cast<float>(2 * Unit(Draw(9, stream, i)) - 1);
  return result;
}

struct Shape {
  int rows, columns, depth;
};

// Every instruction set that this machine has, each with every pair of transpositions.
class GemmTest : public testing::TestWithParam<std::tuple<const char*, bool, bool>> {
 protected:
  void SetUp() override {
    if (kernels::Find(std::get<0>(GetParam())) == nullptr) GTEST_SKIP() << "not on this CPU";
  }
  Gemm NewGemm() const { return Gemm(*kernels::Find(std::get<0>(GetParam()))); }
  bool transpose_a() const { return std::get<1>(GetParam()); }
  bool transpose_b() const { return std::get<2>(GetParam()); }
};

// As "avx2_At_B": of the transposed first matrix and the second one as it is.
std::string NameOf(const testing::TestParamInfo<GemmTest::ParamType>& info) {
  const auto [level, transpose_a, transpose_b] = info.param;
  return absl::StrCat(level, transpose_a ? "_At" : "_A", transpose_b ? "_Bt" : "_B");
}

INSTANTIATE_TEST_SUITE_P(Kernels, GemmTest,
                         testing::Combine(testing::Values("baseline", "avx2", "avx512"),
                                          testing::Bool(), testing::Bool()),
                         NameOf);

TEST_P(GemmTest, AgreesWithTheProductInDouble) {
  Gemm gemm = NewGemm();
  for (const Shape s : {Shape{1, 1, 1},
                        {3, 1, 40},
                        {5, 7, 1},
                        {1, 33, 17},
                        {37, 1, 1},
                        {64, 64, 64},
                        {13, 29, 31},
                        {100, 700, 5},
                        {1100, 3, 7},
                        {17, 19, 700},
                        {2, 2, 0}}) {
    const auto a = Random(size_t(s.rows) * s.depth, 1), b = Random(size_t(s.depth) * s.columns, 2);
    std::vector<float> c(size_t(s.rows) * s.columns, 77.0f);
    gemm.Multiply(
        transpose_a() ? MatrixAt(a.data(), s.depth, s.rows) : MatrixAt(a.data(), s.rows, s.depth),
        transpose_b() ? MatrixAt(b.data(), s.columns, s.depth)
                      : MatrixAt(b.data(), s.depth, s.columns),
        MatrixAt(c.data(), s.rows, s.columns),
        {.transpose_a = transpose_a(), .transpose_b = transpose_b()});
    for (int i = 0; i < s.rows; ++i) {
      for (int j = 0; j < s.columns; ++j) {
        double sum = 0;
        for (int k = 0; k < s.depth; ++k) {
          sum += double{a[transpose_a() ? k * s.rows + i : i * s.depth + k]} *
                 b[transpose_b() ? j * s.depth + k : k * s.columns + j];
        }
        ASSERT_NEAR(c[i * s.columns + j], sum, 1e-5 * (s.depth + 1))
            << s.rows << " x " << s.columns << " x " << s.depth << " at " << i << ", " << j;
      }
    }
  }
}

TEST_P(GemmTest, GivesTheSameBitsWhereverTheMatricesLie) {
  Gemm gemm = NewGemm();
  const int n = 70;
  std::vector<float> first;
  for (int shift : {0, 1, 3, 5}) {
    std::vector<float> a(n * n + shift), b(n * n + shift), c(n * n + shift);
    const auto source = Random(2 * n * n, 3);
    std::copy_n(source.begin(), n * n, a.begin() + shift);
    std::copy_n(source.begin() + n * n, n * n, b.begin() + shift);
    gemm.Multiply(Const(MatrixAt(a.data() + shift, n, n)), Const(MatrixAt(b.data() + shift, n, n)),
                  MatrixAt(c.data() + shift, n, n),
                  {.transpose_a = transpose_a(), .transpose_b = transpose_b()});
    const std::vector<float> result(c.begin() + shift, c.end());
    if (shift == 0) first = result;
    EXPECT_EQ(std::memcmp(result.data(), first.data(), n * n * sizeof(float)), 0) << shift;
  }
}

TEST(GemmOptionsTest, AddsTheBiasThenCutsBelowZero) {
  const std::vector<float> a = {1, 2}, b = {3, -4}, bias = {0.5f, 1};
  std::vector<float> c(4);
  Gemm().Multiply(MatrixAt(a.data(), 2, 1), MatrixAt(b.data(), 1, 2), MatrixAt(c.data(), 2, 2),
                  {.bias = bias, .relu = true});
  EXPECT_EQ(c, (std::vector<float>{3.5, 0, 6.5, 0}));
}

TEST(GemmOptionsTest, ReluPassesNotANumberOn) {
  const std::vector<float> a = {std::nanf("")}, b = {1};
  std::vector<float> c(1);
  Gemm().Multiply(MatrixAt(a.data(), 1, 1), MatrixAt(b.data(), 1, 1), MatrixAt(c.data(), 1, 1),
                  {.relu = true});
  EXPECT_TRUE(std::isnan(c[0]));
}

TEST(GemmOptionsTest, MasksWhereTheOtherMatrixIsNotPositive) {
  const std::vector<float> a = {1, 2}, b = {3, -4}, mask = {1, 0, -1, 2};
  std::vector<float> c(4);
  Gemm().Multiply(MatrixAt(a.data(), 2, 1), MatrixAt(b.data(), 1, 2), MatrixAt(c.data(), 2, 2),
                  {.mask = mask.data()});
  EXPECT_EQ(c, (std::vector<float>{3, 0, 0, -8}));
}

TEST(GemmOptionsTest, WritesOnlyTheColumnsItWasGiven) {
  const std::vector<float> a = {1, 2}, b = {3, 4};
  std::vector<float> c(6, 9.0f);
  const Matrix wide = MatrixAt(c.data(), 2, 3);
  Gemm().Multiply(MatrixAt(a.data(), 2, 1), MatrixAt(b.data(), 1, 2), Columns(wide, 1, 2),
                  {.accumulate = true});
  EXPECT_EQ(c, (std::vector<float>{9, 12, 13, 9, 15, 17}));
}

}  // namespace
}  // namespace capstan
