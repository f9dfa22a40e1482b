// Objects over S3 from a real server on loopback; see tests/lib/s3_server.h for which.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/data/formats/object_files.h"
#include "capstan/objectstore/object_store.h"
#include "tests/lib/s3_server.h"

namespace capstan {
namespace {

constexpr size_t kObjectBytes = size_t{256} << 20;
constexpr size_t kTaskBytes = size_t{8} << 20;

// Lines of 100 digits and letters.
std::string Text() {
  std::string text(kObjectBytes, '\n');
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % 100 != 99) text[i] = static_cast<char>('0' + (i * 31 + i / 100) % 10);
  }
  return text;
}

uint64_t ReadRange(const Source& files, uint64_t begin, uint64_t end) {
  const std::unique_ptr<ByteStream> stream = *files.Open("s3://capstan/text", begin, end);
  std::vector<char> buffer(size_t{256} << 10);
  uint64_t total = 0;
  while (begin + total < end) {
    const absl::StatusOr<size_t> n = stream->Read(buffer);
    CAPSTAN_CHECK(n.ok());
    if (*n == 0) break;
    total += *n;
  }
  return total;
}

std::unique_ptr<const Source> Files(const S3Server& server) {
  return NewObjectFiles(
      [&](const std::string& uri) { return OpenObjectStore(uri, server.options()); });
}

void BM_ReadWhole(benchmark::State& state, const S3Server& server) {
  const auto files = Files(server);
  for (auto _ : state) CAPSTAN_CHECK(ReadRange(*files, 0, kObjectBytes) == kObjectBytes);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kObjectBytes));
}

// As a worker reads: one range after the other, each opened anew.
void BM_ReadTasks(benchmark::State& state, const S3Server& server) {
  const auto files = Files(server);
  for (auto _ : state) {
    for (uint64_t begin = 0; begin < kObjectBytes; begin += kTaskBytes) {
      CAPSTAN_CHECK(ReadRange(*files, begin, begin + kTaskBytes) >= kTaskBytes);
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kObjectBytes));
}

void BM_Write(benchmark::State& state, const S3Server& server) {
  const auto store = *OpenObjectStore("s3://capstan", server.options());
  const std::string text = Text();
  for (auto _ : state) {
    auto writer = *store->Create("written");
    CAPSTAN_CHECK(writer->Append(text).ok());
    CAPSTAN_CHECK(writer->Commit().ok());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kObjectBytes));
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const absl::StatusOr<std::unique_ptr<S3Server>> server = S3Server::Start();
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  CAPSTAN_CHECK((*OpenObjectStore("s3://capstan", (*server)->options()))->Put("text", Text()).ok());
  const S3Server& there = **server;
  const struct {
    const char* name;
    void (*run)(benchmark::State&, const S3Server&);
  } kAll[] = {
      {"S3/ReadWhole", BM_ReadWhole}, {"S3/ReadTasksOf8MiB", BM_ReadTasks}, {"S3/Write", BM_Write}};
  for (const auto& each : kAll) {
    benchmark::RegisterBenchmark(each.name,
                                 [&](benchmark::State& state) { each.run(state, there); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
