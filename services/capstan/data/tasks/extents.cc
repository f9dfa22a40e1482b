#include "capstan/data/tasks/extents.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/class_folders.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/idx.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/tasks/count_records.h"
#include "capstan/data/tasks/in_parallel.h"

namespace capstan {
namespace {

// Reports how many files were examined to options.progress, but not for each file.
class Teller {
 public:
  Teller(const PlanOptions& options, size_t files) : tell_(options.progress), files_(files) {}
  void OneMore() {
    const size_t done = ++done_;
    if (tell_ && (done % kTold == 0 || done == files_)) tell_(done, files_);
  }

 private:
  static constexpr size_t kTold = 256;

  const std::function<void(size_t, size_t)>& tell_;
  const size_t files_;
  std::atomic<size_t> done_ = 0;
};

// Files are counted in this many threads, as each thread decompresses one.
constexpr size_t kCountingThreads = 8;
// The most decompressed bytes that are sampled of a file and of all files, and the fewest of a
// file.
constexpr uint64_t kSampledText = uint64_t{4} << 20;
constexpr uint64_t kSampledInAll = uint64_t{1} << 30;
constexpr uint64_t kFewestSampled = uint64_t{64} << 10;

// A text file whose extent is being determined.
struct TextFile {
  const FileInfo* file = nullptr;
  Compression compression = Compression::kNone;
  bool counted = false;
  uint64_t records = 0;  // If the records are counted; otherwise see below.
  RecordSample sample = {};
  bool sampled = false;
};

// If there are many files, the compression is derived from the file's name; whether the content
// agrees is checked when the file is read.
absl::Status Detect(const Source& source, bool believe_names, TextFile& text) {
  const std::string& path = text.file->path;
  if (believe_names && absl::EndsWith(path, ".gz")) {
    text.compression = Compression::kGzip;
  } else if (believe_names && absl::EndsWith(path, ".zst")) {
    text.compression = Compression::kZstd;
  } else {
    CAPSTAN_ASSIGN_OR_RETURN(text.compression, DetectCompression(source, path));
  }
  return absl::OkStatus();
}

// Chooses the files whose records are counted, in the order of the files, until the limits on bytes
// and files are reached.
std::vector<TextFile*> ToCount(std::vector<TextFile>& texts, uint64_t countable_bytes) {
  std::vector<TextFile*> counted;
  for (TextFile& text : texts) {
    const uint64_t bytes = text.file->bytes;
    if (text.compression == Compression::kNone || bytes > countable_bytes) continue;
    if (counted.size() == kMostSampled) break;
    countable_bytes -= bytes;
    text.counted = true;
    counted.push_back(&text);
  }
  return counted;
}

// Chooses the files that are sampled, plain or compressed ones according to `compressed`, to
// estimate the size of a record in all files that are not counted.
std::vector<TextFile*> ToSample(std::vector<TextFile>& texts, bool compressed) {
  std::vector<TextFile*> all;
  for (TextFile& text : texts) {
    const bool is_one = (text.compression != Compression::kNone) == compressed;
    if (is_one && !text.counted && text.file->bytes > 0) all.push_back(&text);
  }
  if (all.size() <= kMostSampled) return all;
  std::vector<TextFile*> sample;
  for (size_t i = 0; i < kMostSampled; ++i) {
    sample.push_back(all[i * (all.size() - 1) / (kMostSampled - 1)]);
  }
  return sample;
}

// Returns the mean stored size of a record in the sampled files; 0 if these have no records.
double RecordBytes(const std::vector<TextFile*>& sample) {
  double bytes = 0;
  uint64_t records = 0;
  for (const TextFile* text : sample) {
    bytes += text->sample.bytes;
    records += text->sample.records;
  }
  return records == 0 ? 0 : bytes / static_cast<double>(records);
}

Extent ExtentOf(const TextFile& text, double others_record_bytes) {
  const FileInfo& file = *text.file;
  if (text.counted) return {.file = file.path, .by_records = true, .length = text.records};
  double bytes = others_record_bytes;
  if (text.sampled) {
    const uint64_t records = text.sample.records;
    bytes = records == 0 ? 0 : text.sample.bytes / static_cast<double>(records);
  }
  if (text.compression == Compression::kNone) {
    return {.file = file.path, .length = file.bytes, .record_bytes = bytes};
  }
  const double records = bytes > 0 ? std::ceil(static_cast<double>(file.bytes) / bytes) : 0;
  return {.file = file.path,
          .by_records = true,
          .estimated = true,
          .length = static_cast<uint64_t>(records)};
}

absl::StatusOr<std::vector<Extent>> TextExtents(const Source& source, const v1::DataSpec& data,
                                                const std::vector<FileInfo>& files,
                                                const PlanOptions& options) {
  std::vector<TextFile> texts(files.size());
  Teller teller(options, files.size());
  CAPSTAN_RETURN_IF_ERROR(ForEachInParallel(files.size(), [&](size_t i) {
    texts[i].file = &files[i];
    teller.OneMore();
    return Detect(source, /*believe_names=*/files.size() > kMostSampled, texts[i]);
  }));
  const std::vector<TextFile*> counted = ToCount(texts, options.counted_bytes);
  CAPSTAN_RETURN_IF_ERROR(ForEachInParallel(
      counted.size(),
      [&](size_t i) -> absl::Status {
        TextFile& text = *counted[i];
        CAPSTAN_ASSIGN_OR_RETURN(text.records,
                                 CountRecords(source, text.file->path, text.compression, data));
        return absl::OkStatus();
      },
      kCountingThreads));
  double record_bytes[2] = {};  // Plain, and compressed.
  for (const bool compressed : {false, true}) {
    const std::vector<TextFile*> sample = ToSample(texts, compressed);
    const uint64_t text_bytes = std::clamp(kSampledInAll / std::max<uint64_t>(1, sample.size()),
                                           kFewestSampled, kSampledText);
    CAPSTAN_RETURN_IF_ERROR(ForEachInParallel(sample.size(), [&](size_t i) -> absl::Status {
      TextFile& text = *sample[i];
      CAPSTAN_ASSIGN_OR_RETURN(
          text.sample, SampleRecords(source, text.file->path, text.compression, data, text_bytes));
      text.sampled = true;
      return absl::OkStatus();
    }));
    record_bytes[compressed ? 1 : 0] = RecordBytes(sample);
  }
  std::vector<Extent> extents;
  for (const TextFile& text : texts) {
    extents.push_back(ExtentOf(text, record_bytes[text.compression == Compression::kNone ? 0 : 1]));
  }
  return extents;
}

absl::StatusOr<std::vector<Extent>> IdxExtents(const Source& source,
                                               const std::vector<FileInfo>& files,
                                               const PlanOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<IdxPair> pairs, PairIdxFiles(source, files, options.labels));
  std::vector<Extent> extents(pairs.size());
  Teller teller(options, pairs.size());
  CAPSTAN_RETURN_IF_ERROR(ForEachInParallel(pairs.size(), [&](size_t i) -> absl::Status {
    CAPSTAN_ASSIGN_OR_RETURN(IdxFile images, IdxFile::Open(source, pairs[i].images.path));
    extents[i] = {.file = pairs[i].images.path,
                  .labels_file = pairs[i].labels,
                  .by_records = true,
                  .length = images.items()};
    teller.OneMore();
    return absl::OkStatus();
  }));
  return extents;
}

absl::StatusOr<std::vector<Extent>> FolderExtents(const Source& source, const v1::DataSpec& data,
                                                  Split split) {
  std::vector<Extent> extents;
  for (const std::string& root : split == Split::kTrain ? data.train() : data.eval()) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ClassFolder> classes, ListClasses(source, root));
    for (const ClassFolder& of : classes) {
      extents.push_back(
          {.file = of.path, .by_records = true, .length = of.images, .file_records = of.images});
    }
  }
  return extents;
}

absl::StatusOr<std::vector<Extent>> ParquetExtents(const Source& source,
                                                   const std::vector<FileInfo>& files,
                                                   const PlanOptions& options) {
  std::vector<Extent> extents(files.size());
  Teller teller(options, files.size());
  CAPSTAN_RETURN_IF_ERROR(ForEachInParallel(files.size(), [&](size_t i) -> absl::Status {
    CAPSTAN_ASSIGN_OR_RETURN(const parquet::ParquetFile parquet,
                             parquet::OpenParquetFile(source, files[i].path));
    extents[i] = {.file = files[i].path, .by_records = true, .length = parquet.metadata.rows};
    for (const parquet::RowGroup& group : parquet.metadata.row_groups) {
      extents[i].group_ends.push_back(group.first_row + group.rows);
    }
    teller.OneMore();
    return absl::OkStatus();
  }));
  return extents;
}

absl::StatusOr<std::vector<Extent>> FileExtents(const Source& source, const v1::DataSpec& data,
                                                const std::vector<FileInfo>& files,
                                                const PlanOptions& options) {
  if (IsTextFormat(data.format()) || IsSampleFormat(data.format())) {
    return TextExtents(source, data, files, options);
  }
  if (data.format() == v1::DATA_FORMAT_IDX) return IdxExtents(source, files, options);
  if (data.format() == v1::DATA_FORMAT_PARQUET) return ParquetExtents(source, files, options);
  return absl::InvalidArgumentError("data: no format");
}

Extent SyntheticExtent(const v1::SyntheticSpec& spec, Split split) {
  const bool eval = split == Split::kEval;
  return {.file = eval ? kSyntheticEval : kSyntheticTrain,
          .by_records = true,
          .length = eval ? spec.eval_rows() : spec.train_rows()};
}

}  // namespace

absl::StatusOr<std::vector<FileInfo>> ListFiles(const Source& source, const v1::DataSpec& data,
                                                Split split) {
  const auto& patterns = split == Split::kTrain ? data.train() : data.eval();
  std::vector<std::vector<FileInfo>> matches(static_cast<size_t>(patterns.size()));
  CAPSTAN_RETURN_IF_ERROR(ForEachInParallel(matches.size(), [&](size_t i) -> absl::Status {
    CAPSTAN_ASSIGN_OR_RETURN(matches[i], source.List(patterns[static_cast<int>(i)]));
    return absl::OkStatus();
  }));
  std::vector<FileInfo> files;
  for (std::vector<FileInfo>& some : matches) {
    std::move(some.begin(), some.end(), std::back_inserter(files));
  }
  return files;
}

uint64_t ListingOf(const std::vector<FileInfo>& files) {
  uint64_t print = Mix64(files.size());
  for (const FileInfo& file : files) print = Mix64(Mix64(print ^ HashText(file.path)) ^ file.bytes);
  return std::max<uint64_t>(1, print);
}

absl::StatusOr<Extents> FindExtents(const Source& source, const v1::DataSpec& data,
                                    const PlanOptions& options) {
  if (data.format() == v1::DATA_FORMAT_SYNTHETIC) {
    return Extents{.all = {SyntheticExtent(data.synthetic(), options.split)}};
  }
  Extents extents;
  if (data.format() == v1::DATA_FORMAT_FOLDER) {
    CAPSTAN_ASSIGN_OR_RETURN(extents.all, FolderExtents(source, data, options.split));
    return extents;
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                           ListFiles(source, data, options.split));
  extents.listing = ListingOf(files);
  CAPSTAN_ASSIGN_OR_RETURN(extents.all, FileExtents(source, data, files, options));
  return extents;
}

}  // namespace capstan
