#include "task/scaffold.h"

#include <gmock/gmock.h>

#include "base/clock.h"
#include "base/tests/folder.h"
#include "base/text.h"
#include "core/resolved_plan.h"
#include "task/check.h"
#include "task/cuda_scan.h"
#include "task/task_file.h"

namespace warpsmith::task {
namespace {

using testing::HasSubstr;

constexpr const char* kKernelOnly = R"cuda(
#include <cuda_fp16.h>
// __global__ void not_me(float* x) {}
template <typename T> __device__ T twice(T x) { return x + x; }

__global__ void __launch_bounds__(256) scale(const __half* __restrict__ input, __half* output,
                                             float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) output[i] = __float2half(__half2float(input[i]) * factor);
}
)cuda";

constexpr const char* kWithMain = R"cuda(
#define BLOCK 16
constexpr int kUnused = 3;
extern "C" __global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K) {
  const char* text = "matmul<<<1, 2>>>(a)";
  int row = blockIdx.y * BLOCK + threadIdx.y, column = blockIdx.x * BLOCK + threadIdx.x;
  if (row >= M || column >= N) return;
  for (int k = 0; k < K; ++k) C[row * N + column] += A[row * K + k] * B[k * N + column];
}
int main() {
  int rows = 1 << 10, N = 512, depth = 64;
  float *a, *b, *c;
  cudaMalloc(&a, rows * depth * 4);
  dim3 block(BLOCK, BLOCK);
  dim3 grid((N + BLOCK - 1) / BLOCK, (unsigned)((rows + block_edge() - 1)) / BLOCK);
  dim3 right((N + BLOCK - 1) / BLOCK, (rows + BLOCK - 1) / BLOCK);
  matmul<<<right, block, 2 * BLOCK * sizeof_nothing, 0>>>(a, b, c, rows, N, depth);
}
)cuda";

constexpr const char* kLauncher = R"cuda(
#include "shared/tile.cuh"
namespace detail {
template <int kTile> __global__ void kernel(const float* x, float* y, long n) {}
}
extern "C" void run(const float* x, float y[], long n, cudaStream_t stream = 0) {
  detail::kernel<16><<<(n + 15) / 16, 16, 0, stream>>>(x, y, n);
}
)cuda";

class ScaffoldTest : public FolderTest {
 protected:
  static Result<Scaffold> Make(const std::string& source, const std::string& function = "") {
    return MakeScaffold({"mine", {{"mine.cu", source}}, "mine.cu", function});
  }
  // What `task init` writes must be what this program reads.
  LoadedTask Load(const Scaffold& scaffold) {
    for (const auto& [path, text] : scaffold.files) Write(path, text);
    auto loaded = LoadTask(folder_.path().string());
    EXPECT_TRUE(loaded.ok()) << loaded.error().Line() << "\n" << scaffold.files.at("task.toml");
    return loaded.ok() ? *loaded : LoadedTask{};
  }
  static const LaunchOperation& LaunchOf(const LoadedTask& loaded) {
    return std::get<LaunchOperation>(loaded.task.rivals.at(0).candidate.plan.operations.at(0));
  }
};

TEST_F(ScaffoldTest, AKernelAloneGetsAPlanThatFits) {
  const auto scaffold = Make(kKernelOnly).value();
  const LoadedTask loaded = Load(scaffold);
  ASSERT_EQ(loaded.task.tensors.size(), 2u);
  EXPECT_EQ(loaded.task.tensors[0].name, "input");
  EXPECT_EQ(loaded.task.tensors[0].dtype, DType::kF16);
  EXPECT_EQ(loaded.task.tensors[0].role, Role::kInput);
  EXPECT_EQ(loaded.task.tensors[1].role, Role::kOutput);
  EXPECT_EQ(loaded.task.tensors[1].shape.at(0).text(), "count");
  EXPECT_FALSE(loaded.task.program.has_value());
  const Candidate& current = loaded.task.rivals.at(0).candidate;
  EXPECT_EQ(current.toolchain, "nvrtc");
  EXPECT_NE(current.sources.at("mine.cu").find("extern \"C\" __global__ void __launch_bounds__"),
            std::string::npos);
  EXPECT_EQ(LaunchOf(loaded).kernel, "scale");
  ASSERT_EQ(LaunchOf(loaded).arguments.size(), 4u);
  EXPECT_EQ(std::get<FloatArgument>(LaunchOf(loaded).arguments[2]).bytes, 4);
  for (const Workload& workload : loaded.task.workloads) {
    const auto one = [](const ResolvedLaunch&) -> Result<int64_t> { return int64_t{1}; };
    const auto resolved = Resolve(current.plan, loaded.task, workload.sizes, 132, one);
    EXPECT_TRUE(resolved.ok()) << resolved.error().Line();
  }
}

TEST_F(ScaffoldTest, OnlyTheReferenceIsLeftToWrite) {
  const auto scaffold = Make(kKernelOnly);
  ASSERT_TRUE(scaffold.ok());
  std::string left;
  for (const TaskFinding& finding : ExamineText(Load(*scaffold).task)) {
    if (finding.severity != Severity::kNote) left += finding.name + " ";
  }
  EXPECT_EQ(left, "reference-unwritten ");
  EXPECT_NE(scaffold->files.at("reference.py").find("def reference(input, count):"),
            std::string::npos)
      << scaffold->files.at("reference.py");
}

TEST_F(ScaffoldTest, NamesThatPythonReservesGetAnother) {
  const auto scaffold =
      Make(
          "__global__ void scale(const float* in, float* lambda, int is, int from, int in_) {}\n"
          "void run(const float* in, float* lambda, int is) {\n"
          "  scale<<<(is + 255) / 256, 256>>>(in, lambda, is, is, is);\n}\n",
          "scale")
          .value();
  EXPECT_NE(scaffold.files.at("reference.py").find("def reference(in__, is_):"), std::string::npos)
      << scaffold.files.at("reference.py");
  const LoadedTask loaded = Load(scaffold);
  EXPECT_EQ(loaded.task.tensors.at(1).name, "lambda_");
  EXPECT_EQ(LaunchOf(loaded).grid[0].Evaluate({{"is_", 1000}}).value(), 4);
}

TEST_F(ScaffoldTest, ReadsTheLaunchOfAProduct) {
  std::string text = kWithMain;
  text.replace(text.find("2 * BLOCK * sizeof_nothing"), 26, "2 * BLOCK * 16");
  const auto scaffold = Make(text).value();
  const LoadedTask loaded = Load(scaffold);
  const Sizes sizes = {{"M", 100}, {"N", 33}, {"K", 7}};
  EXPECT_EQ(TensorBytes(loaded.task.tensors[0], sizes).value(), 4 * 100 * 7);
  EXPECT_EQ(TensorBytes(loaded.task.tensors[1], sizes).value(), 4 * 7 * 33);
  EXPECT_EQ(TensorBytes(loaded.task.tensors[2], sizes).value(), 4 * 100 * 33);
  EXPECT_EQ(loaded.task.tolerance.reduction_length->text(), "K");
  EXPECT_EQ(loaded.task.flops.Evaluate(sizes).value(), 2 * 100 * 33 * 7);
  const LaunchOperation& launch = LaunchOf(loaded);
  EXPECT_EQ(launch.grid[0].Evaluate(sizes).value(), 3);
  EXPECT_EQ(launch.grid[1].Evaluate(sizes).value(), 7);  // rows is what the kernel calls M
  EXPECT_EQ(launch.block[1].Evaluate(sizes).value(), 16);
  EXPECT_EQ(launch.shared_bytes.Evaluate(sizes).value(), 512);
  EXPECT_EQ(loaded.task.rivals.at(0).candidate.toolchain, "nvcc");  // there is a main()
  EXPECT_EQ(loaded.task.rivals.at(0).candidate.sources.at("mine.cu"), text);
}

TEST_F(ScaffoldTest, InventsOnlyTheExtentOfALaunchThatIsBeyondIt) {
  std::string text = kWithMain;
  text.replace(text.find("<<<right"), 8, "<<<grid");
  const auto scaffold = Make(text).value();
  const LaunchOperation launch = LaunchOf(Load(scaffold));
  EXPECT_EQ(launch.block[0].text(), "16");
  EXPECT_EQ(launch.grid[0].Evaluate({{"M", 100}, {"N", 33}, {"K", 7}}).value(), 3);
  EXPECT_EQ(launch.grid[1].text(), "grid_y");
  EXPECT_THAT(scaffold.notes, testing::Contains(HasSubstr("no launch shows it: grid_y = 256")));
}

constexpr const char* kTwoDimensional = R"cuda(
#define TX 16
__global__ void warm(float* b) { b[0] = 0; }
__global__ void blur(const float* a, float* b, int nx, int ny, float weight, bool wrap) {
  b[blockIdx.y * nx + threadIdx.x] = a[0] * weight;
}
int main(int argc, char** argv) {
  const int w = 64, h = 48;
  float *a, *b, unknown = read();
  cudaMalloc(&a, w * h * 4);
  LAUNCH
}
)cuda";

std::string Launched(const std::string& text) {
  std::string source = kTwoDimensional;
  return source.replace(source.find("LAUNCH"), 6, text);
}

TEST_F(ScaffoldTest, ReadsLaunchesWrittenWithVariables) {
  const std::string end = "\nblur<<<grid, block>>>(a, b, w, h, 2.0f, true);";
  for (const char* text :
       {"dim3 block(TX, 8), grid((w + 15) / 16, h / 8);",
        "const dim3 block{TX, 8}; dim3 grid((w + block.x - 1) / block.x, h / block.y, 1);",
        "dim3 grid = dim3(w / 16, h / 8), block = {16, 8};",
        "dim3 grid, block; block.x = 16; block.y = 8; grid.x = w / 16; grid.y = h / block.y;",
        "int tx = 16; if (argc > 1) tx = atoi(argv[1]); dim3 block(tx, 8);\n"
        "dim3 grid((unsigned)ceil((float)w / block.x), ceil(h / 8.0));",
        "dim3 grid(1), block(1); warm<<<grid, block>>>(b);\n"
        "grid = dim3(w / 16, h / 8); block = dim3(16, 8);",
        "dim3 grid(w / 16, h / 8), block(16, 8), other(5);\n"
        "blur<pair<int, 4>><<<dim3(grid), block>>>(a, b, (int)w, h, 2.0f, true); grid = other;",
        "dim3 grid(w / 16, h / 8), block(16, 8); blur<<<unknown, 1>>>(a, b, w, h, 2.0f, true);"}) {
    const auto scaffold = Make(Launched(text + end), "blur").value();
    const LaunchOperation launch = LaunchOf(Load(scaffold));
    std::string extents;
    for (const auto* three : {&launch.grid, &launch.block}) {
      for (const Expression& one : *three) {
        const auto value = one.Evaluate({{"nx", 160}, {"ny", 80}});
        extents += value.ok() ? std::to_string(*value) + " " : value.error().Line();
      }
    }
    EXPECT_EQ(extents, "10 10 1 16 8 1 ") << text;
    EXPECT_THAT(scaffold.notes, testing::Contains(HasSubstr("of its launch in main")));
  }
}

TEST_F(ScaffoldTest, TakesConstantsOfTheLaunch) {
  const std::string before =
      "const float half = -.5f, third = 1.0 / read(); blur<<<w, 64, 0>>>(a, b, ";
  const auto arguments = [&](const std::string& given) {
    const auto scaffold = Make(Launched(before + given + ");"), "blur");
    const LoadedTask loaded = Load(scaffold.value());
    std::string text = std::to_string(loaded.workload.sizes.at("nx"));
    const std::string& plan = scaffold->files.at("current/candidate.toml");
    for (size_t at = plan.find("{ i32"); at < plan.size(); at = plan.find('{', at + 1)) {
      text += " " + plan.substr(at + 2, plan.find(" }", at) - at - 2);
    }
    for (const std::string& note : scaffold->notes) {
      if (note.starts_with("invented")) text += "; " + note;
    }
    return text;
  };
  EXPECT_EQ(arguments("w, 2, 2.0f, true"), R"(64 i32 = "nx" i32 = "2" f32 = 2.0 i32 = "1")");
  EXPECT_EQ(arguments("1 << 12, h, half, false"),
            R"(4096 i32 = "nx" i32 = "ny" f32 = -0.5 i32 = "0")");
  EXPECT_EQ(arguments("1024, h, 1e-5f, true"),
            R"(1024 i32 = "nx" i32 = "ny" f32 = 1e-05 i32 = "1")");
  EXPECT_EQ(arguments("(int)1e3 + w / 5, 1 + h, -half * 2.0f / (4 * TX), false"),
            R"(1012 i32 = "nx" i32 = "ny" f32 = 0.015625 i32 = "0")");
  EXPECT_EQ(arguments("3, 2, third, wrap"),
            R"(3 i32 = "nx" i32 = "ny" f32 = 1.0 i32 = "0"; invented, as no launch shows it: )"
            "weight = 1.0 (current/candidate.toml), wrap = 0 (current/candidate.toml)");
}

TEST_F(ScaffoldTest, KeepsTheLaunchWhoseSharedMemoryIsBeyondIt) {
  const auto scaffold = Make(kWithMain).value();
  EXPECT_EQ(LaunchOf(Load(scaffold)).block[1].text(), "16");
  EXPECT_THAT(scaffold.notes, testing::Contains(HasSubstr("sizeof_nothing as shared_bytes")));
}

TEST_F(ScaffoldTest, ReadsSharedMemoryInSizeof) {
  for (const auto& [bytes, value] : {std::pair{"BLOCK * sizeof(float)", 64},
                                     {"2 * BLOCK * sizeof( unsigned int )", 128},
                                     {"BLOCK * sizeof(__half)+sizeof(float4)", 48},
                                     {"N * sizeof(value_t)", 33 * 8}}) {
    std::string text = std::string("using value_t = double;\n") + kWithMain;
    text.replace(text.find("2 * BLOCK * sizeof_nothing"), 26, bytes);
    const LaunchOperation launch = LaunchOf(Load(Make(text).value()));
    EXPECT_EQ(launch.shared_bytes.Evaluate({{"M", 100}, {"N", 33}, {"K", 7}}).value(), value)
        << bytes;
  }
}

TEST_F(ScaffoldTest, AHostFunctionBecomesAProgram) {
  const auto scaffold =
      MakeScaffold({"mine", {{"mine.cu", kLauncher}, {"shared/tile.cuh", "// t"}}, "mine.cu", ""})
          .value();
  const LoadedTask loaded = Load(scaffold);
  ASSERT_TRUE(loaded.task.program.has_value());
  EXPECT_EQ(loaded.task.program->declaration,
            "extern \"C\" void run(const float* x, float* y, long n, cudaStream_t stream)");
  EXPECT_EQ(loaded.task.program->arguments, (std::vector<std::string>{"x", "y", "n", "nullptr"}));
  const Candidate& current = loaded.task.rivals.at(0).candidate;
  EXPECT_EQ(current.form, Form::kProgram);
  EXPECT_EQ(current.sources.at("shared/tile.cuh"), "// t");
  EXPECT_EQ(current.sources.at("mine.cu"), kLauncher);
  EXPECT_TRUE(CheckForm("current", current, loaded.task).ok());
}

TEST_F(ScaffoldTest, NamesDecideWhereNobodyWroteConst) {
  const auto scaffold =
      Make("__global__ void f(float* out, int* a, double* b, size_t n) {}").value();
  const LoadedTask loaded = Load(scaffold);
  EXPECT_EQ(loaded.task.tensors[0].role, Role::kOutput);
  EXPECT_EQ(loaded.task.tensors[1].role, Role::kInput);
  EXPECT_EQ(loaded.task.tensors[1].generator, Generator::kIntegers);
  EXPECT_EQ(loaded.task.tensors[2].dtype, DType::kF64);
  EXPECT_EQ(std::get<IntArgument>(LaunchOf(loaded).arguments[3]).bytes, 8);
}

TEST_F(ScaffoldTest, TellsWhatAnOutputThatStartsAsNanNeeds) {
  const std::string input = "b is an input as well",
                    border = "a guard leaves elements of b unwritten";
  for (const auto& [body, found] : std::vector<std::pair<std::string, std::string>>{
           {"if (x < w) b[x] += a[x];", input},
           {"if (x < w) b[x] = f(b[x] + a[0]);", input},
           {"atomicAdd(&b[x], a[x]);", input},
           {"b[x] = 0; b[x] += a[x]; float s = b[x];", ""},
           {"if (x > 0 && x < w - 1 && y < h) b[y * w + x] = a[y * w + x - 1];", border},
           {"if (x >= w - 1) return; b[y * w + x] = a[y * w + x];", border},
           {"if (x <= w - 1 && y < h) b[y * w + x] = a[y * w + x];", ""},
           {"if (x >= w) return; float s; if (x < w - 1) s = a[x]; b[y * w + x] = s;", ""},
           {"if (x < w - 1) { b[y * w + x] = a[x]; } else b[y * w + x] = 0;", ""},
           {"for (int i = x; i < w - 1; i += 64) b[y * w + i] = a[i];", border},
           {"for (int i = x; i < w; i += 64) b[y * w + i] = a[i];", ""},
           {"for (int i = x; i < w; ++i) { if (i > w - 2) continue; b[y * w + i] = a[i]; }",
            border},
           {"*(b + x) = *(a + x);", ""},
           {"*(b + x) *= 2;", input},
           {"float* p = b + x; *p = *p + a[x];", input},
           {"reinterpret_cast<float4*>(b)[x] = reinterpret_cast<float4*>(a)[x];", ""}}) {
    const auto scaffold = Make(
        "__global__ void t(float* b, float* a, int w, int h) {\n"
        "  int x = blockIdx.x * 16 + threadIdx.x, y = threadIdx.y; " +
        body + "}");
    std::string notes;
    for (const std::string& note : scaffold->notes) {
      if (note.find("as NaN") != note.npos) notes += note.substr(0, note.find(','));
    }
    EXPECT_EQ(notes, found) << body;
  }
}

TEST_F(ScaffoldTest, TypesMayHaveOtherNamesInTheFile) {
  const std::string kernel = "__global__ void k(const real* x, real* y, index n) {}\n";
  const LoadedTask loaded =
      Load(Make("typedef double real;\nusing index = long;\n" + kernel).value());
  EXPECT_EQ(loaded.task.tensors.at(0).dtype, DType::kF64);
  EXPECT_EQ(std::get<IntArgument>(LaunchOf(loaded).arguments[2]).bytes, 8);
  EXPECT_FALSE(Make("#if A\ntypedef double real;\n#else\ntypedef float real;\n#endif\n"
                    "#define index int\n" +
                    kernel)
                   .ok());
}

TEST_F(ScaffoldTest, TheUserMayChoose) {
  const std::string two =
      "__global__ void first(const float* x, float* y, int n) {}\n"
      "__global__ void second(const float* x, float* y, int n) {}\n"
      "void run(const float* x, float* y, int n) { first<<<n, 1>>>(x, y, n); }\n";
  EXPECT_THAT(Make(two)->notes,
              testing::Contains(HasSubstr("--function first, --function second")));
  EXPECT_EQ(LaunchOf(Load(Make(two, "first").value())).kernel, "first");
  const auto none = Make(two, "third");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().fix.find("first, second, run"), std::string::npos) << none.error().fix;
}

void Refuses(const std::string& source, const std::string& message) {
  const auto scaffold = MakeScaffold({"mine", {{"m.cu", source}}, "m.cu", ""});
  EXPECT_THAT(MessageOf(scaffold), HasSubstr(message));
  EXPECT_EQ(scaffold.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(scaffold.error().Line().find('\n'), std::string::npos);
}

TEST(Scaffold, SaysWhyNothingHereWillDo) {
  Refuses("", "no __global__ function");
  Refuses("int main() { return 0; }", "no __global__ function");
  Refuses(
      "template <int N> __global__ void f(float* x, int n) {}\n"
      "int main() { cudaMalloc(&x, 4); f<4><<<1, 2>>>(x, 3); }",
      "m.cu: kernel 'f' is a template");
  Refuses("static __global__ void f(float* x, int n) {}", "is static");
  Refuses("namespace { __global__ void f(float* x, int n) {} }", "is static or in an unnamed");
  Refuses("__global__ void f(Thing* x, int n) {}", "'x' of kernel 'f' is a 'Thing*'");
  Refuses("__global__ void f(float** x, int n) {}", "'x' of kernel 'f'");
  Refuses("__global__ void f(const float* x, int n) {}", "only takes pointers to const");
  Refuses("__global__ void f(int n) {}", "takes no pointer");
  Refuses("__global__ void f(const float* x, float* x) {}", "f has two parameters x");
  Refuses("__global__ void f(float* x, cudaStream_t s) {}", "'s' of kernel 'f'");
  Refuses("vo\\id run(float* x, int n) { k<<<n, 16>>>(x, n); }", "declares no function");
  Refuses(
      "template <class T> __global__ void k(T* x) {}\n"
      "void run(float* host, int n) { float* d; cudaMalloc(&d, n); k<<<1, n>>>(d); }",
      "allocates or copies memory itself");
}

TEST(Scaffold, ControlCharactersAreBlanksInItsFiles) {
  const std::string source =
      "void Run(const float* x, float* y, int n\x7f) {\n  k<<<n, 16>>>(x, y, n);\n}\n";
  const auto scaffold = MakeScaffold({"t", {{"k.cu", source}}, "k.cu", ""}).value();
  EXPECT_EQ(scaffold.files.at("task.toml").find('\x7f'), std::string::npos);
}

TEST(CudaScan, SeesThroughLayout) {
  const CudaFile file = ScanCuda(
      "#include <cstdio>\n#include \"own.h\"\n#define TILE (1 << 5)\nconst int kWide = 64;\n"
      "extern \"C\" {\n__global__ void /* c */ f(const unsigned int *const __restrict__ a,\n"
      " float b[], long long n = 3) { /* g<<<1,1>>>() */ } }\n"
      "struct S { void method(float* x) {} };\n"
      "__device__ void helper(float* x) {}\n"
      "namespace n { int host(float* x) { return 0; } }\n"
      "R\"x(__global__ void fake(float* x) {})x\";\n");
  ASSERT_EQ(file.functions.size(), 2u);
  const CudaFunction& f = file.functions[0];
  EXPECT_TRUE(f.kernel);
  EXPECT_TRUE(f.c_linkage);
  ASSERT_EQ(f.parameters.size(), 3u);
  EXPECT_EQ(f.parameters[0].element, "unsigned int");
  EXPECT_EQ(f.parameters[0].name, "a");
  EXPECT_TRUE(f.parameters[0].constant);
  EXPECT_EQ(f.parameters[1].pointers, 1);
  EXPECT_EQ(f.parameters[1].name, "b");
  EXPECT_EQ(f.parameters[2].element, "long long");
  EXPECT_TRUE(f.launches.empty());
  EXPECT_EQ(file.functions[1].name, "host");
  EXPECT_TRUE(file.functions[1].scoped);
  EXPECT_EQ(file.values.at("kWide"), "64");
  EXPECT_EQ(file.includes, std::vector<std::string>{"own.h"});
  EXPECT_EQ(file.system_includes, std::vector<std::string>{"cstdio"});
}

std::string Repeated(std::string_view text, size_t bytes) {
  std::string whole;
  while (whole.size() < bytes) whole += text;
  return whole;
}

TEST(CudaScan, HostileTextEndsSoon) {
  const double begin = MonotonicSeconds();
  constexpr char kTexts[] =
      "(|)|{|}|<|<<<|a<<<|a=|namespace{|namespace a{|\"|'|R\"(|/*|\\\n|#define a \\\n|"
      "extern \"C\"{|template<|void f(|f(){|void f(float*a){f<<<|a,|::|\xff\xfe|dim3 a(|"
      "#include <|1'|=;|extern |sizeof(|dim3 dim3,|dim3 a(dim3 b{|a.x=a.x+|f<<<a.x,a>>>(a);";
  for (const std::string_view text : Split(kTexts, '|')) {
    const std::string hostile = Repeated(text, 1 << 17);
    ScanCuda(hostile);
    const std::string after = "__global__ void f(float* y, int n) {" + hostile;
    EXPECT_LE(ScanCuda(after).functions.size(), hostile.size());
    MakeScaffold({"m", {{"m.cu", after + "}"}}, "m.cu", ""}).ok();
  }
  std::string names = "int main() { a0 = int;";  // that mean many names, and at last nothing
  for (int i = 1; i < 16; ++i) {
    names += "a" + std::to_string(i) + "=" + Repeated(" a" + std::to_string(i - 1), 500) + ";";
  }
  names += "f<<<a15, a15>>>(0, a15); }\n__global__ void f(float* y, int n) {}";
  MakeScaffold({"m", {{"m.cu", names}}, "m.cu", ""}).ok();
  EXPECT_LT(MonotonicSeconds() - begin, 60);  // what is quadratic takes many minutes
}

TEST(CudaScan, EveryPrefixOfARealFileIsTaken) {
  const std::string text = std::string(kWithMain) + kLauncher + kKernelOnly;
  for (size_t size = 0; size <= text.size(); ++size) {
    MakeScaffold({"m", {{"m.cu", text.substr(0, size)}}, "m.cu", ""}).ok();
  }
}

// "a [n], b [m, n]" of a kernel on a, b (and c) over w, h and d, after x, y, z from its indices.
std::string ShapesOf(const std::string& body, const std::string& launch = "") {
  const std::string source =
      "#define TILE 16\n#define AT4(p, i) ((float4*)(p))[(i) >> 2]\n"
      "__device__ void Copy(float* to, const float* from, int i, int n) {\n"
      "  float v = 0; if (i < n) v = from[i]; to[i] = v; }\n"
      "__global__ void k(const float* a, float* b, int w, int h, int d) {\n"
      "int x = blockIdx.x * TILE + threadIdx.x; int y = blockIdx.y * blockDim.y + threadIdx.y;\n" +
      body + "}\nint main() { int cols = 2048, rows = 512; " + launch + " }";
  const auto scaffold = MakeScaffold({"mine", {{"mine.cu", source}}, "mine.cu", "k"});
  std::string found;
  for (const std::string& note : scaffold->notes) {
    if (note.starts_with("guessed shapes: ")) found += note.substr(16, note.find(';') - 16);
    if (note.starts_with("no index")) found += "; " + note.substr(0, note.find(';'));
  }
  return found;
}

TEST(ScaffoldShapes, AreReadFromTheIndices) {
  const std::string inside = "if (x < w && y < h) ", rows = "if (y >= h) return; ";
  for (const auto& [body, shapes] : std::vector<std::pair<std::string, std::string>>{
           {inside + "b[y * w + x] = a[y * w + x];", "a [h, w], b [h, w]"},
           {inside + "{ int i = x + w * y; b[i] = a[i - 1] + a[i + w]; }", "a [h, w], b [h, w]"},
           {inside + "b[x * h + y] = a[y * w + x];", "a [h, w], b [w, h]"},
           {inside + "{ int p = (y * w + x) * 3; b[y * w + x] = a[p] + a[p + 2]; }",
            "a [h, w, 3], b [h, w]"},
           {"int i = x; if (i < w * h) b[i] = a[i % w] + a[i];", "a [h, w], b [h, w]"},
           {"int i = x; if (i < w * h) b[i] = a[i % w];", "a [w], b [h, w]"},
           {rows + "float s = 0; for (int i = 0; i < w; ++i) s += a[y * w + i]; b[y] = s;",
            "a [h, w], b [h]"},
           {rows +
                "const float* r = a + y * w; for (int i = x; i < w; i += 9) b[y * w + i] = r[i];",
            "a [h, w], b [h, w]"},
           {"for (int j = 0; j < TILE; j += 8) if (x < w && y + j < h) b[(y + j) * w + x] = a[x];",
            "a [w], b [h, w]"},
           {inside + "for (int z = 0; z < d; ++z) b[(z * h + y) * w + x] = a[z];",
            "a [d], b [d, h, w]"},
           {"b[y * w + x] = a[y * w + x];", "a [h, w], b [h, w]"},
           // A gate, whose halves lie one after the other.
           {"int i = x; if (i >= h * w * d) return; int p = i / w / d, q = i / d % w, r = i % d;\n"
            "b[(p * w + q) * d + r] = a[p * 2 * w * d + (q + w) * d + r];",
            "a [w, h, d, 2], b [h, w, d]; no index of a shows the order of its sizes"},
           {"int i = x; if (i < w) for (int j = 0; j < 5; ++j) b[i + j * w] = a[i + 1];",
            "a [w + 1], b [5, w]"},
           {"if (x >= w) return; b[x] = a[w - 1 - x];", "a [w], b [w]"},
           {"int i = x; while (i < w) { b[i] = (i < 9) ? 0 : a[i - 9]; i += 512; }",
            "a [w], b [w]"},
           {inside + "*(b + y * w + x) = *(a + x);", "a [w], b [h, w]"},
           {"a += y * w; if (y < h) for (int i = 0; i < w; ++i) b[y * w + i] = __ldg(a + i);",
            "a [h, w], b [h, w]"},
           {"if (x < w / 4) reinterpret_cast<float4*>(b)[x] = ((const float4*)a)[x];",
            "a [w], b [w]"},
           {"const float4* v = (const float4*)a; if (x < w / 4) *(float4*)&b[4 * x] = v[x];",
            "a [w], b [w]"},
           {inside + "{ load_matrix_sync(f, a + y * w + x, w); store_matrix_sync(b + y * w + x, f, "
                     "w, m); }",
            "a [h, w], b [h, w]"},
           {inside + "Move4(AT4(a, y * w + x), AT4(b, y * w + x));",
            "a [w, h], b [w, h]; no index of b, a shows the order of its sizes"},
           {inside + "Copy(b + y * w, a, x, w);",
            "a [w], b [w, h]; no index of b shows the order of its sizes"},
           {"atomicAdd(&b[blockIdx.x], a[f(x)]);",
            "a [w, h, d], b [w, h, d]; no index of b, a shows the order of its sizes"}}) {
    EXPECT_EQ(ShapesOf(body), shapes) << body;
  }
}

TEST(ScaffoldShapes, OneArgumentIsOneSize) {
  const std::string launch =
      "dim3 block(16, 8), grid((cols + 15) / 16, rows / 8); k<<<grid, block>>>(p, q, cols, rows, "
      "cols);";
  EXPECT_EQ(ShapesOf("b[y * d + x] = a[y * w + x];", launch), "a [h, w], b [h, w]");
}

TEST_F(ScaffoldTest, ALoopTellsWhatASquareProductSums) {
  const std::string kernel =
      "__global__ void f(const float* a, const float* b, float* c, int n) {\n"
      "  int x = threadIdx.x + blockIdx.x * 16, y = threadIdx.y + blockIdx.y * 16; float s = 0;\n"
      "  for (int t = 0; t < n / 16; ++t) s += a[y * n + t * 16 + threadIdx.x] * b[t * n + x];\n";
  const LoadedTask product = Load(Make(kernel + "c[y * n + x] = s; }").value());
  EXPECT_EQ(product.task.tolerance.reduction_length->text(), "n");
  EXPECT_EQ(product.task.flops.Evaluate({{"n", 10}}).value(), 2000);
}

TEST_F(ScaffoldTest, AKernelMayFixItsSize) {
  const std::string kernel =
      "#define N 5000\n__global__ void add(const float* a, float* c) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x; GUARD c[i] = a[i] + a[i]; }\n";
  const auto extents = [&](std::string text, const std::string& guard, const std::string& launch) {
    text.replace(text.find("GUARD"), 5, guard);
    const auto scaffold = Make(text + "int main(int argc, char** argv) {" + launch + "}").value();
    const LoadedTask loaded = Load(scaffold);
    EXPECT_EQ(loaded.task.workloads.size(), 1u);  // no other sizes are known
    EXPECT_TRUE(loaded.workload.sizes.empty());
    return loaded.task.tensors.at(0).shape.at(0).text() + " " +
           loaded.task.tensors.at(1).shape.at(0).text();
  };
  EXPECT_EQ(extents(kernel, "if (i < N)", ""), "5000 5000");
  EXPECT_EQ(extents(kernel, "", "add<<<64, 128>>>(p, q);"), "8192 8192");
  EXPECT_EQ(extents(kernel, "if (i < N - 8)",
                    "const int bytes = N * sizeof(float); cudaMalloc((void**)&p, bytes);\n"
                    "  CHECK(cudaMalloc(&q, 2 * bytes)); add<<<64, 128>>>(p, q);"),
            "5000 10000");
}

TEST_F(ScaffoldTest, AnnouncesTheSizesThatItInvents) {
  const auto scaffold = Make(
      "__global__ void f(const float* x, float* y, int n, int m) { int i = threadIdx.x;\n"
      "  if (i < n) y[i] = x[i]; }\nint main(int argc, char** argv) { int n = atoi(argv[1]);\n"
      "  int m = argc > 2 ? atoi(argv[2]) : 77; f<<<1, n>>>(x, y, n, m); }");
  EXPECT_THAT(scaffold->notes, testing::Contains(HasSubstr("no launch shows it: n = 16777216 ")));
  EXPECT_EQ(Load(*scaffold).workload.sizes.at("m"), 77);
}

// The tensors' extents, the sizes' values and the grid.
std::string GuessOf(const std::string& source, const std::string& function = "") {
  const auto scaffold = MakeScaffold({"mine", {{"mine.cu", source}}, "mine.cu", function}).value();
  std::string found = scaffold.files.at("task.toml");
  std::string text;
  for (size_t at = 0; (at = found.find("shape = ", at)) != found.npos; ++at) {
    text += found.substr(at + 8, found.find(" }", at) - at - 8) + " ";
  }
  for (size_t at = 0; (at = found.find("\nsizes = ", at)) != found.npos; ++at) {
    text += found.substr(at + 9, found.find('\n', at + 1) - at - 9) + " ";
  }
  const std::string& plan = scaffold.files.at("current/candidate.toml");
  const size_t grid = plan.find("grid = ");
  return text + (grid == plan.npos ? "" : plan.substr(grid + 7, plan.find("\narg") - grid - 7));
}

TEST(ScaffoldMemory, IsReadWhereItIsAllocated) {
  const std::string stencil =
      "__global__ void k(const float* u, float* v, int n) {\n"
      "  int i = blockIdx.x * 256 + threadIdx.x; if (i > 0 && i < n - 8) v[i] = u[i]; }\n";
  const std::string guess =
      R"x(["n"] ["n"] { n = 1048576 } { n = 524289 } ["ceil_div(n, 256)", "1", "1"]
block = ["256", "1", "1"])x";
  const std::string launch = "k<<<ceil_div(N, 256), 256>>>(";
  EXPECT_EQ(GuessOf(stencil +
                    "int main() { const int N = 1 << 20; size_t bytes = N * sizeof(float);"
                    "cudaMalloc(&a, bytes); cudaMalloc((void**)&b, bytes); " +
                    launch + "a, b, N); }"),
            guess);
  // By way of another function; what is too small for the indices is another pointer.
  EXPECT_EQ(GuessOf(stencil +
                        "void init() { cudaMalloc(&q[0], 9000); }\n"
                        "void run(float* x, float* y, int count) { " +
                        "k<<<ceil_div(count, 256), 256>>>((float*)x, y, count); }\n" +
                        "int main() { int len = 1048576; cudaMalloc(&p, sizeof(float) * len);\n"
                        "  run(p, q[1], len); }",
                    "k"),
            R"x(["n"] ["n"] { n = 1048576 } { n = 524289 } ["ceil_div(n, 256)", "1", "1"]
block = ["256", "1", "1"])x");
  EXPECT_EQ(GuessOf("__global__ void k(const float2* u, char* v) { v[f(0)] = u[g(0)].x; }\n"
                    "int main() { cudaMalloc(&a, 512 * sizeof(float2)); cudaMalloc(&b, 77);\n"
                    "  k<<<4, 32>>>(a, b); }"),
            R"(["1024"] ["77"] {  } ["4", "1", "1"]
block = ["32", "1", "1"])");
}

TEST(ScaffoldMemory, ALaunchTellsRowsThatNoParameterCounts) {
  const std::string kernel =
      "#define AT(r, c) ((r) * width + (c))\n"
      "__global__ void k(const float* x, float* y, float* s, int width, int times) {\n"
      "  for (int t = 0; t < times; ++t) for (int i = threadIdx.x; i < width; i += blockDim.x)\n"
      "    y[AT(blockIdx.x, i)] = x[AT(blockIdx.x, i)]; s[blockIdx.x] = 0; }\n";
  EXPECT_EQ(GuessOf(kernel + "int main(int argc, char** argv) { int batch = atoi(argv[1]), t = 0;\n"
                             "  scanf(f, &t); k<<<batch, t>>>(x, y, s, 768, 1000); }"),
            R"(["batch", "width"] ["batch", "width"] ["batch"] )"
            R"({ width = 768, times = 1000, batch = 4096 } )"
            R"({ width = 385, times = 1000, batch = 2049 } ["batch", "1", "1"]
block = ["256", "1", "1"])");
}

TEST(ScaffoldMemory, HiddenSizesFitAKernelWithoutAGuard) {
  const std::string kernel =
      "__global__ void k(const float* x, float* y, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x; GUARD y[i] = x[i]; }\n"
      "int main() { int n = 4096; k<<<BLOCKS, 128>>>(x, y, n); }";
  const auto odd = [&](const std::string& guard, const std::string& blocks) {
    std::string text = kernel;
    text.replace(text.find("GUARD"), 5, guard).replace(text.find("BLOCKS"), 6, blocks);
    const std::string guess = GuessOf(text);
    const size_t at = guess.rfind("{ n = ");
    return guess.substr(at + 6, guess.find(' ', at + 6) - at - 6);
  };
  EXPECT_EQ(odd("if (i < n)", "(n + 127) / 128"), "2049");
  EXPECT_EQ(odd("", "(n + 127) / 128"), "2048");
  EXPECT_EQ(odd("if (i < n)", "n / 128"), "2048");
}

TEST_F(ScaffoldTest, TellsOfMemoryThatStaysZero) {
  const std::string kernel =
      "__constant__ float c[4];\n__global__ void k(float* y, int n) { y[threadIdx.x] = c[n]; }\n";
  for (const char* copy : {"(c, h, 16)", "Async(c, h, 16, 0, k, s)"}) {
    EXPECT_THAT(Make(kernel + "void init() { cudaMemcpyToSymbol" + copy + "; }")->notes,
                testing::Contains(HasSubstr("nothing fills c here")));
  }
}

// The notes about extents that may be too small.
std::string DoubtsOf(const std::string& body, const std::string& host = "") {
  const std::string kernel =
      "__device__ void fill(float* p, int from);\n"
      "__global__ void k(const float* a, const int* at, float* b, int w, int h) {\n"
      "int x = blockIdx.x * blockDim.x + threadIdx.x; " +
      body + "}\nint main() { int w = 512, h = 256; " + host + " k<<<2, 256>>>(a, at, b, w, h); }";
  std::string doubts;
  const auto scaffold = MakeScaffold({"m", {{"m.cu", kernel}}, "m.cu", "k"});
  for (const std::string& note : scaffold->notes) {
    const bool one = note.starts_with("how far") || note.starts_with("the code seems");
    if (one) doubts += note.substr(0, note.find(':')) + ".";
  }
  return doubts;
}

TEST(ScaffoldDoubts, AreNamed) {
  const auto unread = [](const std::string& tensor) {
    return "how far the code goes in " + tensor + " could not be read.";
  };
  EXPECT_EQ(DoubtsOf("if (x < w) b[x] = a[x];"), "");
  EXPECT_EQ(DoubtsOf("if (x < w) b[x] = a[at[x]];"), unread("a"));
  EXPECT_EQ(DoubtsOf("if (x < w) b[x] = a[at[x]];", "cudaMalloc(&a, w * h * 4);"), "");
  EXPECT_EQ(DoubtsOf("if (x < w) { b[x] = a[x]; fill(b, x); }"), unread("b"));
  EXPECT_EQ(DoubtsOf("int i = x; if (x < w) { b[i] = 0; i += h; b[i] = a[x]; }"), unread("b"));
  EXPECT_EQ(DoubtsOf("for (int i = 0; i < w; ++i) { b[i] = *a; a += 3; }"), unread("a"));
  EXPECT_EQ(DoubtsOf("for (int y = 0; y < h; ++y) if (x < w) b[y * w + x] = a[y * w + x + w];"),
            "the code seems to go past the end of a (element 131584 of 131072).");
  EXPECT_EQ(DoubtsOf("for (int j = 0; j < w; j += 16) if (x + j < w) b[x + j] = a[x + j];"), "");
  EXPECT_EQ(DoubtsOf("b[x] = x + blockDim.x < w ? a[x + blockDim.x] : 0;"), "");
}

TEST(ScaffoldDoubts, OnlyALoopsOwnStepEndsItSooner) {
  const char* odd =
      "__global__ void k(float* a) { for (int i = 0, j = 1; j < 8; j += 2) a[j] = 0; }";
  EXPECT_THAT(GuessOf(odd), HasSubstr(R"(["8"])"));
  EXPECT_EQ(DoubtsOf("for (int j = 0; x + j < 1536; j += 1000) b[x] = a[x + j];"),
            "the code seems to go past the end of a (element 1536 of 512).");
}

TEST(ScaffoldDoubts, APitchMayBeRounded) {
  const std::string rows =
      "__global__ void t(float* b, const float* a, int w, int pitch) {\n"
      "  for (int i = threadIdx.x; i < w; i += 256)\n"
      "    b[blockIdx.x * w + i] = a[blockIdx.x * pitch + i]; }\n"
      "int main(int argc, char** argv) { int pitch = PITCH, rows = atoi(argv[1]);\n"
      "  t<<<rows, 256>>>(b, a, 5000, pitch); }";
  const auto pitch = [&](const std::string& text) {
    std::string source = rows;
    const std::string guess = GuessOf(source.replace(source.find("PITCH"), 5, text));
    return guess.substr(guess.find("pitch = ") + 8, 5);
  };
  EXPECT_EQ(pitch("(5000 + 63) & ~63"), "5056,");
}

TEST(ScaffoldMemory, AnAllocationTellsTheOrder) {
  const std::string kernel =
      "__global__ void k(const float* a, float* b, int n, int rows) {\n"
      "  b[f(0)] = a[g(0)]; }\nint main() { int n = 512, rows = 64;\n"
      "  cudaMalloc(&p, BYTES); cudaMalloc(&q, 4 * n); k<<<1, 32>>>(p, q, n, rows); }";
  for (const auto& [bytes, shape] :
       {std::pair{"rows * n * sizeof(float)", "[\"rows\", \"n\"]"},
        {"sizeof(float) * n * 3 * rows", "[\"n\", \"3\", \"rows\"]"}}) {
    std::string text = kernel;
    EXPECT_THAT(GuessOf(text.replace(text.find("BYTES"), 5, bytes)), testing::StartsWith(shape));
  }
}

TEST_F(ScaffoldTest, ReadsTheBranchThatIsDefined) {
  const std::string types =
      "#define DOUBLE\n#ifdef DOUBLE\n#define Real double\n#else\n"
      "#define Real float\n#endif\n#ifndef SLOW\n#define BF __nv_bfloat16\n"
      "#else\n#define BF float\n#endif\n";
  const LoadedTask loaded =
      Load(Make(types + "__global__ void k(const Real* x, BF* y, int n) { y[threadIdx.x] = x[n]; }")
               .value());
  EXPECT_EQ(loaded.task.tensors.at(0).dtype, DType::kF64);
  EXPECT_EQ(loaded.task.tensors.at(1).dtype, DType::kBF16);
  EXPECT_EQ(loaded.task.tensors.at(1).shape.size(), 1u);
}

constexpr const char* kKernel =
    "#include \"parts/tile.cuh\"\n#include \"elsewhere.h\"\n#include \"../secret.h\"\n"
    "#include <helper_cuda.h>\n#include <cuda_fp16.h>\n#include <vector>\n"
    "extern \"C\" __global__ void f(const float* x, float* y, int n) {}\n";

TEST_F(ScaffoldTest, BringsWhatTheFileIncludesOfItsFolder) {
  Write("secret.h", "no");
  Write("src/parts/tile.cuh", "#include \"warp.cuh\"\n#include \"tile.cuh\"\n");
  Write("src/parts/warp.cuh", "// warp");
  const auto input = ReadScaffoldInput(Write("src/my kernel.cu", kKernel), "").value();
  EXPECT_EQ(input.name, "my-kernel");
  EXPECT_EQ(input.entry, "my kernel.cu");
  ASSERT_EQ(input.sources.size(), 3u);
  EXPECT_EQ(input.sources.at("parts/warp.cuh"), "// warp");
  EXPECT_THAT(MakeScaffold(input)->notes,
              testing::Contains(HasSubstr("folder: elsewhere.h, ../secret.h, helper_cuda.h; put")));
}

TEST_F(ScaffoldTest, WritesATaskThatLoadsAndOverwritesNothing) {
  const auto input = ReadScaffoldInput(Write("my.cu", kKernel), "").value();
  const Scaffold scaffold = MakeScaffold(input).value();
  const auto out = folder_.path() / "tasks" / "my";
  ASSERT_TRUE(WriteScaffold(scaffold, out).ok());
  const auto loaded = LoadTask(out.string()).value();
  EXPECT_EQ(loaded.task.name, "my");
  const Status again = WriteScaffold(scaffold, out);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().fix.find("--out"), std::string::npos);
}

TEST_F(ScaffoldTest, SaysWhatCannotBeRead) {
  EXPECT_EQ(ReadScaffoldInput(folder_.path() / "none.cu", "").error().code, ErrorCode::kNoInput);
  EXPECT_EQ(ReadScaffoldInput(folder_.path(), "").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ReadScaffoldInput(Write("bytes.cu", "\xff\xfe"), "").error().code,
            ErrorCode::kBadInput);
}

}  // namespace
}  // namespace warpsmith::task
