#include "capstan/data/tasks/task_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

v1::Task PartOf(const std::string& file, uint64_t begin, uint64_t end, uint64_t records) {
  v1::Task range;
  range.set_file(file);
  range.set_begin(begin);
  range.set_end(end);
  range.set_expected_records(records);
  return range;
}

v1::Task Records(const std::string& file, uint64_t begin, uint64_t end) {
  v1::Task range = PartOf(file, begin, end, end - begin);
  range.set_by_records(true);
  return range;
}

// `count` ranges of a plain file, of `bytes` bytes each; a record has 10.
std::vector<v1::Task> Ranges(uint64_t count, uint64_t bytes) {
  std::vector<v1::Task> ranges;
  for (uint64_t i = 0; i < count; ++i) {
    ranges.push_back(PartOf("a.csv", i * bytes, (i + 1) * bytes, bytes / 10));
  }
  return ranges;
}

v1::DataSpec Mixed(uint32_t pieces) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_shuffle(true);
  data.set_pieces(pieces);
  return data;
}

// Every byte or record of an epoch, by file: how often.
std::map<std::string, std::map<uint64_t, int>> Coverage(const TaskMix& mix, uint32_t epoch) {
  std::map<std::string, std::map<uint64_t, int>> coverage;
  for (uint32_t i = 0; i < mix.size(); ++i) {
    for (const v1::Task& range : RangesOf(mix.TaskAt(epoch, i))) {
      for (uint64_t at = range.begin(); at < range.end(); ++at) ++coverage[range.file()][at];
    }
  }
  return coverage;
}

std::string Text(const v1::Task& task) { return task.ShortDebugString(); }

TEST(TaskMixTest, WithoutShufflingEveryRangeIsATaskAsBefore) {
  v1::DataSpec data = Mixed(16);
  data.set_shuffle(false);
  const std::vector<v1::Task> ranges = Ranges(3, 100);
  for (const TaskMix& mix :
       {TaskMix(ranges, data, 1), TaskMix(ranges, Mixed(1), 1), TaskMix(ranges, Mixed(0), 1)}) {
    ASSERT_EQ(mix.size(), 3u);
    v1::Task last = ranges[2];
    last.set_index(2);
    EXPECT_EQ(Text(mix.TaskAt(7, 2)), Text(last));
    EXPECT_EQ(mix.ExpectedRecords(7, 2), 10u);
  }
}

TEST(TaskMixTest, EveryTaskHasAPieceOfEachPartOfTheData) {
  const TaskMix mix(Ranges(8, 160), Mixed(16), /*seed=*/1);
  ASSERT_EQ(mix.size(), 8u);
  for (uint32_t i = 0; i < 8; ++i) {
    const v1::Task task = mix.TaskAt(0, i);
    ASSERT_EQ(task.pieces_size(), 16);
    EXPECT_EQ(task.index(), i);
    EXPECT_EQ(task.expected_records(), 16u);
    for (uint64_t part = 0; part < 16; ++part) {
      const v1::TaskPiece& piece = task.pieces(static_cast<int>(part));
      EXPECT_EQ(piece.end() - piece.begin(), 10u);
      EXPECT_EQ(piece.begin() / 80, part) << Text(task);
    }
  }
}

TEST(TaskMixTest, ATaskOfCountedRecordsIsExpectedToHaveThoseThatItHas) {
  for (uint64_t records = 300; records < 400; ++records) {
    std::vector<v1::Task> ranges;
    for (uint64_t i = 0; i < 8; ++i)
      ranges.push_back(Records("a.parquet", i * records, (i + 1) * records));
    const TaskMix mix(ranges, Mixed(16), /*seed=*/records);
    ASSERT_EQ(mix.size(), 8u);
    for (uint32_t i = 0; i < mix.size(); ++i) {
      uint64_t has = 0;
      for (const v1::Task& range : RangesOf(mix.TaskAt(0, i))) has += range.end() - range.begin();
      EXPECT_EQ(mix.ExpectedRecords(0, i), has) << "of " << records;
    }
  }
}

TEST(TaskMixTest, HoldsEveryByteOnceAnEpochHoweverTheDataAreCut) {
  for (uint32_t pieces : {2u, 3u, 16u, 100u}) {
    for (uint64_t count = 1; count < 20; ++count) {
      std::vector<v1::Task> ranges = Ranges(count, 37 + count);
      ranges.push_back(PartOf("tiny.csv", 0, 3, 1));
      ranges.push_back(Records("b.csv.gz", 0, 11));
      ranges.push_back(Records("b.csv.gz", 11, 50 + count));
      const TaskMix mix(ranges, Mixed(pieces), /*seed=*/count);
      uint64_t expected = 0;
      for (uint32_t i = 0; i < mix.size(); ++i) {
        expected += mix.ExpectedRecords(3, i);
        EXPECT_EQ(mix.ExpectedRecords(3, i), mix.TaskAt(3, i).expected_records());
      }
      EXPECT_EQ(expected, TaskRanges(ranges).expected_records());
      auto coverage = Coverage(mix, 3);
      EXPECT_EQ(coverage["a.csv"].size(), count * (37 + count));
      EXPECT_EQ(coverage["tiny.csv"].size(), 3u);
      EXPECT_EQ(coverage["b.csv.gz"].size(), 50 + count);
      for (const auto& [file, times] : coverage) {
        for (const auto& [at, often] : times) ASSERT_EQ(often, 1) << file << " at " << at;
      }
    }
  }
}

TEST(TaskMixTest, IsReassignedInEveryEpochAndIsAFunctionOfTheSeedAlone) {
  const TaskMix mix(Ranges(8, 1600), Mixed(16), /*seed=*/1);
  const TaskMix same(Ranges(8, 1600), Mixed(16), /*seed=*/1);
  const TaskMix other(Ranges(8, 1600), Mixed(16), /*seed=*/2);
  std::set<std::string> seen;
  for (uint32_t epoch = 0; epoch < 20; ++epoch) {
    for (uint32_t i = 0; i < 8; ++i) {
      v1::Task task = mix.TaskAt(epoch, i);
      EXPECT_EQ(Text(task), Text(same.TaskAt(epoch, i)));
      EXPECT_NE(Text(task), Text(other.TaskAt(epoch, i)));
      task.clear_index();
      EXPECT_TRUE(seen.insert(Text(task)).second) << "epoch " << epoch << ", task " << i;
    }
  }
}

TEST(TaskMixTest, SmallFilesAreAPieceEachAndManyMakeATask) {
  std::vector<v1::Task> ranges;
  for (int i = 0; i < 1600; ++i) {
    ranges.push_back(PartOf("part-" + std::to_string(i), 0, 8 << 10, 100));
  }
  const TaskMix mix(ranges, Mixed(16), /*seed=*/1);
  EXPECT_EQ(mix.size(), 100u);
  for (const v1::Task& file : RangesOf(mix.TaskAt(0, 0))) EXPECT_EQ(file.end(), 8u << 10);
}

TEST(TaskMixTest, ACompressedFileOfManyTasksStaysWholeSinceEachWouldReadItFromItsFront) {
  v1::DataSpec data = Mixed(16);
  data.set_task_records(100);
  std::vector<v1::Task> ranges;
  for (uint64_t i = 0; i < 16; ++i) ranges.push_back(Records("a.csv.gz", i * 100, i * 100 + 100));
  EXPECT_EQ(TaskMix(ranges, data, 1).TaskAt(0, 15).pieces_size(), 16) << "16 passes are allowed";
  ranges.push_back(Records("a.csv.gz", 1600, 1700));
  ranges.push_back(Records("small.csv.gz", 0, 100));
  const TaskMix mix(ranges, data, 1);
  EXPECT_EQ(mix.size(), 18u);
  EXPECT_EQ(mix.TaskAt(0, 0).pieces_size(), 16) << "the small file is read 16 times at the most";
  EXPECT_EQ(mix.TaskAt(0, 0).pieces(0).file(), "small.csv.gz");
  for (uint32_t i = 1; i < 18; ++i) EXPECT_EQ(mix.TaskAt(0, i).file(), "a.csv.gz");
}

TEST(TaskMixTest, RangesOfUnknownLengthStayWhole) {
  std::vector<v1::Task> ranges = Ranges(8, 160);
  ranges.push_back(PartOf("a.csv", 1280, kToTheEnd, 5));
  ranges.push_back(PartOf("b.csv", 0, 100, 0));
  const TaskMix mix(ranges, Mixed(16), 1);
  ASSERT_EQ(mix.size(), 10u);
  EXPECT_FALSE(mix.WholeRange(7));
  EXPECT_EQ(mix.TaskAt(2, 8).end(), kToTheEnd);
  EXPECT_EQ(mix.TaskAt(2, 8).index(), 8u);
  EXPECT_EQ(mix.TaskAt(2, 9).file(), "b.csv");
}

TEST(TaskMixTest, ItsFingerprintTellsHowTheDataAreMixed) {
  const std::vector<v1::Task> ranges = Ranges(8, 160);
  const uint64_t whole = TaskMix(ranges, Mixed(0), 1).fingerprint();
  EXPECT_EQ(whole, TaskMix(ranges, Mixed(1), 1).fingerprint());
  EXPECT_NE(whole, TaskMix(ranges, Mixed(16), 1).fingerprint());
  EXPECT_NE(TaskMix(ranges, Mixed(8), 1).fingerprint(),
            TaskMix(ranges, Mixed(16), 1).fingerprint());
}

// Sorted: the first 300 rows are 0, the others 1.
TEST(TaskMixTest, ATaskOfSortedDataHasTheLabelsOfAllTheDataAndEachRecordIsReadOnce) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += std::to_string(i < 300 ? 0 : 1) + "," + std::to_string(i) + "\n";
  }
  for (const std::string& path :
       {folder.Write("a.csv", text), folder.Write("a.csv.gz", Gzip(text))}) {
    v1::DataSpec data = CsvSpec(path, {1}, {});
    data.set_shuffle(true);
    data.set_pieces(16);
    const ReaderOptions options = *Derived(data);
    const auto ranges = PlanTasks(*NewLocalFiles(), options.data, {.batch_size = 4});
    ASSERT_TRUE(ranges.ok());
    const TaskMix mix(*ranges, options.data, /*seed=*/1);
    ASSERT_GE(mix.size(), 8u);
    std::vector<float> rows;
    for (uint32_t i = 0; i < mix.size(); ++i) {
      const auto batches = ReadTasks(options, {mix.TaskAt(1, i)});
      ASSERT_TRUE(batches.ok()) << batches.status();
      const Batch all = Join(*batches);
      const auto ones = std::count(all.labels.begin(), all.labels.end(), 1.0F);
      EXPECT_NEAR(static_cast<double>(ones) / static_cast<double>(all.examples()), 0.25, 0.08);
      EXPECT_FALSE(std::is_sorted(all.dense.begin(), all.dense.end())) << "shuffled together";
      rows.insert(rows.end(), all.dense.begin(), all.dense.end());
    }
    std::sort(rows.begin(), rows.end());
    ASSERT_EQ(rows.size(), 400u);
    for (int i = 0; i < 400; ++i) ASSERT_EQ(rows[static_cast<size_t>(i)], static_cast<float>(i));
  }
}

}  // namespace
}  // namespace capstan
