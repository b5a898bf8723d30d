#pragma once
/// \file
/// What no table of D planes exceeds, whatever its frequencies: the Index head as a spherical code.
///
/// A head with amplitudes a puts the key at lag s at the point (sqrt(a_f) e^{i theta_f s})_f of the
/// unit sphere in R^2D, and two points at lags s, t have the squared distance 2 sum_f a_f (1 - cos
/// theta_f (s - t)). So a margin Delta at length n means n points on that sphere, every two at an
/// angle of at least phi, Delta = 1 - cos phi: a (cyclic group) code. Caps of angular radius phi/2
/// around them do not overlap, so n of them have at most the area of the sphere; and by Rankin's
/// bounds phi is at most a right angle for n >= 2D + 2, and cos phi >= -1/(n-1) always.
///
/// By hand, D = 1: n arcs of length phi on a circle, phi <= 2 pi/n: R2, and it is attained.

#include "theory/enclosure.hpp"

namespace ropewalk::proofs_numeric {

/// The least of the three bounds on the margin at length n (T = n - 1) of an Index head on D
/// planes. Domain: 1 <= D <= 4096, 2 <= n <= 10^18 (Error(bad_value)). Guarantee: Enclosure of
/// relative width below 1e-12. Cost: O(D) per step, about 100 steps. Source: Rankin (1955); R2, R3.
[[nodiscard]] theory::Enclosure packing_bound(unsigned planes, const theory::Integer& length);

}  // namespace ropewalk::proofs_numeric
