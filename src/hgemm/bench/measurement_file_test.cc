#include "hgemm/bench/measurement_file.h"

#include <gmock/gmock.h>

#include "base/compression.h"
#include "base/file.h"
#include "hgemm/bench/contest.h"
#include "hgemm/measurement_text.h"
#include "hgemm/tests/comparison.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Measured Sample(const Problem& problem, double ratio = 1.2) {
  return {SampleSession(),
          {SampleShape(problem, ratio),
           std::to_string(problem.m) + ",64,64,device,kernel,0,0,2,1980,40,300\n"}};
}

class MeasurementFileTest : public ::testing::Test {
 protected:
  Result<MeasurementFile> Open() { return MeasurementFile::Open(csv_, SampleTerms()); }

  void Add(const Problem& problem) {
    auto file = Open().value();
    const Measured measured = Sample(problem);
    const Status added = file.Append(measured.session, measured.result);
    ASSERT_TRUE(added.ok()) << added.error().Line();
  }
  std::string Rows() const { return ReadFile(csv_).value(); }
  std::string Samples() const {
    return Decompress("samples", ReadFile(SamplesPath(csv_)).value()).value();
  }
  void CutOff(const std::filesystem::path& path, uintmax_t bytes) const {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("measurement-file-test").value();
  std::filesystem::path csv_ = folder_.path() / "h200.csv";
};

TEST_F(MeasurementFileTest, SamplesLieBeside) {
  EXPECT_EQ(SamplesPath("data/h200.csv"), "data/h200.samples.csv.zst");
  EXPECT_EQ(SamplesPath("data/h200"), "data/h200.samples.csv.zst");
}

TEST_F(MeasurementFileTest, WhatWasAppendedIsOnTheDiskWhileTheWriterLives) {
  auto file = Open().value();
  for (const int64_t m : {64, 128}) {
    const Measured measured = Sample({m, 64, 64});
    ASSERT_TRUE(file.Append(measured.session, measured.result).ok());
    EXPECT_EQ(Rows(), ToText(file.table()));
    EXPECT_THAT(Samples(), HasSubstr("\n" + measured.result.samples));
  }
  EXPECT_EQ(file.table().sessions.size(), 1U);
}

TEST_F(MeasurementFileTest, ANewCallGoesOnInASessionOfItsOwn) {
  Add({64, 64, 64});
  Add({128, 64, 64});
  const auto read = ReadMeasurementFile(csv_).value();
  EXPECT_EQ(read.table.shapes.size(), 2U);
  EXPECT_EQ(read.table.sessions.size(), 2U);
  EXPECT_EQ(Samples(), std::string(kSampleColumns) + Sample({64, 64, 64}).result.samples +
                           Sample({128, 64, 64}).result.samples);
}

// However far the second shape's writing came, the next call ends with what an undisturbed one has.
TEST_F(MeasurementFileTest, WhereverAWriterIsKilledItsNextCallMakesTheFilesWhole) {
  Add({64, 64, 64});
  const auto rows_before = std::filesystem::file_size(csv_);
  const auto samples_before = std::filesystem::file_size(SamplesPath(csv_));
  Add({128, 64, 64});
  const std::string rows = Rows(), samples = ReadFile(SamplesPath(csv_)).value();
  const auto restart = [&](size_t row_bytes, size_t sample_bytes) {
    ASSERT_TRUE(WriteFileAtomic(csv_, rows.substr(0, row_bytes)).ok());
    ASSERT_TRUE(WriteFileAtomic(SamplesPath(csv_), samples.substr(0, sample_bytes)).ok());
    Add({128, 64, 64});
    ASSERT_EQ(Rows(), rows);
    ASSERT_EQ(ReadFile(SamplesPath(csv_)).value(), samples);
  };
  for (size_t bytes = samples_before; bytes <= samples.size(); ++bytes) restart(rows_before, bytes);
  for (size_t bytes = rows_before; bytes < rows.size(); bytes += 7) restart(bytes, samples.size());
}

TEST_F(MeasurementFileTest, RefusesToGoOnWithAnotherComparison) {
  Add({64, 64, 64});
  const std::string before = Rows();
  MeasurementTerms terms = SampleTerms();
  terms.device = "NVIDIA H100";
  terms.library = "libmine.so 2";
  const auto file = MeasurementFile::Open(csv_, terms);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(file.error().message, HasSubstr("h200.csv is of another comparison: another device, "
                                              "library"));
  EXPECT_THAT(file.error().message, Not(HasSubstr("\n")));
  EXPECT_EQ(Rows(), before);
}

TEST_F(MeasurementFileTest, RefusesWhatIsNoComparisonAndLeavesItAlone) {
  ASSERT_TRUE(WriteFileAtomic(csv_, "m,n,k,mode\n64,64,64,device\n").ok());
  EXPECT_FALSE(Open().ok());
  EXPECT_EQ(Rows(), "m,n,k,mode\n64,64,64,device\n");
}

TEST_F(MeasurementFileTest, RefusesSamplesThatAreNotTheTables) {
  Add({64, 64, 64});
  const auto samples = SamplesPath(csv_);
  ASSERT_TRUE(WriteFileAtomic(samples, Compress("a,b\n") + Compress("1,2\n")).ok());
  EXPECT_THAT(Open().error().message, HasSubstr("no samples of a comparison"));
  std::filesystem::remove(samples);
  EXPECT_THAT(Open().error().message, HasSubstr("samples of 0 shapes, the table beside it has 1"));
  const std::string strange = Sample({128, 64, 64}).result.samples;
  ASSERT_TRUE(WriteFileAtomic(samples, Compress(kSampleColumns) + Compress(strange)).ok());
  EXPECT_THAT(Open().error().message, HasSubstr("has none of 64x64x64 where the table has it"));
}

TEST_F(MeasurementFileTest, OneWriterAtATime) {
  const auto first = Open().value();
  const auto second = Open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
}

TEST_F(MeasurementFileTest, WithoutANameNothingIsWritten) {
  auto file = MeasurementFile::Open("", SampleTerms()).value();
  const Measured measured = Sample({64, 64, 64});
  ASSERT_TRUE(file.Append(measured.session, measured.result).ok());
  EXPECT_EQ(file.table().shapes.size(), 1U);
  EXPECT_FALSE(file.Append(measured.session, measured.result).ok());
}

TEST_F(MeasurementFileTest, JoinedSlicesAreOneComparisonThatGoesOn) {
  const auto whole = csv_, part = folder_.path() / "part.csv";
  Add({64, 64, 64});
  csv_ = part;
  Add({128, 64, 64});
  std::vector<NamedMeasurements> parts;
  for (const auto& path : {whole, part}) parts.push_back(ReadMeasurementFile(path).value());
  csv_ = folder_.path() / "joined.csv";
  const Status written = WriteJoined(parts, Join(parts).value(), csv_);
  ASSERT_TRUE(written.ok()) << written.error().Line();
  Add({256, 64, 64});
  EXPECT_EQ(ReadMeasurementFile(csv_)->table.shapes.size(), 3U);
  EXPECT_THAT(Samples(), HasSubstr("\n128,64,64,device"));
  std::filesystem::remove(SamplesPath(part));
  EXPECT_FALSE(WriteJoined(parts, Join(parts).value(), csv_).ok());
}

TEST_F(MeasurementFileTest, SamplesOfATableThatIsElsewhereNowAreNotCutOff) {
  Add({64, 64, 64});
  Add({128, 64, 64});
  const std::string samples = Samples();
  std::filesystem::rename(csv_, folder_.path() / "elsewhere.csv");
  const auto file = Open();
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("samples of 2 shapes, the table beside it has 0"));
  EXPECT_EQ(Samples(), samples);
}

// What was measured for an hour is not lost to a slip of the tongue.
TEST_F(MeasurementFileTest, AJoinReplacesNoFile) {
  Add({64, 64, 64});
  const std::vector<NamedMeasurements> parts = {ReadMeasurementFile(csv_).value()};
  csv_ = folder_.path() / "other.csv";
  Add({128, 64, 64});
  const std::string rows = Rows(), samples = Samples();
  const Status written = WriteJoined(parts, Join(parts).value(), csv_);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kConfig);
  EXPECT_THAT(written.error().message, HasSubstr("other.csv is there already"));
  EXPECT_THAT(written.error().fix, HasSubstr("give --csv another name"));
  EXPECT_EQ(Rows(), rows);
  EXPECT_EQ(Samples(), samples);
}

// The table alone may have been moved away.
TEST_F(MeasurementFileTest, AJoinReplacesNoSamplesEither) {
  Add({64, 64, 64});
  const std::vector<NamedMeasurements> parts = {ReadMeasurementFile(csv_).value()};
  csv_ = folder_.path() / "other.csv";
  Add({128, 64, 64});
  const std::string samples = Samples();
  std::filesystem::remove(csv_);
  const Status written = WriteJoined(parts, Join(parts).value(), csv_);
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("other.samples.csv.zst is there already"));
  EXPECT_EQ(Samples(), samples);
}

MeasuredShape LibrarySample(int64_t m) {
  MeasuredShape measured;
  measured.shape.problem = {m, 64, 64};
  measured.shape.times = {{"cublas", "nn", Mode::kOffline, 2, std::nullopt}};
  measured.samples = std::to_string(m) + ",64,64,offline,cublas-nn,0,0,2,0,0,0\n";
  return measured;
}

class LibraryFileTest : public MeasurementFileTest {
 protected:
  static MeasurementTerms Terms() {
    MeasurementTerms terms = SampleTerms();
    terms.layout = kBothLayouts;
    return terms;
  }
  void AppendLibraries(int64_t m) {
    auto file = MeasurementFile::Open(csv_, Terms()).value();
    ASSERT_TRUE(file.Append(SampleSession(), LibrarySample(m)).ok());
  }
};

TEST_F(LibraryFileTest, EveryShapeIsOnTheDiskAndIsGoneOnWith) {
  AppendLibraries(64);
  AppendLibraries(128);
  const auto read = ReadMeasurementFile(csv_).value();
  EXPECT_EQ(read.table.shapes.size(), 2U);
  EXPECT_EQ(read.table.sessions.size(), 2U) << "one a call";
  EXPECT_EQ(Rows(), ToText(read.table));
  EXPECT_EQ(Samples(),
            std::string(kSampleColumns) + LibrarySample(64).samples + LibrarySample(128).samples);
  EXPECT_FALSE(Open().ok()) << "a comparison";
}

TEST_F(LibraryFileTest, AShapeOfWhichRowsAreMissingIsMeasuredAgain) {
  AppendLibraries(64);
  const std::string rows = Rows();
  AppendLibraries(128);
  CutOff(csv_, 3);
  AppendLibraries(256);
  EXPECT_THAT(Rows(), ::testing::StartsWith(rows));
  EXPECT_THAT(Rows(), Not(HasSubstr("\n128,")));
  EXPECT_EQ(Samples(),
            std::string(kSampleColumns) + LibrarySample(64).samples + LibrarySample(256).samples);
}

TEST_F(LibraryFileTest, TimesWithoutSamplesComeToTheirShape) {
  AppendLibraries(64);
  ShapeMeasurement more;
  more.problem = {64, 64, 64};
  more.times = {{"torch", "nn", Mode::kServer, 9, std::nullopt}};
  {
    auto file = MeasurementFile::Open(csv_, Terms()).value();
    ASSERT_TRUE(file.AddTimes(more).ok());
  }
  AppendLibraries(128);
  const auto read = ReadMeasurementFile(csv_).value();
  ASSERT_EQ(read.table.shapes.size(), 2U);
  EXPECT_TRUE(Has(read.table.shapes[0], "torch"));
}

// A table that an earlier program began is made one of today's, and goes on.
TEST_F(LibraryFileTest, ATableOfTheFirstVersionGoesOn) {
  ASSERT_TRUE(WriteFileAtomic(csv_,
                              "# warpsmith hgemm library table, version 1\n"
                              "# terms: NVIDIA H200; libmine.so " +
                                  std::string(64, '1') +
                                  "; f16; j1/screened/r7\n"
                                  "# session: date=d; library=cuBLASLt 13.1.0; program=0.1.0\n"
                                  "m,n,k,name,layout,dtype,mode,us,ratio,lo,hi\n"
                                  "64,64,64,cublas,nn,f16,offline,2,,,\n")
                  .ok());
  ASSERT_TRUE(WriteFileAtomic(SamplesPath(csv_),
                              Compress(kSampleColumns) + Compress(LibrarySample(64).samples))
                  .ok());
  AppendLibraries(128);
  const auto read = ReadMeasurementFile(csv_).value();
  EXPECT_EQ(read.table.shapes.size(), 2U);
  EXPECT_THAT(Rows(), HasSubstr("library table, version 3\n"));
}

class MeasureMissingTest : public MeasurementFileTest {
 protected:
  // Measures with what stands in for a GPU, until `shapes` of them were.
  BenchProgress Run(size_t shapes) {
    auto file = Open();
    EXPECT_TRUE(file.ok());
    size_t calls = 0;
    const auto progress = MeasureMissing(
        problems_, *file, [&] { return calls >= shapes; },
        [&](const Problem& problem, const Problem* next) -> Result<Measured> {
          ++calls;
          asked_.push_back(problem.m);
          announced_.push_back(next == nullptr ? 0 : next->m);
          if (all_broken_ || problem.m == broken_)
            return Error{ErrorCode::kNothingMeasured, "not this one", ""};
          return Sample(problem);
        });
    EXPECT_TRUE(progress.ok());
    return *progress;
  }

  std::vector<Problem> problems_ = {{64, 64, 64}, {128, 64, 64}, {128, 64, 64}, {256, 64, 64}};
  std::vector<int64_t> asked_, announced_;
  int64_t broken_ = 0;
  bool all_broken_ = false;
};

TEST_F(MeasureMissingTest, GoesOnWhereTheTimeRanOut) {
  const BenchProgress first = Run(1);
  EXPECT_EQ(first.measured, 1U);
  EXPECT_EQ(first.left, 2U);
  const BenchProgress second = Run(9);
  EXPECT_EQ(second.known, 1U);
  EXPECT_EQ(second.measured, 2U);
  EXPECT_EQ(second.left, 0U);
  EXPECT_EQ(asked_, (std::vector<int64_t>{64, 128, 256}));
  EXPECT_EQ(announced_, (std::vector<int64_t>{128, 256, 0}));
  EXPECT_EQ(Run(9).measured, 0U);
}

TEST_F(MeasureMissingTest, AShapeThatFailsIsAskedForAgain) {
  broken_ = 128;
  const BenchProgress first = Run(9);
  EXPECT_EQ(first.failed, 1U);
  EXPECT_EQ(first.measured, 2U);
  broken_ = 0;
  EXPECT_EQ(Run(9).measured, 1U);
  EXPECT_EQ(asked_.back(), 128);
}

TEST_F(MeasureMissingTest, WhatFailsOnTheFirstFiveShapesIsNotTriedOnAll) {
  problems_.clear();
  for (int64_t m = 64; m <= 64 * 7; m += 64) problems_.push_back({m, 64, 64});
  all_broken_ = true;
  const BenchProgress in_vain = Run(99);
  EXPECT_EQ(in_vain.failed, 5U);
  EXPECT_EQ(in_vain.left, 2U);
  all_broken_ = false;
  EXPECT_EQ(Run(1).measured, 1U);
  all_broken_ = true;  // a library that has been compared before fails for other reasons
  EXPECT_EQ(Run(99).failed, 6U);
}

TEST_F(MeasureMissingTest, WhatWasMeasuredBeforeAHarnessErrorStays) {
  auto file = Open();
  ASSERT_TRUE(file.ok());
  const auto progress = MeasureMissing(
      problems_, *file, [] { return false; },
      [&](const Problem& problem, const Problem*) -> Result<Measured> {
        if (problem.m == 256) return Error{ErrorCode::kIo, "the GPU is gone", ""};
        return Sample(problem);
      });
  EXPECT_FALSE(progress.ok());
  EXPECT_EQ(ReadMeasurementFile(csv_)->table.shapes.size(), 2U);
}

}  // namespace
}  // namespace warpsmith::hgemm
