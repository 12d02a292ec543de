// A test is a function that registers itself; CHECK records a failure and goes on.
#pragma once

#include <cmath>
#include <cstdio>
#include <vector>

namespace alphapath::test {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int& n_failures() {
  static int count = 0;
  return count;
}

struct Registration {
  Registration(const char* name, void (*run)()) { all_tests().push_back({name, run}); }
};

inline void report(const char* file, int line, const char* what) {
  ++n_failures();
  std::printf("%s:%d: failed: %s\n", file, line, what);
}

/// |a - b| <= tolerance; false for NaN.
inline bool is_close(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance;
}

} // namespace alphapath::test

#define TEST(name)                                                                                 \
  static void name();                                                                              \
  static const ::alphapath::test::Registration registration_of_##name(#name, name);                \
  static void name()

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition))                                                                              \
      ::alphapath::test::report(__FILE__, __LINE__, #condition);                                   \
  } while (false)

#define CHECK_THROWS(expression, exception)                                                        \
  do {                                                                                             \
    bool has_thrown = false;                                                                       \
    try {                                                                                          \
      (void)(expression);                                                                          \
    } catch (const exception&) {                                                                   \
      has_thrown = true;                                                                           \
    }                                                                                              \
    if (!has_thrown)                                                                               \
      ::alphapath::test::report(__FILE__, __LINE__, #expression " throws " #exception);            \
  } while (false)
