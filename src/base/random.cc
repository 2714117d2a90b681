#include "base/random.h"

#include <sys/random.h>

#include <bit>
#include <cmath>
#include <span>

#include "base/result.h"

namespace warpsmith {
namespace {

uint64_t SplitMix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t Fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::array<uint64_t, 4> SeededState(uint64_t seed, std::string_view stream) {
  uint64_t mixer = SplitMix64(seed) ^ Fnv1a64(stream);
  std::array<uint64_t, 4> state{};
  for (uint64_t& word : state) word = SplitMix64(mixer);
  return state;
}

// Natural logarithm from + - * / alone: libm's differs in the last bit between machines.
double PortableLog(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);  // |s| <= 0.172
  double series = 0;                                 // atanh(s) / s
  for (int term = 23; term >= 1; term -= 2) series = series * (s * s) + 1.0 / term;
  return 2 * s * series + exponent * 0.69314718055994531;
}

// Highest power first.
double Polynomial(std::span<const double> coefficients, double x) {
  double value = 0;
  for (const double coefficient : coefficients) value = value * x + coefficient;
  return value;
}

// Wichura's AS 241 (PPND16), Applied Statistics 37 (1988): the normal quantile to 1e-16.
constexpr double kCentreTop[] = {2.5090809287301226727e3, 3.3430575583588128105e4,
                                 6.7265770927008700853e4, 4.5921953931549871457e4,
                                 1.3731693765509461125e4, 1.9715909503065514427e3,
                                 1.3314166789178437745e2, 3.3871328727963666080e0};
constexpr double kCentreBottom[] = {5.2264952788528545610e3, 2.8729085735721942674e4,
                                    3.9307895800092710610e4, 2.1213794301586595867e4,
                                    5.3941960214247511077e3, 6.8718700749205790830e2,
                                    4.2313330701600911252e1, 1.0};
constexpr double kTailTop[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                               2.41780725177450611770e-1, 1.27045825245236838258e0,
                               3.64784832476320460504e0,  5.76949722146069140550e0,
                               4.63033784615654529590e0,  1.42343711074968357734e0};
constexpr double kTailBottom[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                  1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                  6.89767334985100004550e-1, 1.67638483018380384940e0,
                                  2.05319162663775882187e0,  1.0};
constexpr double kFarTop[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                              1.24266094738807843860e-3, 2.65321895265761230930e-2,
                              2.96560571828504891230e-1, 1.78482653991729133580e0,
                              5.46378491116411436990e0,  6.65790464350110377720e0};
constexpr double kFarBottom[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                 1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                 1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                 5.99832206555887937690e-1,  1.0};

double NormalQuantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Polynomial(kCentreTop, r) / Polynomial(kCentreBottom, r);
  }
  const double r = std::sqrt(-PortableLog(q < 0 ? p : 1 - p));
  const double tail = r <= 5 ? Polynomial(kTailTop, r - 1.6) / Polynomial(kTailBottom, r - 1.6)
                             : Polynomial(kFarTop, r - 5) / Polynomial(kFarBottom, r - 5);
  return q < 0 ? -tail : tail;
}

}  // namespace

Random::Random(uint64_t seed, std::string_view stream) : state_(SeededState(seed, stream)) {}

Random Random::Secret() {
  std::array<uint64_t, 4> state{};
  CHECK(getrandom(state.data(), sizeof(state), 0) == sizeof(state));
  return Random(state);
}

uint64_t Random::Bits() {  // xoshiro256** 1.0, Blackman and Vigna
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t bound) {  // Lemire's multiplication with rejection: unbiased
  CHECK(bound > 0);
  const uint64_t unfair = -bound % bound;
  while (true) {
    const unsigned __int128 product = static_cast<unsigned __int128>(Bits()) * bound;
    if (static_cast<uint64_t>(product) >= unfair) return static_cast<uint64_t>(product >> 64);
  }
}

double Random::Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }

size_t Random::Pick(std::span<const double> weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  double at = Uniform() * total;
  for (size_t i = 0; i < weights.size(); ++i) {
    at -= weights[i];
    if (at < 0) return i;
  }
  return weights.size() - 1;
}

double Random::Normal() {
  return NormalQuantile((static_cast<double>(Bits() >> 12) + 0.5) * 0x1p-52);
}

}  // namespace warpsmith
