#include "capstan/data/tasks/folder_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::ElementsAre;

class FolderReaderTest : public testing::Test {
 protected:
  FolderReaderTest() {
    std::filesystem::create_directories(folder_.Path("cat"));
    for (const char* name : {"cat/1.jpg", "cat/2.jpg", "cat/3.jpg"}) folder_.Write(name, name);
    options_.data.set_format(v1::DATA_FORMAT_FOLDER);
    options_.data.add_label_classes("cat");
    options_.loss = v1::LOSS_SOFTMAX;
  }

  v1::Task Range(uint64_t begin, uint64_t end, uint64_t planned) const {
    v1::Task range;
    range.set_file(folder_.Path("cat"));
    range.set_by_records(true);
    range.set_begin(begin);
    range.set_end(end);
    range.set_file_records(planned);
    return range;
  }
  absl::Status Read(const v1::Task& range) {
    ImageIntake intake(options_, bad_records_);
    FolderReader reader(*files_, intake);
    return reader.Read(range, records_, images_);
  }

  const TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  ReaderOptions options_;
  BadRecords bad_records_{10};
  Batch records_;
  TaskImages images_{v1::DataSpec(), ImageDraws()};
};

TEST_F(FolderReaderTest, ARangeIsTheImagesAtItsPlaces) {
  EXPECT_TRUE(Read(Range(1, 3, 3)).ok());
  EXPECT_THAT(records_.labels, ElementsAre(0, 0));
  EXPECT_EQ(images_.size(), 2u);
  EXPECT_TRUE(Read(Range(0, 0, 0)).ok());
  EXPECT_EQ(images_.size(), 2u);
}

TEST_F(FolderReaderTest, AFolderThatHasChangedIsRefused) {
  EXPECT_EQ(Read(Range(0, 1, 4)),
            absl::DataLossError(folder_.Path("cat") +
                                ": holds 3 images, and there were 4 when the job was planned; a "
                                "folder must stay as it is while a job trains on it"));
  EXPECT_EQ(Read(Range(0, 1, 2)).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Read(Range(2, 4, 0)).code(), absl::StatusCode::kDataLoss) << "nobody had counted";
  EXPECT_EQ(images_.size(), 0u);
}

TEST_F(FolderReaderTest, AnEmptyFileIsABadRecord) {
  folder_.Write("cat/2.jpg", "");
  EXPECT_TRUE(Read(Range(0, 3, 3)).ok());
  EXPECT_THAT(bad_records_.examples(), ElementsAre(folder_.Path("cat/2.jpg") + ": is empty"));
  EXPECT_EQ(images_.size(), 2u);
}

}  // namespace
}  // namespace capstan
