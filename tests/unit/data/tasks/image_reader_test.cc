// Tasks of images in tar, TFRecord and folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/data/tasks/check_first_records.h"
#include "capstan/data/tasks/label_order.h"
#include "capstan/data/tasks/task_mix.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/sample_files.h"
#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kSide = 12;

std::string Png(uint32_t i) { return EncodePng(Smooth({kSide, kSide}, 1, i)); }
// One byte of its pixels is another.
std::string DamagedPng(uint32_t i) {
  std::string damaged = Png(i);
  damaged[damaged.find("IDAT") + 10] ^= '\x55';
  return damaged;
}

uint32_t ClassOfImage(uint32_t i) { return i / 10; }

class ImageReaderTest : public testing::Test {
 protected:
  v1::DataSpec Spec(v1::DataFormat format, const std::string& train) const {
    v1::DataSpec data;
    data.set_format(format);
    data.add_train(train);
    data.mutable_image()->set_height(kSide);
    data.mutable_image()->set_width(kSide);
    data.mutable_image()->set_channels(1);
    return data;
  }

  // As Derived, with softmax over three classes.
  static absl::StatusOr<ReaderOptions> Options(const v1::DataSpec& data) {
    absl::StatusOr<ReaderOptions> options = Derived(data);
    if (options.ok()) options->loss = v1::LOSS_SOFTMAX;
    if (options.ok()) options->classes = 3;
    return options;
  }

  // Thirty images in the order of their classes.
  std::string Tar() const {
    std::string file;
    for (uint32_t i = 0; i < 30; ++i) {
      file += TarSample(absl::StrFormat("%04d", i), Png(i), absl::StrCat(ClassOfImage(i)));
    }
    return file + TarEnd();
  }
  std::string TfRecords() const {
    std::string file;
    for (uint32_t i = 0; i < 30; ++i) file += TfRecord(TfExample(Png(i), ClassOfImage(i)));
    return file;
  }
  std::string Folder() const {
    for (uint32_t i = 0; i < 30; ++i) {
      const std::string name = absl::StrFormat("root/class%d", ClassOfImage(i));
      std::filesystem::create_directories(folder_.Path(name));
      folder_.Write(absl::StrFormat("%s/%04d.png", name, i), Png(i));
    }
    return folder_.Path("root");
  }
  // All that are read, in any order.
  static std::vector<std::pair<float, std::vector<float>>> Sorted(const Batch& batch) {
    std::vector<std::pair<float, std::vector<float>>> records;
    for (size_t e = 0; e < batch.examples(); ++e) {
      const auto dense = batch.DenseOf(e);
      records.emplace_back(batch.labels[e], std::vector<float>(dense.begin(), dense.end()));
    }
    std::sort(records.begin(), records.end());
    return records;
  }
  Batch Expected() const {
    Batch all;
    all.dense_width = kSide * kSide;
    all.offsets.push_back(0);
    for (uint32_t i = 0; i < 30; ++i) {
      all.labels.push_back(static_cast<float>(ClassOfImage(i)));
      all.offsets.push_back(0);
      for (const uint8_t pixel : Smooth({kSide, kSide}, 1, i).bytes) {
        all.dense.push_back(pixel * (1.0f / 255));
      }
    }
    return all;
  }

  TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(ImageReaderTest, EveryFormatGivesTheSameRecordsPlainAndCompressedInTasksOfAnySize) {
  const std::string tar = Tar();
  const std::string records = TfRecords();
  std::vector<v1::DataSpec> specs = {
      Spec(v1::DATA_FORMAT_TAR, folder_.Write("a.tar", tar)),
      Spec(v1::DATA_FORMAT_TAR, folder_.Write("a.tar.gz", Gzip(tar))),
      Spec(v1::DATA_FORMAT_TAR, folder_.Write("a.tar.zst", Zstd(tar))),
      Spec(v1::DATA_FORMAT_TFRECORD, folder_.Write("a.tfrecord", records)),
      Spec(v1::DATA_FORMAT_TFRECORD, folder_.Write("a.tfrecord.gz", Gzip(records))),
      Spec(v1::DATA_FORMAT_FOLDER, Folder()),
  };
  for (v1::DataSpec& data : specs) {
    for (const uint32_t size : {0u, 3u, 1000u}) {
      data.set_task_records(size);
      data.set_task_bytes(uint64_t{1024} * size);
      const ReaderOptions options = *Options(data);
      const absl::StatusOr<Batch> all = ReadEverything(options);
      ASSERT_TRUE(all.ok()) << all.status();
      EXPECT_EQ(*all, Expected()) << data.train(0) << " " << size;
    }
  }
}

TEST_F(ImageReaderTest, MixedTasksHoldEachRecordOnceInEveryEpoch) {
  for (v1::DataSpec data : {Spec(v1::DATA_FORMAT_TAR, folder_.Write("a.tar", Tar())),
                            Spec(v1::DATA_FORMAT_TFRECORD, folder_.Write("a", TfRecords())),
                            Spec(v1::DATA_FORMAT_FOLDER, Folder())}) {
    data.set_shuffle(true);
    data.set_pieces(4);
    const ReaderOptions options = *Options(data);
    const auto ranges = PlanTasks(*files_, options.data, {.batch_size = 2});
    ASSERT_TRUE(ranges.ok());
    const TaskMix mix(*ranges, options.data, /*seed=*/3);
    EXPECT_EQ(mix.mixed_records(), ranges->expected_records()) << "none stays a range";
    for (const uint32_t epoch : {0u, 1u}) {
      std::vector<v1::Task> tasks;
      for (uint32_t i = 0; i < mix.size(); ++i) tasks.push_back(mix.TaskAt(epoch, i));
      const auto batches = ReadTasks(options, tasks);
      ASSERT_TRUE(batches.ok()) << batches.status();
      EXPECT_EQ(Sorted(Join(*batches)), Sorted(Expected()));
    }
  }
}

TEST_F(ImageReaderTest, TheClassesOfAFolderAreThoseOfTheTrainingDataAlsoWhereOneIsMissing) {
  v1::DataSpec data = Spec(v1::DATA_FORMAT_FOLDER, Folder());
  std::filesystem::create_directories(folder_.Path("eval/class2"));
  folder_.Write("eval/class2/_x.PNG", Png(1));
  folder_.Write("eval/class2/notes.txt", "no image");
  folder_.Write("eval/class2/._x.PNG", "what macOS keeps beside a file");
  data.add_eval(folder_.Path("eval/"));
  const ReaderOptions options = *Options(data);
  EXPECT_THAT(options.data.label_classes(), ElementsAre("class0", "class1", "class2"));
  EXPECT_THAT(ReadEverything(options, Split::kEval)->labels, ElementsAre(2));
  folder_.Write("eval/class2/_x.PNG", "");
  EXPECT_EQ(ReadEverything(options, Split::kEval).status(),
            absl::InvalidArgumentError(folder_.Path("eval/class2/_x.PNG") + ": is empty"));
}

TEST_F(ImageReaderTest, AFolderThatHasLostImagesIsRefused) {
  const ReaderOptions options = *Options(Spec(v1::DATA_FORMAT_FOLDER, Folder()));
  const auto tasks = PlanTasks(*files_, options.data, {.batch_size = 4})->Tasks();
  std::filesystem::remove(folder_.Path("root/class1/0013.png"));
  EXPECT_EQ(ReadTasks(options, tasks).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ImageReaderTest, AFolderToWhichAnImageHasBeenAddedIsRefusedAlsoInMixedTasks) {
  v1::DataSpec data = Spec(v1::DATA_FORMAT_FOLDER, Folder());
  data.set_task_records(10);
  const ReaderOptions options = *Options(data);
  const std::vector<v1::Task> plain = PlanTasks(*files_, options.data, {.batch_size = 4})->Tasks();
  data = options.data;
  data.set_shuffle(true);
  data.set_pieces(4);
  const TaskMix mix(*PlanTasks(*files_, data, {.batch_size = 4}), data, /*seed=*/3);
  folder_.Write("root/class1/0000.png", Png(0));
  ASSERT_EQ(plain.size(), 3u);
  EXPECT_TRUE(ReadTasks(options, {plain[0]}).ok()) << "another class";
  for (const v1::Task& task : {plain[1], mix.TaskAt(/*epoch=*/0, 0)}) {
    const absl::Status refused = ReadTasks(options, {task}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(refused.message(), HasSubstr("class1: holds 11 images, and there were 10 when"));
  }
}

TEST_F(ImageReaderTest, ABadRecordIsNamedAndSkippedWithinTheLimit) {
  const std::string damaged = DamagedPng(1);
  const std::string path =
      folder_.Write("a.tar", TarSample("0", Png(0), "0") + TarSample("1", damaged, "0") +
                                 TarSample("2", Png(2), "cat") + TarSample("3", Png(3), "7") +
                                 TarMember("4.png", Png(4)) + TarMember("5.cls", "1") +
                                 TarSample("6", Png(6), "2") + TarEnd());
  v1::DataSpec data = Spec(v1::DATA_FORMAT_TAR, path);
  data.set_task_bytes(1 << 20);  // One task, as the limit is one of each.
  data.set_max_bad_records(5);
  EXPECT_THAT(ReadEverything(*Options(data))->labels, ElementsAre(0, 2));
  data.set_max_bad_records(4);
  const std::string refusal(ReadEverything(*Options(data)).status().message());
  EXPECT_THAT(refusal, HasSubstr(path + ": sample \"1\" at byte 2048: PNG: "));
  EXPECT_THAT(refusal, HasSubstr("sample \"2\" at byte 4096: label \"cat\" is not a number"));
  EXPECT_THAT(refusal,
              HasSubstr("sample \"3\" at byte 6144: label is 7, expected a class, 0 to 2"));
  EXPECT_THAT(refusal, HasSubstr("sample \"4\" at byte 8192: has no label"));
  EXPECT_THAT(refusal, HasSubstr("sample \"5\" at byte 9216: has no image"));
}

TEST_F(ImageReaderTest, WithoutALimitADamagedImageEndsItsBatchWithItsName) {
  const std::string damaged = DamagedPng(1);
  const std::string path =
      folder_.Write("a.tar", TarSample("0", Png(0), "0") + TarSample("1", damaged, "0") + TarEnd());
  const absl::Status status = ReadEverything(*Options(Spec(v1::DATA_FORMAT_TAR, path))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(path + ": sample \"1\" at byte 2048: PNG: "));
}

TEST_F(ImageReaderTest, TheFirstImagesAreDecodedBeforeAJobBegins) {
  const std::string path =
      folder_.Write("a.tar", TarSample("0", Png(0).substr(0, 60), "0") + TarEnd());
  v1::JobSpec job;
  *job.mutable_data() = Options(Spec(v1::DATA_FORMAT_TAR, path))->data;
  job.mutable_model()->set_loss(v1::LOSS_SOFTMAX);
  job.mutable_model()->set_outputs(3);
  EXPECT_THAT(std::string(CheckFirstRecords(*files_, job).message()),
              HasSubstr("sample \"0\" at byte 0: PNG: it ends early"));
  *job.mutable_data() = Options(Spec(v1::DATA_FORMAT_FOLDER, Folder()))->data;
  EXPECT_EQ(CheckFirstRecords(*files_, job), absl::OkStatus());
}

TEST_F(ImageReaderTest, WhatIsScoredNeedsNoLabel) {
  const std::string path = folder_.Write("a.tar", TarMember("4.png", Png(4)) + TarEnd());
  ReaderOptions options = *Options(Spec(v1::DATA_FORMAT_TAR, path));
  options.labels = Labels::kIgnored;
  EXPECT_EQ(ReadEverything(options)->examples(), 1u);
}

TEST_F(ImageReaderTest, CropsAndMirrorsAreDrawnByTheEpochAndNotByTheReader) {
  v1::DataSpec data = Spec(v1::DATA_FORMAT_TAR, folder_.Write("a.tar", Tar()));
  data.mutable_image()->set_random_crop(true);
  data.mutable_image()->set_random_flip(true);
  const ReaderOptions options = *Options(data);
  const v1::Task task = PlanTasks(*files_, options.data, {.batch_size = 4})->TaskAt(0);
  const auto read = [&](uint32_t epoch, bool evaluation) {
    TaskReader reader(options, *files_);
    Batch batch;
    EXPECT_EQ((*reader.Read({task, epoch, evaluation}))->ReadBatch(0, batch), absl::OkStatus());
    return batch;
  };
  EXPECT_EQ(read(1, false), read(1, false));
  EXPECT_NE(read(1, false).dense, read(2, false).dense);
  EXPECT_EQ(read(1, true), read(2, true));
  EXPECT_NE(read(1, false).dense, read(1, true).dense);
}

TEST_F(ImageReaderTest, SortedFoldersAreToldOf) {
  v1::DataSpec data = Spec(v1::DATA_FORMAT_FOLDER, "");
  for (uint32_t i = 0; i < 600; ++i) {
    const std::string name = absl::StrFormat("many/class%d", i / 200);
    std::filesystem::create_directories(folder_.Path(name));
    folder_.Write(absl::StrFormat("%s/%04d.png", name, i), Png(i));
  }
  data.set_train(0, folder_.Path("many"));
  data.set_pieces(1);
  const ReaderOptions options = *Options(data);
  const TaskMix mix(*PlanTasks(*files_, options.data, {.batch_size = 4}), options.data, 1);
  const auto orders = SampleLabelOrders(*files_, options, mix);
  ASSERT_TRUE(orders.ok()) << orders.status();
  EXPECT_THAT(LabelOrderWarning(options.data, *orders, mix),
              HasSubstr("lie in the order of their labels"));
}

TEST_F(ImageReaderTest, AFolderWhoseNameNoTaskCouldTellIsRefused) {
  std::filesystem::create_directories(folder_.Path("odd/caf\xE9"));
  folder_.Write("odd/caf\xE9/1.png", Png(1));
  const v1::DataSpec data = Spec(v1::DATA_FORMAT_FOLDER, folder_.Path("odd"));
  const auto refused = PlanTasks(*files_, data, {.batch_size = 4});
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("caf\\xe9/1.png: the name is not UTF-8"));
}

uint64_t ResidentBytes() {
  uint64_t pages = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST_F(ImageReaderTest, ATaskHoldsItsImagesAsTheyAreStored) {
  constexpr uint32_t kImages = 500;
  std::string file;
  const std::string small = Png(0);
  for (uint32_t i = 0; i < kImages; ++i) file += TarSample(absl::StrCat(i), small, "1");
  v1::DataSpec data = Spec(v1::DATA_FORMAT_TAR, folder_.Write("a.tar", file + TarEnd()));
  data.mutable_image()->set_height(512);
  data.mutable_image()->set_width(512);
  data.set_task_bytes(uint64_t{1} << 30);
  const ReaderOptions options = *Options(data);
  const auto tasks = *PlanTasks(*files_, options.data, {.batch_size = 4});
  ASSERT_EQ(tasks.size(), 1u);
  TaskReader reader(options, *files_);
  const uint64_t before = ResidentBytes();
  const auto task = *reader.Read({.task = tasks.TaskAt(0)});
  Batch batch;
  ASSERT_EQ(task->ReadBatch(3, batch), absl::OkStatus());
  EXPECT_EQ(task->examples(), kImages);
  EXPECT_EQ(batch.dense.size(), 4u * 512 * 512);
  // Decoded they were 500 MiB; those of a batch are 4.
  EXPECT_LT(ResidentBytes() - before, uint64_t{64} << 20);
}

}  // namespace
}  // namespace capstan
