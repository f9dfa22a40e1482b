#include "tests/unit/data/files.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "tests/lib/source_folder.h"

namespace capstan {

std::string Gzip(std::string_view text) {
  z_stream zlib = {};
  CAPSTAN_CHECK(::deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string result(::deflateBound(&zlib, text.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(result.data());
  zlib.avail_out = static_cast<uInt>(result.size());
  CAPSTAN_CHECK(::deflate(&zlib, Z_FINISH) == Z_STREAM_END);
  result.resize(zlib.total_out);
  ::deflateEnd(&zlib);
  return result;
}

std::string Zstd(std::string_view text) {
  std::string result(::ZSTD_compressBound(text.size()), '\0');
  result.resize(::ZSTD_compress(result.data(), result.size(), text.data(), text.size(), 3));
  return result;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::StatusOr<std::string> ReadAll(ByteStream& stream) {
  std::string text;
  char buffer[1000];
  while (true) {
    CAPSTAN_ASSIGN_OR_RETURN(size_t n, stream.Read(buffer));
    if (n == 0) return text;
    text.append(buffer, n);
  }
}

namespace {

class TextStream : public ByteStream {
 public:
  TextStream(std::string text, size_t piece) : text_(std::move(text)), piece_(piece) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    const size_t n = std::min({buffer.size(), piece_, text_.size() - at_});
    std::copy_n(text_.data() + at_, n, buffer.data());
    at_ += n;
    return n;
  }

 private:
  const std::string text_;
  const size_t piece_;
  size_t at_ = 0;
};

class TextSource : public Source {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}
  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    return std::vector<FileInfo>{{pattern, text_.size()}};
  }
  absl::StatusOr<FileInfo> Find(const std::string& path) const override {
    return FileInfo{path, text_.size()};
  }
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string&, uint64_t offset,
                                                   uint64_t) const override {
    const size_t from = std::min<uint64_t>(offset, text_.size());
    return NewTextStream(std::string(text_.substr(from)), /*piece=*/1 << 16);
  }

 private:
  const std::string_view text_;
};

class MeteredStream : public ByteStream {
 public:
  MeteredStream(std::unique_ptr<ByteStream> stream, std::atomic<uint64_t>& bytes)
      : stream_(std::move(stream)), bytes_(bytes) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    auto size = stream_->Read(buffer);
    bytes_ += size.value_or(0);
    return size;
  }

 private:
  const std::unique_ptr<ByteStream> stream_;
  std::atomic<uint64_t>& bytes_;
};

}  // namespace

std::unique_ptr<ByteStream> NewTextStream(std::string text, size_t piece) {
  return std::make_unique<TextStream>(std::move(text), piece);
}

std::unique_ptr<const Source> NewTextSource(std::string_view text) {
  return std::make_unique<const TextSource>(text);
}

absl::StatusOr<std::vector<FileInfo>> MeteredFiles::List(const std::string& pattern) const {
  return files_->List(pattern);
}

absl::StatusOr<FileInfo> MeteredFiles::Find(const std::string& path) const {
  return files_->Find(path);
}

absl::StatusOr<std::unique_ptr<ByteStream>> MeteredFiles::Open(const std::string& path,
                                                               uint64_t offset,
                                                               uint64_t likely_end) const {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                           files_->Open(path, offset, likely_end));
  return std::make_unique<MeteredStream>(std::move(stream), bytes_);
}

v1::DataSpec CsvSpec(const std::string& path, std::vector<uint32_t> numeric,
                     std::vector<uint32_t> categorical) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.add_train(path);
  for (uint32_t column : numeric) data.add_numeric()->set_column(column);
  for (uint32_t column : categorical) data.add_categorical()->set_column(column);
  return data;
}

absl::StatusOr<ReaderOptions> Derived(v1::DataSpec data) {
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*NewLocalFiles(), data));
  return ReaderOptions{.data = std::move(data), .batch_size = 4, .seed = 7};
}

absl::StatusOr<std::vector<Batch>> ReadTasks(const ReaderOptions& options,
                                             const std::vector<v1::Task>& tasks, Split split) {
  const std::unique_ptr<const Source> files = NewLocalFiles();
  TaskReader reader(options, *files);
  std::vector<Batch> batches;
  for (const v1::Task& task : tasks) {
    CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedTask> loaded,
                             reader.Read({.task = task, .evaluation = split == Split::kEval}));
    for (uint64_t k = 0; k < loaded->batch_count(); ++k) {
      CAPSTAN_RETURN_IF_ERROR(loaded->ReadBatch(k, batches.emplace_back()));
    }
  }
  return batches;
}

absl::StatusOr<Batch> ReadEverything(const ReaderOptions& options, Split split) {
  CAPSTAN_ASSIGN_OR_RETURN(
      const TaskRanges ranges,
      PlanTasks(*NewLocalFiles(), options.data,
                {.split = split, .batch_size = options.batch_size, .labels = options.labels}));
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<Batch> batches, ReadTasks(options, ranges.Tasks(), split));
  return Join(batches);
}

void Join(const Bags& more, Bags& all) {
  for (size_t e = 0; e + 1 < more.offsets.size(); ++e) {
    all.offsets.push_back(all.offsets.back() + more.offsets[e + 1] - more.offsets[e]);
  }
  all.keys.insert(all.keys.end(), more.keys.begin(), more.keys.end());
  all.weights.insert(all.weights.end(), more.weights.begin(), more.weights.end());
}

Batch Join(const std::vector<Batch>& batches) {
  Batch all;
  all.offsets.push_back(0);
  for (const Batch& batch : batches) {
    all.label_count = batch.label_count;
    all.features.resize(batch.features.size());
    for (size_t i = 0; i < batch.features.size(); ++i) Join(batch.features[i], all.features[i]);
    for (size_t e = 0; e < batch.examples(); ++e) {
      all.offsets.push_back(all.offsets.back() + batch.offsets[e + 1] - batch.offsets[e]);
    }
    if (!batch.values.empty()) all.values.resize(all.keys.size(), 1.0f);
    all.values.insert(all.values.end(), batch.values.begin(), batch.values.end());
    all.keys.insert(all.keys.end(), batch.keys.begin(), batch.keys.end());
    if (!all.values.empty()) all.values.resize(all.keys.size(), 1.0f);
    all.labels.insert(all.labels.end(), batch.labels.begin(), batch.labels.end());
    all.weights.insert(all.weights.end(), batch.weights.begin(), batch.weights.end());
    all.groups.insert(all.groups.end(), batch.groups.begin(), batch.groups.end());
    all.dense.insert(all.dense.end(), batch.dense.begin(), batch.dense.end());
    all.dense_width = batch.dense_width;
  }
  return all;
}

std::string RealData(const std::string& file) {
  const char* folder = std::getenv("CAPSTAN_DATA");
  std::filesystem::path path = folder != nullptr ? std::filesystem::path(folder)
                                                 : std::filesystem::path(SourceFolder()) / "data";
  path /= file;
  if (std::filesystem::exists(path)) return path.string();
  std::fprintf(stderr, "SKIPPED: no real data at %s (CAPSTAN_DATA names its folder)\n",
               path.c_str());
  return "";
}

}  // namespace capstan
