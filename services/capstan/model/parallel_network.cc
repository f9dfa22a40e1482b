#include "capstan/model/parallel_network.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/model/thread_team.h"

namespace capstan {
namespace {

// A range of items. PartOf returns the i-th of `count` equal parts of `size` items.
struct Range {
  size_t begin, end;
};
Range PartOf(size_t size, size_t i, size_t count) {
  return {size * i / count, size * (i + 1) / count};
}

class ParallelNetwork : public Network {
 public:
  ParallelNetwork(std::vector<std::unique_ptr<Network>> networks, size_t threads,
                  bool mean_gradients)
      : networks_(std::move(networks)),
        mean_gradients_(mean_gradients),
        slices_(networks_.size()),
        team_(threads) {}

  std::span<const float> Forward(const NetworkInput& input) override {
    Cut(input);
    team_.Run(used_, [this](size_t i) {
      KeepLogits(slices_[i], networks_[i]->Forward(slices_[i].input));
    });
    return logits_;
  }

  NetworkGradients ForwardBackward(const NetworkInput& input) override {
    Cut(input);
    team_.Run(used_, [this](size_t i) {
      slices_[i].result = networks_[i]->ForwardBackward(slices_[i].input);
      KeepLogits(slices_[i], slices_[i].result.logits);
    });
    rows_.resize(slices_[0].result.rows.size());
    // A network that only scores has none.
    parameters_.resize(static_cast<size_t>(parameter_count()));
    team_.Run(slices_.size(), [this](size_t i) {
      Sum(&NetworkGradients::rows, PartOf(rows_.size(), i, slices_.size()), rows_);
      Sum(&NetworkGradients::parameters, PartOf(parameters_.size(), i, slices_.size()),
          parameters_);
      if (!mean_gradients_) SumRunning(PartOf(parameters_.size(), i, slices_.size()));
    });
    double loss_sum = 0;
    for (size_t i = 0; i < used_; ++i) loss_sum += slices_[i].result.loss_sum;
    return {.loss_sum = loss_sum,
            .logits = logits_,
            .rows = rows_,
            .parameters = parameters_,
            .running = slices_[0].result.running};
  }

  int row_dim() const override { return networks_[0]->row_dim(); }
  int outputs() const override { return networks_[0]->outputs(); }
  int64_t parameter_count() const override { return networks_[0]->parameter_count(); }

 private:
  struct Slice {
    NetworkInput input;
    std::vector<uint32_t> offsets;      // Where the slice's examples begin in the slice's keys.
    std::vector<FeatureKeys> features;  // The features of the slice's examples.
    size_t first = 0;                   // The index of the slice's first example in the batch.
    float share = 1;                    // The slice's share of the batch's examples.
    float weight = 1;                   // The weight of the slice's gradients in the batch's.
    NetworkGradients result;
  };

  // Fills the first used_ slices. Each has at least one example, unless the batch has none.
  void Cut(const NetworkInput& input) {
    CAPSTAN_CHECK(!input.offsets.empty());
    const size_t examples = input.offsets.size() - 1;
    used_ = std::clamp<size_t>(examples, 1, networks_.size());
    for (size_t i = 0; i < used_; ++i) CutSlice(input, PartOf(examples, i, used_), slices_[i]);
    logits_.resize(examples * static_cast<size_t>(outputs()));
  }

  void CutSlice(const NetworkInput& input, Range range, Slice& slice) const {
    const size_t all = input.offsets.size() - 1;
    const size_t examples = range.end - range.begin;
    const uint32_t first_key = input.offsets[range.begin];
    const size_t keys = input.offsets[range.end] - first_key;
    const size_t dense_width = all == 0 ? 0 : input.dense.size() / all;
    slice.first = range.begin;
    slice.share = all > 0 ? static_cast<float>(examples) / static_cast<float>(all) : 1.0f;
    slice.weight = mean_gradients_ ? slice.share : 1.0f;
    slice.offsets.assign(input.offsets.begin() + static_cast<ptrdiff_t>(range.begin),
                         input.offsets.begin() + static_cast<ptrdiff_t>(range.end) + 1);
    for (uint32_t& offset : slice.offsets) offset -= first_key;
    slice.input = input;
    slice.input.offsets = slice.offsets;
    slice.input.first_example = input.first_example + range.begin;
    const size_t labels =
        all == 0 ? 0 : input.labels.size() / all;  // The number of labels of an example.
    slice.input.labels = input.labels.subspan(range.begin * labels, examples * labels);
    if (!input.weights.empty()) slice.input.weights = input.weights.subspan(range.begin, examples);
    slice.input.index = input.index.subspan(first_key, keys);
    if (!input.values.empty()) slice.input.values = input.values.subspan(first_key, keys);
    slice.input.dense = input.dense.subspan(range.begin * dense_width, examples * dense_width);
    slice.features.assign(input.features.begin(), input.features.end());
    for (FeatureKeys& keys : slice.features) {
      keys.offsets = keys.offsets.subspan(range.begin, examples + 1);
    }
    slice.input.features = slice.features;
  }

  void KeepLogits(const Slice& slice, std::span<const float> logits) {
    std::copy(logits.begin(), logits.end(),
              logits_.begin() + static_cast<ptrdiff_t>(slice.first) * outputs());
  }

  // Computes the weighted sum of a part of the slices' gradients, added in the order of the slices.
  void Sum(std::span<const float> NetworkGradients::*of, Range range, std::vector<float>& sum) {
    for (size_t i = 0; i < used_; ++i) {
      const std::span<const float> part = slices_[i].result.*of;
      const float weight = slices_[i].weight;
      for (size_t k = range.begin; k < range.end; ++k) {
        sum[k] = i == 0 ? weight * part[k] : sum[k] + weight * part[k];
      }
    }
  }

  // Running tensors change by the mean of the slices' changes, even if gradients are summed.
  void SumRunning(Range part) {
    for (const auto& [begin, count] : slices_[0].result.running) {
      const size_t end = std::min(part.end, begin + count);
      for (size_t k = std::max(part.begin, begin); k < end; ++k) {
        parameters_[k] = 0;
        for (size_t i = 0; i < used_; ++i) {
          parameters_[k] += slices_[i].share * slices_[i].result.parameters[k];
        }
      }
    }
  }

  const std::vector<std::unique_ptr<Network>> networks_;
  const bool mean_gradients_;
  std::vector<Slice> slices_;
  size_t used_ = 0;
  std::vector<float> logits_, rows_, parameters_;
  ThreadTeam team_;  // Last: its threads use the others.
};

}  // namespace

std::unique_ptr<Network> NewParallelNetwork(std::vector<std::unique_ptr<Network>> slices,
                                            size_t threads, bool mean_gradients) {
  CAPSTAN_CHECK(!slices.empty());
  return std::make_unique<ParallelNetwork>(std::move(slices), threads, mean_gradients);
}

}  // namespace capstan
