#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/source.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::HasSubstr;

// While it lives, a process of root has the rights of nobody.
class AsNobody {
 public:
  AsNobody() : before_(geteuid()) { EXPECT_EQ(seteuid(before_ == 0 ? kNobody : before_), 0); }
  ~AsNobody() { EXPECT_EQ(seteuid(before_), 0); }

 private:
  static constexpr uid_t kNobody = 65534;
  const uid_t before_;
};

TEST(LocalFilesTest, AFolderThatMayNotBeListedIsNamedAndNotLeftOut) {
  TestFolder folder;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directory(folder.Path(name));
    folder.Write(absl::StrCat(name, "/x.csv"), "1,2\n");
  }
  using std::filesystem::perms;
  for (const char* name : {"", "a", "a/x.csv"}) {
    std::filesystem::permissions(folder.Path(name), perms::all);
  }
  std::filesystem::permissions(folder.Path("b"), perms::none);
  const std::unique_ptr<const Source> files = NewLocalFiles();
  {
    const AsNobody nobody;
    const absl::Status unlisted = files->List(folder.Path("*/*.csv")).status();
    EXPECT_TRUE(absl::IsPermissionDenied(unlisted)) << unlisted;
    EXPECT_THAT(std::string(unlisted.message()),
                HasSubstr(folder.Path("b") + ": cannot be listed"));
    EXPECT_EQ(files->List(folder.Path("a/*.csv"))->size(), 1u) << "what is listed next";
  }
  std::filesystem::permissions(folder.Path("b"), perms::owner_all);
}

TEST(LocalFilesTest, AFileWhereThePatternHasAFolderIsPassedBy) {
  TestFolder folder;
  std::filesystem::create_directory(folder.Path("a"));
  folder.Write("a/x.csv", "1,2\n");
  folder.Write("notes", "of nobody");
  EXPECT_EQ(NewLocalFiles()->List(folder.Path("*/*.csv"))->size(), 1u);
}

TEST(LocalFilesTest, SaysWhatIsWrongWithAPath) {
  TestFolder folder;
  const std::unique_ptr<const Source> files = NewLocalFiles();
  EXPECT_EQ(files->List(folder.Path("none.csv")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(files->List(folder.Path("*.csv")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(files->List(folder.Path("")).status().message()),
              HasSubstr("is a folder"));
  EXPECT_EQ(files->List("s3://bucket/a.csv").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LocalFilesTest, AFileWhoseNameIsNotUtf8IsRefusedWithItsNameEscaped) {
  TestFolder folder;
  folder.Write("a.csv", "1");
  folder.Write("caf\xE9.csv", "1");
  const std::unique_ptr<const Source> files = NewLocalFiles();
  const absl::Status refused = files->List(folder.Path("*.csv")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(folder.Path("caf\\xe9.csv") + ": the name is not UTF-8"));
  EXPECT_TRUE(absl::IsInvalidArgument(files->Find(folder.Path("caf\xE9.csv")).status()));
  EXPECT_EQ(files->List(folder.Path("a*.csv"))->size(), 1u) << "nobody has asked for the other";
  folder.Write("caf\xC3\xA9.csv", "1");
  EXPECT_EQ(files->List(folder.Path("caf\xC3\xA9.csv"))->size(), 1u);
}

TEST(LocalFilesTest, ListsAGlobInOrderAndTakesFileUris) {
  TestFolder folder;
  folder.Write("b.csv", "22");
  folder.Write("a.csv", "1");
  const std::unique_ptr<const Source> files = NewLocalFiles();
  const auto found = files->List("file://" + folder.Path("*.csv"));
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].path, folder.Path("a.csv"));
  EXPECT_EQ((*found)[1].bytes, 2u);
}

TEST(LocalFilesTest, AFileWithBracketsInItsNameIsMeantByItAndNotTheOneThatItMatches) {
  TestFolder folder;
  std::filesystem::create_directory(folder.Path("x[1]"));
  std::filesystem::create_directory(folder.Path("x1"));
  folder.Write("x[1]/t.csv", "22");
  const std::unique_ptr<const Source> files = NewLocalFiles();
  for (const bool sibling : {false, true}) {
    if (sibling) folder.Write("x1/t.csv", "1");
    for (const std::string scheme : {"", "file://"}) {
      const auto found = files->List(scheme + folder.Path("x[1]/t.csv"));
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_EQ(found->size(), 1u);
      EXPECT_EQ(found->front().path, folder.Path("x[1]/t.csv"));
      EXPECT_EQ(found->front().bytes, 2u);
    }
  }
  EXPECT_EQ(files->List(folder.Path("x[[]1]/*.csv"))->front().path, folder.Path("x[1]/t.csv"));
}

TEST(LocalFilesTest, FindsTheFileOfAPathAndNoOther) {
  TestFolder folder;
  folder.Write("p1.csv", "1");
  const std::unique_ptr<const Source> files = NewLocalFiles();
  EXPECT_TRUE(absl::IsNotFound(files->Find(folder.Path("p[1].csv")).status()));
  EXPECT_TRUE(absl::IsNotFound(files->Find(folder.Path("p*.csv")).status()));
  folder.Write("p[1].csv", "22");
  EXPECT_EQ(files->Find(folder.Path("p[1].csv"))->bytes, 2u);
  EXPECT_EQ(files->Find(folder.Path("p1.csv"))->bytes, 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(files->Find(folder.Path("")).status()));
}

TEST(LocalFilesTest, BracesAreNoPattern) {
  TestFolder folder;
  folder.Write("a.csv", "1");
  folder.Write("b.csv", "1");
  const std::unique_ptr<const Source> files = NewLocalFiles();
  EXPECT_TRUE(absl::IsNotFound(files->List(folder.Path("{a,b}.csv")).status()));
  const std::string literal = folder.Write("{a,b}.csv", "22");
  EXPECT_EQ(files->List(literal)->front().path, literal);
}

}  // namespace
}  // namespace capstan
