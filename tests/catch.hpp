#pragma once
/// \file
/// Catch2, version 2 or 3, under one set of names: those of version 3. Tests include this header
/// and no other of Catch2.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>

namespace Catch {
using Detail::Approx;
namespace Matchers {
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }
}  // namespace Matchers
}  // namespace Catch
#endif

#include <iostream>
#include <string>

namespace ropewalk::tests {

/// Whether everything runs under the sanitizers, which makes it ten to twenty times slower.
#ifdef ROPEWALK_SANITIZED
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = false;
#endif

/// Says why a test case ends early, so that ctest counts it as skipped. The case then returns.
inline void skipped(const std::string& reason) {
  std::cout << "ropewalk test skipped: " << reason << std::endl;
}

}  // namespace ropewalk::tests
