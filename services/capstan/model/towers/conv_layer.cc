#include "capstan/model/towers/conv_layer.h"

#include <algorithm>

namespace capstan {
namespace {

// Adjacent neighbours of a pixel in one row: `count` pixels beginning with pixel `from`. The first
// of them is neighbour number `neighbour` (0 to 8, row by row).
struct Run {
  int pixel, neighbour, from, count;
};

// Calls visit(run) for every pixel and each of the up to three rows around it. Neighbours outside
// the image are omitted.
template <typename Visit>
void ForEachRun(const ConvShape& shape, const Visit& visit) {
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      const int begin = std::max(x - 1, 0), end = std::min(x + 2, shape.width);
      for (int row = std::max(y - 1, 0); row < std::min(y + 2, shape.height); ++row) {
        visit(Run{.pixel = y * shape.width + x,
                  .neighbour = (row - y + 1) * 3 + begin - (x - 1),
                  .from = row * shape.width + begin,
                  .count = end - begin});
      }
    }
  }
}

// Calls visit(pooled, corner) for each pixel of the pooled image: its index, and the index of the
// top left of the four pixels from which it is computed, both without the channel.
template <typename Visit>
void ForEachPool(const ConvShape& shape, const Visit& visit) {
  const int width = shape.width / 2;
  for (int y = 0; y < shape.height / 2; ++y) {
    for (int x = 0; x < width; ++x) visit(y * width + x, 2 * y * shape.width + 2 * x);
  }
}

}  // namespace

Matrix ConvLayer::Patches(const float* image) {
  Matrix patches = patches_.Shape(pixels(), patch_size());
  const int channels = shape_.channels_in, size = patch_size();
  float* const to = patches.data();
  patches.setZero();
  ForEachRun(shape_, [&](const Run& run) {
    const float* const from = image + run.from * channels;
    float* const place = to + run.pixel * size + run.neighbour * channels;
    for (int c = 0; c < run.count * channels; ++c) place[c] = from[c];
  });
  return patches;
}

void ConvLayer::AddPatches(const Matrix& patches, float* image) const {
  const int channels = shape_.channels_in, size = patch_size();
  ForEachRun(shape_, [&](const Run& run) {
    const float* const from = patches.data() + run.pixel * size + run.neighbour * channels;
    float* const to = image + run.from * channels;
    for (int c = 0; c < run.count * channels; ++c) to[c] += from[c];
  });
}

void ConvLayer::Pool(const Matrix& convolved, float* pooled, uint8_t* places) const {
  const int channels = shape_.channels_out, width = shape_.width;
  ForEachPool(shape_, [&](int to, int from) {
    const float* const pixel = convolved.data() + from * channels;
    for (int c = 0; c < channels; ++c) {
      int best = 0;
      float value = pixel[c];
      for (int place = 1; place < 4; ++place) {
        const float other = pixel[(place / 2 * width + place % 2) * channels + c];
        if (!(other > value)) continue;
        value = other;
        best = place;
      }
      pooled[to * channels + c] = value;
      places[to * channels + c] = static_cast<uint8_t>(best);
    }
  });
}

void ConvLayer::Forward(const ConstMatrix& input, std::span<const float> parameters, Gemm& gemm,
                        Matrix pooled) {
  const int out = shape_.channels_out;
  const ConstMatrix kernel = MatrixAt(parameters.data(), patch_size(), out);
  const std::span<const float> bias = parameters.subspan(patch_size() * out, out);
  if (places_.size() < static_cast<size_t>(pooled.size())) places_.resize(pooled.size());
  for (Eigen::Index i = 0; i < input.rows(); ++i) {
    const Matrix patches = Patches(input.data() + i * input.outerStride());
    const Matrix convolved = convolved_.Shape(pixels(), out);
    gemm.Multiply(Const(patches), kernel, convolved, {.bias = bias, .relu = true});
    Pool(convolved, &pooled(i, 0), &places_[i * output_size()]);
  }
}

void ConvLayer::Unpool(const BackwardCall& call, Eigen::Index example, Matrix& convolved) const {
  const int channels = shape_.channels_out;
  const uint8_t* const places = &places_[example * output_size()];
  convolved.setZero();
  ForEachPool(shape_, [&](int from, int to) {
    for (int c = 0; c < channels; ++c) {
      const int j = from * channels + c;
      if (!(call.pooled(example, j) > 0)) continue;  // ReLU's gradient.
      convolved(to + places[j] / 2 * shape_.width + places[j] % 2, c) =
          call.pooled_gradient(example, j);
    }
  });
}

void ConvLayer::Backward(const BackwardCall& call) {
  const int out = shape_.channels_out;
  const ConstMatrix kernel = MatrixAt(call.parameters.data(), patch_size(), out);
  const Matrix d_kernel = MatrixAt(call.parameter_gradients.data(), patch_size(), out);
  const std::span<float> d_bias = call.parameter_gradients.subspan(patch_size() * out, out);
  std::fill_n(call.parameter_gradients.begin(), parameter_count(), 0.0f);
  Matrix d_input = call.input_gradient;
  for (Eigen::Index i = 0; i < call.input.rows(); ++i) {
    Matrix convolved = convolved_.Shape(pixels(), out);
    Unpool(call, i, convolved);
    const Matrix patches = Patches(call.input.data() + i * call.input.outerStride());
    call.gemm.Multiply(Const(patches), Const(convolved), d_kernel,
                       {.transpose_a = true, .accumulate = true});
    call.gemm.AddColumnSums(Const(convolved), d_bias);
    if (d_input.cols() == 0) continue;
    call.gemm.Multiply(Const(convolved), kernel, patches, {.transpose_b = true});
    AddPatches(patches, &d_input(i, 0));
  }
}

}  // namespace capstan
