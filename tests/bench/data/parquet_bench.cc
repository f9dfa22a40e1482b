// The cells of a Parquet file, decoded: CAPSTAN_BENCH_PARQUET=FILE parquet_bench. Bytes are those
// of the decoded values: 4 or 8 of a number, 1 of a boolean, as many as there are of a text.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "capstan/base/check.h"
#include "capstan/data/parquet/column_reader.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/parquet/ranged_file.h"

namespace capstan::parquet {
namespace {

uint64_t BytesOf(const Column& column, const Cells& cells) {
  const uint64_t width = column.physical == Physical::kBoolean ? 1 : ValueBytes(column);
  const bool in_dictionary = cells.dictionary != nullptr;
  const uint64_t values = in_dictionary ? cells.places.size() : cells.values.size();
  if (width > 0) return values * width;
  uint64_t bytes = 0;
  for (const std::string_view text : cells.values.texts) bytes += text.size();
  for (const uint32_t place : cells.places) bytes += cells.dictionary->texts[place].size();
  return bytes;
}

uint64_t Decode(const Source& source, const ParquetFile& file, const Column& column,
                const RowGroup& group) {
  RangedFile ranged(source, file.info);
  ColumnReader reader(column, group.chunks[column.leaf], ranged);
  uint64_t bytes = 0;
  for (uint64_t row = 0; row < group.rows;) {
    const absl::StatusOr<const Cells*> cells = reader.Next(group.rows - row);
    CAPSTAN_CHECK(cells.ok());
    bytes += BytesOf(column, **cells);
    row += (*cells)->rows();
  }
  return bytes;
}

void BM_DecodeParquet(benchmark::State& state) {
  const char* const path = std::getenv("CAPSTAN_BENCH_PARQUET");
  if (path == nullptr) {
    state.SkipWithError("CAPSTAN_BENCH_PARQUET must name a file");
    return;
  }
  const std::unique_ptr<const Source> files = NewLocalFiles();
  const absl::StatusOr<ParquetFile> file = OpenParquetFile(*files, path);
  CAPSTAN_CHECK(file.ok());
  uint64_t bytes = 0;
  for (auto _ : state) {
    for (const RowGroup& group : file->metadata.row_groups) {
      for (const Column& column : file->metadata.columns) {
        if (column.unreadable.empty()) bytes += Decode(*files, *file, column, group);
      }
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(file->metadata.rows));
}
BENCHMARK(BM_DecodeParquet)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

}  // namespace
}  // namespace capstan::parquet

BENCHMARK_MAIN();
