// Images on one core, from the page cache: reading tar and TFRecord, and decoding.
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/image/decode.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/sample_files.h"
#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

constexpr int kImages = 600;
constexpr size_t kImageBytes = 110'000;  // As those of ImageNet have on an average.

void ReadAll(benchmark::State& state, v1::DataFormat format, const std::string& file) {
  const TestFolder folder;
  v1::DataSpec data;
  data.set_format(format);
  data.add_train(folder.Write("images", file));
  data.mutable_image()->set_height(224);
  data.mutable_image()->set_width(224);
  data.mutable_image()->set_channels(3);
  const std::unique_ptr<const Source> files = NewLocalFiles();
  CAPSTAN_CHECK(DeriveDataSpec(*files, data).ok());
  const auto tasks = PlanTasks(*files, data, {.batch_size = 32});
  CAPSTAN_CHECK(tasks.ok());
  TaskReader reader({.data = data, .loss = v1::LOSS_SOFTMAX, .batch_size = 32}, *files);
  for (auto _ : state) {
    for (const v1::Task& task : tasks->Tasks()) CAPSTAN_CHECK(reader.Read({.task = task}).ok());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(file.size()));
}

void BM_ReadTar(benchmark::State& state) {
  const std::string image(kImageBytes, 'x');
  std::string file;
  for (int i = 0; i < kImages; ++i) file += TarSample(absl::StrCat(i), image, "7");
  ReadAll(state, v1::DATA_FORMAT_TAR, file + TarEnd());
}
BENCHMARK(BM_ReadTar)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void BM_ReadTfRecord(benchmark::State& state) {
  const std::string record = TfRecord(TfExample(std::string(kImageBytes, 'x'), 7));
  std::string file;
  for (int i = 0; i < kImages; ++i) file += record;
  ReadAll(state, v1::DATA_FORMAT_TFRECORD, file);
}
BENCHMARK(BM_ReadTfRecord)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void Decode(benchmark::State& state, const std::string& encoded) {
  ImageDecoder decoder({{224, 224}, 3});
  std::vector<uint8_t> pixels(size_t{224} * 224 * 3);
  for (auto _ : state) CAPSTAN_CHECK(decoder.Decode(encoded, {}, pixels).ok());
  state.SetItemsProcessed(state.iterations());
}

void BM_DecodeJpeg(benchmark::State& state) { Decode(state, EncodeJpeg(Smooth({500, 375}, 3))); }
BENCHMARK(BM_DecodeJpeg)->Unit(benchmark::kMillisecond);

void BM_DecodePng(benchmark::State& state) { Decode(state, EncodePng(Smooth({500, 375}, 3))); }
BENCHMARK(BM_DecodePng)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace capstan

BENCHMARK_MAIN();
