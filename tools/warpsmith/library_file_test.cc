#include "library_file.h"

#include <gmock/gmock.h>

#include "base/compression.h"
#include "base/file.h"
#include "sample_frames.h"

namespace warpsmith::cli {
namespace {

using ::testing::HasSubstr;

constexpr char kLibraryTerms[] = "NVIDIA H200; driver 580.1; f16; j1; catalogue none";

hgemm::LibraryTimes LibrarySample(int64_t m) {
  return {{m, 64, 64}, {{"cublas", "nn", Mode::kOffline, 2, std::nullopt}}};
}

std::string SamplesOf(int64_t m) {
  return std::to_string(m) + ",64,64,offline,cublas-nn,0,0,2,0,0,0\n";
}

class LibraryFileTest : public ::testing::Test {
 protected:
  Result<LibraryFile> Open(const std::string& terms = kLibraryTerms) {
    return LibraryFile::Open(csv_, terms, "f16");
  }
  void Append(int64_t m) {
    auto file = Open();
    ASSERT_TRUE(file.ok()) << file.error().Line();
    ASSERT_TRUE(file->Append("today", LibrarySample(m), SamplesOf(m)).ok());
  }
  std::string Samples() const {
    return Decompress("samples", ReadFile(SamplesPath(csv_)).value()).value();
  }
  std::string ErrorOf(const Result<LibraryFile>& file) {
    return file.ok() ? "" : file.error().message;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("library-file-test").value();
  std::filesystem::path csv_ = folder_.path() / "libraries.csv";
};

TEST_F(LibraryFileTest, EveryShapeIsOnTheDiskAndIsGoneOnWith) {
  Append(64);
  Append(128);
  const auto file = Open();
  ASSERT_TRUE(file.ok()) << file.error().Line();
  ASSERT_EQ(file->table().shapes.size(), 2U);
  EXPECT_NE(hgemm::Find(file->table(), {128, 64, 64}), nullptr);
  EXPECT_EQ(ReadFile(csv_).value(), hgemm::ToText(file->table()));
  EXPECT_EQ(file->table().sessions.size(), 2U) << "one a call";
  EXPECT_EQ(Samples(), std::string(kSampleColumns) + SamplesOf(64) + SamplesOf(128));
}

TEST_F(LibraryFileTest, SamplesOfAShapeWhoseRowsWereNotWrittenAreLeftOut) {
  Append(64);
  const std::string rows = ReadFile(csv_).value();
  Append(128);
  ASSERT_TRUE(WriteFileAtomic(csv_, rows).ok());
  Append(256);
  EXPECT_EQ(Samples(), std::string(kSampleColumns) + SamplesOf(64) + SamplesOf(256));
}

TEST_F(LibraryFileTest, TimesWithoutSamplesComeToTheirShape) {
  Append(64);
  auto file = Open();
  ASSERT_TRUE(file->Add({{64, 64, 64}, {{"torch", "nn", Mode::kServer, 9, std::nullopt}}}).ok());
  EXPECT_THAT(ReadFile(csv_).value(), HasSubstr("\n64,64,64,torch,nn,f16,server,9,,,\n"));
}

TEST_F(LibraryFileTest, RefusesTimesThatItCouldNotRead) {
  auto file = Open();
  EXPECT_FALSE(file->Append("today", {{64, 64, 64}, {}}, "").ok());
  EXPECT_FALSE(
      file->Append("today", {{64, 64, 64}, {{"cublas", "nn", Mode::kServer, 0, std::nullopt}}}, "")
          .ok());
  EXPECT_FALSE(std::filesystem::exists(csv_));
}

TEST_F(LibraryFileTest, RefusesWhatIsNotItsOwn) {
  Append(64);
  EXPECT_THAT(ErrorOf(Open("NVIDIA H100; driver 580.1")), HasSubstr("of other terms: NVIDIA H200"));
  {
    const auto first = Open();
    ASSERT_TRUE(first.ok());
    EXPECT_FALSE(Open().ok()) << "two writers";
  }
  const std::string header = Compress(kSampleColumns);
  ASSERT_TRUE(WriteFileAtomic(SamplesPath(csv_), header).ok());
  EXPECT_THAT(ErrorOf(Open()), HasSubstr("holds samples of 0 shapes, the table beside it has 1"));
  ASSERT_TRUE(WriteFileAtomic(SamplesPath(csv_), header + Compress(SamplesOf(128))).ok());
  EXPECT_THAT(ErrorOf(Open()), HasSubstr("has none of 64x64x64"));
  const std::string others = header + Compress(SamplesOf(64)) + Compress(SamplesOf(128));
  ASSERT_TRUE(WriteFileAtomic(SamplesPath(csv_), others).ok());
  std::filesystem::remove(csv_);
  EXPECT_FALSE(Open().ok()) << "samples of a table that is not there";
  EXPECT_EQ(ReadFile(SamplesPath(csv_)).value(), others);
  ASSERT_TRUE(WriteFileAtomic(csv_, "my notes\n").ok());
  EXPECT_THAT(ErrorOf(Open()), HasSubstr("libraries.csv:1: not a library table"));
  EXPECT_EQ(ReadFile(csv_).value(), "my notes\n");
}

}  // namespace
}  // namespace warpsmith::cli
