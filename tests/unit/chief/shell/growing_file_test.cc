// What a file that grows holds after restarts and while its disk is full.
#include "chief/shell/growing_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "tests/lib/faulty_object_store.h"
#include "tests/lib/full_disk.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

class GrowingFileTest : public testing::Test {
 protected:
  // Goes on with what there is, under a header.
  static std::string UnderHeader(const std::string& before) {
    return before.empty() ? "header\n" : before;
  }
  static std::string WithoutLast(const std::string& before) {
    return before.substr(0, before.size() - 1);
  }

  std::unique_ptr<GrowingFile> Open(bool anew = false, GoOnWith go_on = &UnderHeader) {
    absl::StatusOr<std::unique_ptr<GrowingFile>> file = OpenGrowingFile(path_, anew, go_on);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  std::string Held() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TestFolder folder_;
  const std::filesystem::path path_ = folder_.Path("curve.csv");
};

TEST_F(GrowingFileTest, WhatIsAppendedIsInTheFileAtOnce) {
  const std::unique_ptr<GrowingFile> file = Open();
  EXPECT_EQ(Held(), "header\n");
  file->Append("1\n");
  EXPECT_EQ(Held(), "header\n1\n");
}

TEST_F(GrowingFileTest, ARestartGoesOnOrBeginsAnew) {
  Open()->Append("1\n");
  Open()->Append("2\n");
  EXPECT_EQ(Held(), "header\n1\n2\n");
  Open(/*anew=*/true)->Append("3\n");
  EXPECT_EQ(Held(), "header\n3\n");
}

TEST_F(GrowingFileTest, WhatWasCutShortIsReplacedBeforeMoreIsAppended) {
  folder_.Write("curve.csv", "header\n1\n2");
  Open(/*anew=*/false, &WithoutLast)->Append("3\n");
  EXPECT_EQ(Held(), "header\n1\n3\n");
}

TEST_F(GrowingFileTest, WhatAFullDiskDoesNotTakeFollowsInItsPlaceWhenThereIsRoom) {
  const std::unique_ptr<GrowingFile> file = Open();
  {
    const FullDisk full(/*bytes=*/10);
    file->Append("12345\n");
    file->Append("6\n");
  }
  EXPECT_EQ(Held(), "header\n123");
  file->Append("7\n");
  EXPECT_EQ(Held(), "header\n12345\n6\n7\n");
  file->Append("8\n");
  EXPECT_EQ(Held(), "header\n12345\n6\n7\n8\n");
}

TEST_F(GrowingFileTest, AFileThatCannotEvenBeginIsRefused) {
  const FullDisk full(/*bytes=*/3);
  EXPECT_EQ(OpenGrowingFile(path_, /*anew=*/false, &UnderHeader).status().message(),
            "cannot write " + path_.string() + ": File too large");
}

TEST_F(GrowingFileTest, AnObjectWhoseWriteFailsIsWrittenWholeAtTheEnd) {
  const std::unique_ptr<ObjectStore> memory = MakeMemoryObjectStore();
  const auto store = std::make_shared<FaultyObjectStore>(*memory);
  {
    StoreThread thread(/*most_waiting=*/8);
    const std::unique_ptr<GrowingFile> object =
        NewGrowingObject(store, "curve.csv", /*anew=*/false, &UnderHeader, thread);
    store->FailNth(1, absl::UnavailableError("s3"));
    object->Append("1\n");
    object->Append("2\n");
  }
  EXPECT_EQ(*memory->Get("curve.csv"), "header\n1\n2\n");
}

}  // namespace
}  // namespace capstan::chief
