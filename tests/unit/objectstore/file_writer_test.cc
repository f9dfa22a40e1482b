#include "capstan/objectstore/file_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "capstan/objectstore/file_lock.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

class FileWriterTest : public testing::Test {
 protected:
  FileDescriptor OpenIt() const {
    return FileDescriptor(open(temporary_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  std::unique_ptr<FileWriter> Writer(const std::string& bytes) const {
    auto writer = FileWriter::Open({.root = OpenIt(),
                                    .folder = OpenIt(),
                                    .name = "object",
                                    .key = "a/object",
                                    .lock_wait = absl::ZeroDuration()});
    EXPECT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE((*writer)->Append(bytes).ok());
    return *std::move(writer);
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(temporary_.path())) {
      names.insert(entry.path().filename().string());
    }
    names.erase(".lock");
    return names;
  }
  std::string Content() const {
    std::ifstream file(temporary_.Path("object"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static WriteCondition Matches(const ObjectVersion& version) {
    return {.kind = WriteCondition::Kind::kMatches, .version = version};
  }

  const TestFolder temporary_;
};

TEST_F(FileWriterTest, AnObjectAppearsWithItsCommitAndNotBefore) {
  const auto writer = Writer("bytes");
  EXPECT_FALSE(std::filesystem::exists(temporary_.Path("object")));
  ASSERT_TRUE(writer->Append(" and more").ok());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(Content(), "bytes and more");
  EXPECT_EQ(Names(), std::set<std::string>{"object"}) << "nothing else is left";
}

TEST_F(FileWriterTest, OneThatIsGivenUpLeavesNothing) {
  Writer("bytes").reset();
  EXPECT_EQ(Names(), std::set<std::string>());
}

TEST_F(FileWriterTest, TheVersionIsThatOfTheObject) {
  const ObjectVersion version = *Writer("bytes")->Publish({});
  EXPECT_EQ(*VersionOf(*OpenFile(OpenIt(), "object", "object"), "object"), version);
  EXPECT_NE(*Writer("bytes")->Publish({}), version) << "the same bytes, but another write";
}

TEST_F(FileWriterTest, AnObjectThatMustBeAbsentIsNotReplaced) {
  ASSERT_TRUE(Writer("first")->Publish({.kind = WriteCondition::Kind::kAbsent}).ok());
  EXPECT_EQ(Writer("second")->Publish({.kind = WriteCondition::Kind::kAbsent}).status(),
            absl::AlreadyExistsError("a/object: there is one already"));
  EXPECT_EQ(Content(), "first");
  EXPECT_EQ(Names(), std::set<std::string>{"object"});
}

TEST_F(FileWriterTest, AnObjectIsReplacedByWhoeverKnowsItsVersion) {
  const ObjectVersion first = *Writer("first")->Publish({});
  const ObjectVersion second = *Writer("second")->Publish(Matches(first));
  EXPECT_EQ(Writer("third")->Publish(Matches(first)).status(),
            absl::AbortedError("a/object: another version stands there"));
  EXPECT_EQ(Content(), "second");
  std::filesystem::remove(temporary_.Path("object"));
  EXPECT_EQ(Writer("third")->Publish(Matches(second)).status(),
            absl::AbortedError("a/object: there is none any more"));
  EXPECT_EQ(Names(), std::set<std::string>());
}

TEST_F(FileWriterTest, NothingIsReplacedWhileAnotherProcessReplaces) {
  ASSERT_TRUE(Writer("first")->Commit().ok());
  const auto held = LockFolder(OpenIt(), LockKind::kExclusive, absl::ZeroDuration());
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(absl::IsUnavailable(Writer("second")->Commit()));
  EXPECT_EQ(Content(), "first");
  EXPECT_EQ(Names(), std::set<std::string>{"object"});
}

TEST_F(FileWriterTest, ASecondCommitIsAnErrorAndLeavesTheObject) {
  const auto writer = Writer("bytes");
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_FALSE(writer->Commit().ok());
  EXPECT_EQ(Content(), "bytes");
}

TEST_F(FileWriterTest, AFolderThatHasBeenRemovedIsNotFound) {
  FilePlace place{.root = OpenIt(),
                  .folder = OpenIt(),
                  .name = "object",
                  .key = "a/object",
                  .lock_wait = absl::ZeroDuration()};
  std::filesystem::remove(temporary_.path());
  EXPECT_TRUE(absl::IsNotFound(FileWriter::Open(std::move(place)).status()));
}

TEST_F(FileWriterTest, WhatDeadWritersLeftIsRemovedAndNothingElse) {
  const auto alive = Writer("bytes");
  const std::set<std::string> of_alive = Names();
  ASSERT_EQ(of_alive.size(), 1u);
  temporary_.Write(".writing-1-2-3", "left by a process that died");
  temporary_.Write("writing-1", "an object");
  temporary_.Write(".other", "not of a writer");
  RemoveAbandonedFiles(OpenIt());
  std::set<std::string> expected = of_alive;
  expected.insert({"writing-1", ".other"});
  EXPECT_EQ(Names(), expected);
  EXPECT_TRUE(alive->Commit().ok());
}

}  // namespace
}  // namespace capstan
