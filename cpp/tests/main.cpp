// Runs every registered test, or those whose names contain the first argument.
#include "support/check.hpp"
#include "support/naive_blas.hpp"

#include <cstring>
#include <exception>

int main(int n_arguments, char** arguments) {
  using namespace alphapath::test;
  use_naive_blas();
  int n_run = 0;
  for (const Test& test : all_tests()) {
    if (n_arguments > 1 && std::strstr(test.name, arguments[1]) == nullptr)
      continue;
    const int before = n_failures();
    try {
      test.run();
    } catch (const std::exception& error) {
      report(test.name, 0, error.what());
    }
    ++n_run;
    std::printf("%s %s\n", n_failures() == before ? "ok    " : "FAILED", test.name);
  }
  std::printf("%d tests, %d failures\n", n_run, n_failures());
  return n_failures() == 0 && n_run > 0 ? 0 : 1;
}
