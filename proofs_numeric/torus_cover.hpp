#pragma once
/// \file
/// Common returns of several planes, for every table at once.
///
/// D planes that turn by alpha_1..alpha_D turns per token are one point of the torus. Dirichlet's
/// pigeonhole says that some lag 1 <= s <= Q^D brings all of them within 1/Q turn of their start.
/// Here a machine says so for stated D and Q: it halves boxes of the torus until one lag serves a
/// whole box, which for a box of centre c and half width h means ||s c_f|| + s h <= 1/Q for every
/// f. All in integers. The pigeonhole is strict (< 1/Q), so every point has a box around it that
/// one lag serves, and the halving ends.

#include <cstdint>

#include "proofs_numeric/certificate.hpp"

namespace ropewalk::proofs_numeric {

struct TorusCover {
  bool complete = false;
  std::size_t boxes = 0;  ///< boxes with a lag that serves them, in [0, 1/2]^D
};

/// Domain: 1 <= planes <= 4, 1 <= q, q^planes <= 65536 (Error(bad_value)). Only [0, 1/2]^D is
/// covered: ||s alpha|| is the same at -alpha. Guarantee: Exact. Cost: about (q^planes)^planes
/// boxes times lags; 2 planes, q = 8: below 1 s. Source: R3, R4.
[[nodiscard]] TorusCover cover_torus(unsigned planes, unsigned q);

/// The cover of two planes as a relation on a uniform grid, for a small q. Domain: 2 <= q <= 3.
[[nodiscard]] Fact torus_cover_fact(unsigned q);

}  // namespace ropewalk::proofs_numeric
