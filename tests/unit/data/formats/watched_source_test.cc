#include "capstan/data/formats/watched_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace capstan {
namespace {

// Calls `during` while a call is under way.
class AskingSource : public Source {
 public:
  absl::StatusOr<std::vector<FileInfo>> List(const std::string&) const override {
    during();
    return std::vector<FileInfo>{{"a", 1}};
  }
  absl::StatusOr<FileInfo> Find(const std::string& path) const override {
    during();
    if (path == "none") return absl::NotFoundError("none");
    return FileInfo{path, 1};
  }
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string&, uint64_t,
                                                   uint64_t) const override {
    during();
    return std::make_unique<Stream>(*this);
  }
  std::string Trouble() const override { return "503"; }
  void Cancel() const override { cancelled = true; }

  std::function<void()> during = [] {};
  mutable bool cancelled = false;

 private:
  class Stream : public ByteStream {
   public:
    explicit Stream(const AskingSource& source) : source_(source) {}
    absl::StatusOr<size_t> Read(std::span<char>) override {
      source_.during();
      return size_t{0};
    }

   private:
    const AskingSource& source_;
  };
};

class WatchedSourceTest : public testing::Test {
 protected:
  WatchedSourceTest() {
    source_->during = [this] { seen_ = watched_.under_way(); };
  }

  const std::shared_ptr<AskingSource> source_ = std::make_shared<AskingSource>();
  const WatchedSource watched_{source_};
  std::optional<ReadUnderWay> seen_;
};

TEST_F(WatchedSourceTest, EachCallIsUnderWayUntilItReturnsAndHasANumberOfItsOwn) {
  EXPECT_EQ(watched_.under_way(), std::nullopt);
  ASSERT_TRUE(watched_.List("a*").ok());
  ASSERT_TRUE(seen_.has_value());
  EXPECT_EQ(seen_->file, "a*");
  EXPECT_EQ(seen_->why, "503");
  EXPECT_EQ(watched_.under_way(), std::nullopt);
  const uint64_t listed = seen_->number;
  ASSERT_TRUE(watched_.Find("b").ok());
  EXPECT_EQ(seen_->file, "b");
  EXPECT_EQ(seen_->number, listed + 1);
  auto stream = watched_.Open("c", 0, Source::kToTheEnd);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(seen_->file, "c");
  EXPECT_EQ(seen_->number, listed + 2);
  EXPECT_EQ(watched_.under_way(), std::nullopt);
  char buffer[1];
  for (uint64_t read = 3; read <= 4; ++read) {
    ASSERT_TRUE((*stream)->Read(buffer).ok());
    EXPECT_EQ(seen_->file, "c");
    EXPECT_EQ(seen_->number, listed + read);
    EXPECT_EQ(watched_.under_way(), std::nullopt);
  }
}

TEST_F(WatchedSourceTest, ACallThatFailsIsOverToo) {
  EXPECT_EQ(watched_.Find("none").status(), absl::NotFoundError("none"));
  EXPECT_EQ(seen_->file, "none");
  EXPECT_EQ(watched_.under_way(), std::nullopt);
}

TEST_F(WatchedSourceTest, WhatIsAskedOfTheSourceIsPassedOn) {
  EXPECT_EQ(watched_.Trouble(), "503");
  watched_.Cancel();
  EXPECT_TRUE(source_->cancelled);
}

}  // namespace
}  // namespace capstan
