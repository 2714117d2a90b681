#include "cuda/cublaslt.h"

#include <gmock/gmock.h>

#include "cuda/blas.h"
#include "cuda/cublas.h"
#include "cuda/cupti.h"

namespace warpsmith::cuda {
namespace {

TEST(LtAlgorithm, SurvivesItsText) {
  LtAlgorithm algorithm;
  for (size_t i = 0; i < algorithm.bytes.size(); ++i) algorithm.bytes[i] = ~i * 0x9e3779b97f4a7c15;
  const auto back = LtAlgorithmFromHex(ToHex(algorithm));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->bytes, algorithm.bytes);
}

TEST(LtAlgorithm, MalformedTextIsRefused) {
  const std::string good = ToHex({});
  EXPECT_FALSE(LtAlgorithmFromHex("").ok());
  EXPECT_FALSE(LtAlgorithmFromHex(good + "0").ok());
  EXPECT_FALSE(LtAlgorithmFromHex("-" + good.substr(1)).ok());
  EXPECT_FALSE(LtAlgorithmFromHex(good.substr(0, 127) + "g").ok());
}

TEST(ColumnMajor, FirstOperandIsB) {
  const ColumnMajorGemm nn = ColumnMajor({2, 3, 5, GemmLayout::kNN});
  EXPECT_FALSE(nn.transpose_first);
  EXPECT_EQ(nn.first_rows, 3);
  const ColumnMajorGemm tn = ColumnMajor({2, 3, 5, GemmLayout::kTN});
  EXPECT_TRUE(tn.transpose_first);
  EXPECT_EQ(tn.first_rows, 5);
  EXPECT_EQ(tn.first_columns, 3);
}

TEST(ShapeText, NamesTheTypeWhereItIsNotFp16) {
  EXPECT_EQ(ShapeText({2, 3, 5, GemmLayout::kNN}), "2 x 3 x 5 NN");
  EXPECT_EQ(ShapeText({2, 3, 5, GemmLayout::kTN, HalfType::kBF16}), "2 x 3 x 5 TN BF16");
}

TEST(BlasError, NamesTheStatus) {
  EXPECT_EQ(BlasError("cublasLtMatmul", 15, "2 x 3 x 5 TN").message,
            "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED (no kernel for this product): "
            "2 x 3 x 5 TN");
}

// The libraries are there or they are not; either way the answer is clean.
void ExpectVersionOrUnavailable(const Result<std::string>& version, const char* name) {
  if (version.ok()) {
    EXPECT_THAT(*version, testing::StartsWith(name));
  } else {
    EXPECT_EQ(version.error().code, ErrorCode::kUnavailable) << version.error().Line();
  }
}

TEST(Libraries, TellTheirVersionWithoutAGpu) {
  ExpectVersionOrUnavailable(CublasVersion(), "cuBLAS 13.");
  ExpectVersionOrUnavailable(CublasLtVersion(), "cuBLASLt 13.");
  ExpectVersionOrUnavailable(CuptiVersion(), "CUPTI 13");
}

}  // namespace
}  // namespace warpsmith::cuda
