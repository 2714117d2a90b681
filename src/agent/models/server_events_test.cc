#include "agent/models/server_events.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::models {
namespace {

std::vector<ServerEvent> ParseWhole(std::string_view text) {
  ServerEventParser parser;
  std::vector<ServerEvent> events = parser.Feed(text);
  for (ServerEvent& event : parser.Finish()) events.push_back(std::move(event));
  return events;
}

using Events = std::vector<ServerEvent>;

TEST(ServerEvents, AreDataUpToABlankLine) {
  EXPECT_EQ(ParseWhole("data: one\n\ndata: two\n\n"), (Events{{"", "one"}, {"", "two"}}));
  EXPECT_EQ(ParseWhole("data: a\ndata: b\n\n"), (Events{{"", "a\nb"}}));
  EXPECT_EQ(ParseWhole("event: error\ndata:{}\n\n"), (Events{{"error", "{}"}}));
}

TEST(ServerEvents, EveryKindOfLineEndIsOne) {
  EXPECT_EQ(ParseWhole("data: a\r\n\r\ndata: b\r\rdata: c\n\n"),
            (Events{{"", "a"}, {"", "b"}, {"", "c"}}));
}

TEST(ServerEvents, CommentsUnknownFieldsAndEmptyEventsAreSkipped) {
  EXPECT_EQ(ParseWhole(": keep-alive\n\nid: 7\nretry: 3\n\nevent: ping\n\ndata\n\n"),
            (Events{{"", ""}}));
}

TEST(ServerEvents, ByteOrderMarkOnlyCountsAtTheStart) {
  EXPECT_EQ(ParseWhole("\xef\xbb\xbf"
                       "data: a\n\n\xef\xbb\xbf"
                       "data: b\n\n"),
            (Events{{"", "a"}}));
}

TEST(ServerEvents, TheLastBlankLineMayBeMissing) {
  EXPECT_EQ(ParseWhole("data: [DONE]"), (Events{{"", "[DONE]"}}));
  EXPECT_EQ(ParseWhole(""), Events{});
}

RC_GTEST_PROP(ServerEvents, DoNotDependOnWhereTheStreamIsCut, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("data:", " ", "\n", "\r", "\r\n", "\n\n", "x", "\xef\xbb\xbf",
                                    "event: e", ":", "\xc3", "\xa9", "[DONE]", "id"));
  std::string whole;
  ServerEventParser parser;
  Events cut;
  const auto keep = [&](Events events) { cut.insert(cut.end(), events.begin(), events.end()); };
  for (const std::string& piece : pieces) {
    whole += piece;
    const auto at = *rc::gen::inRange<size_t>(0, piece.size() + 1);
    keep(parser.Feed(std::string_view(piece).substr(0, at)));
    keep(parser.Feed(std::string_view(piece).substr(at)));
  }
  keep(parser.Finish());
  RC_ASSERT(cut == ParseWhole(whole));
}

}  // namespace
}  // namespace warpsmith::models
