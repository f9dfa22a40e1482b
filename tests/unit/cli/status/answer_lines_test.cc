#include "cli/status/answer_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Counts how often it is asked; the second time it has no answer.
class Chief : public StatusSource {
 public:
  absl::StatusOr<v1::GetStatusReply> GetStatus(absl::Duration) override {
    if (++asked == 2) return absl::UnavailableError("chief at x:1:\nno answer");
    v1::GetStatusReply status;
    status.set_examples(static_cast<uint64_t>(asked));
    return status;
  }
  int asked = 0;
};

class AnswerLinesTest : public testing::Test {
 protected:
  AnswerLinesTest() {
    EXPECT_EQ(pipe(in_), 0);
    EXPECT_EQ(pipe(out_), 0);
  }
  ~AnswerLinesTest() override {
    for (const int fd : {in_[0], in_[1], out_[0], out_[1]}) close(fd);
  }

  void Ask(const std::string& lines) {
    EXPECT_EQ(write(in_[1], lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  }
  void NobodyAsksAnyMore() {
    close(in_[1]);
    in_[1] = -1;
  }
  std::vector<std::string> Answers() {
    close(out_[1]);
    close(in_[1]);
    out_[1] = in_[1] = -1;
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(out_[0], buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }

  Chief chief_;
  int in_[2];
  int out_[2];
};

TEST_F(AnswerLinesTest, EachLineIsAnsweredWithOneUntilNoMoreCan) {
  Ask("\n\n\n");
  NobodyAsksAnyMore();
  AnswerLines(chief_, in_[0], out_[1]);
  EXPECT_THAT(Answers(), ElementsAre(HasSubstr("\"examples\":1,"), "chief at x:1: no answer",
                                     HasSubstr("\"examples\":3,")));
}

TEST_F(AnswerLinesTest, EndsWhenNobodyAsksThoughNobodySaysSo) {
  AnswerLines(chief_, in_[0], out_[1], absl::Milliseconds(1));
  EXPECT_EQ(chief_.asked, 0);
  EXPECT_THAT(Answers(), IsEmpty());
}

}  // namespace
}  // namespace capstan::cli
