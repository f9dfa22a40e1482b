#include "capstan/data/formats/class_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ClassFoldersTest : public testing::Test {
 protected:
  std::string Put(const std::string& of, const std::string& name, const std::string& content) {
    std::filesystem::create_directories(folder_.Path("pets/" + of));
    return folder_.Write("pets/" + of + "/" + name, content);
  }
  absl::StatusOr<std::vector<ClassFolder>> Classes(const std::string& slashes = "") const {
    return ListClasses(*files_, folder_.Path("pets") + slashes);
  }

  const TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(ClassFoldersTest, AFolderCountsItsImagesAndTheirBytes) {
  Put("cat", "1.jpg", "12345");
  Put("cat", "_DSC2.JPEG", "123");
  Put("cat", "notes.txt", "text");
  Put("cat", ".hidden.png", "none");
  Put("dog", "1.Png", "1");
  Put("texts", "1.txt", "no image");
  const auto classes = Classes();
  ASSERT_TRUE(classes.ok()) << classes.status();
  ASSERT_EQ(classes->size(), 2u);
  EXPECT_EQ((*classes)[0].path, folder_.Path("pets/cat"));
  EXPECT_EQ((*classes)[0].images, 2u);
  EXPECT_EQ((*classes)[0].bytes, 8u);
  EXPECT_EQ((*classes)[1].path, folder_.Path("pets/dog"));
  EXPECT_EQ(Classes("//")->size(), 2u) << "slashes behind the folder's name say nothing";
}

// The paths of its images stand before those of a folder whose name it begins with.
TEST_F(ClassFoldersTest, AFolderWhoseNameGoesOnIsAFolderOfItsOwn) {
  Put("cat", "1.jpg", "1");
  Put("cat", "2.jpg", "1");
  Put("cat-wild", "1.jpg", "1");
  const auto classes = Classes();
  ASSERT_TRUE(classes.ok()) << classes.status();
  ASSERT_EQ(classes->size(), 2u);
  EXPECT_EQ(ClassOf((*classes)[0].path), "cat-wild");
  EXPECT_EQ(ClassOf((*classes)[1].path), "cat");
  EXPECT_EQ((*classes)[1].images, 2u);
}

TEST_F(ClassFoldersTest, AFolderIsFoundWhoseNameLooksLikeAPattern) {
  Put("cat[s]", "1.jpg", "1");
  Put("cats", "2.jpg", "1");
  const auto images = ListImages(*files_, folder_.Path("pets/cat[s]"));
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_THAT(*images, ElementsAre(folder_.Path("pets/cat[s]/1.jpg")));
}

TEST_F(ClassFoldersTest, FoldersWithoutAnImageAreRefused) {
  Put("texts", "1.txt", "no image");
  const auto classes = Classes();
  EXPECT_EQ(classes.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(classes.status().message()), HasSubstr("its folders hold no images"));
  EXPECT_EQ(ListClasses(*files_, folder_.Path("none")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ClassOfTest, TheClassIsTheLastName) {
  EXPECT_EQ(ClassOf("pets/cat"), "cat");
  EXPECT_EQ(ClassOf("cat"), "cat");
  EXPECT_EQ(ClassOf("s3://bucket/pets/cat"), "cat");
}

}  // namespace
}  // namespace capstan
