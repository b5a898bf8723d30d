#pragma once
/// \file
/// Which construction a head is: its queries, keys and logits held against the two heads of the
/// theory, both fitted, whatever the inputs were made for.
///
/// A plane is a complex number, u_f of a query and w_f of a key, both before rotation, and
///
///   logit at lag t = scale Re sum_f u_f conj(w_f) e^{i theta_f t}
///
/// | head      | queries                  | keys               | logit                        |
/// |-----------|--------------------------|--------------------|------------------------------|
/// | Index     | v_f e^{-i theta_f m}     | w, every one       | S(t - m)                     |
/// | Retrieval | x_c, c the wanted symbol | y_c', c' their own | that of x_c and y_c' at t    |
///
/// with S(s) = sum_f a_f cos(theta_f s + phi_f). A query of an Index head, turned forward by the m
/// that it wants, is the same v every time: how far turned queries agree, and how far keys do, says
/// how near a head is to one. Logits are compared within a query, as softmax does: a constant per
/// query is left out. Half of the inputs are fitted, the other half judge.

#include <Eigen/Core>
#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

namespace ropewalk::checkpoints {

/// One row per token, one column per plane.
using PlaneRows =
    Eigen::Matrix<std::complex<double>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct HeadKeys {
  PlaneRows planes;                   ///< before rotation
  std::vector<std::int32_t> symbols;  ///< of the tokens
  int group = 0;                      ///< of inputs that are alike; those of group 0 are fitted
};

/// A query whose target is known.
struct Asked {
  std::size_t input = 0;
  std::int64_t first = 0;             ///< it sees the keys first .. position
  std::int64_t position = 0;          ///< its own
  std::int64_t target = 0;            ///< position of the key that it wants
  std::vector<std::int64_t> correct;  ///< positions that are as good, the target included
  std::int32_t wanted = 0;            ///< symbol
  Eigen::RowVectorXcd planes;         ///< before rotation

  [[nodiscard]] std::int64_t keys() const { return position - first + 1; }
  [[nodiscard]] std::int64_t lag() const { return position - target; }
};

struct MeasuredHead {
  std::vector<double> frequencies;  ///< radians per token; of planes that stand still 0
  std::int64_t rotating = 0;        ///< the planes before this one rotate
  double scale = 1;                 ///< of the scalar product, before a softcap
  std::vector<HeadKeys> inputs;
  std::vector<Asked> asked;
};

/// Logits of the keys first .. position. Guarantee: Heuristic (rounding). Cost: keys * planes.
[[nodiscard]] Eigen::VectorXd logits(const MeasuredHead& head, const Asked& asked);

/// Smallest logit of a correct key minus largest of another; nothing where there is no other.
[[nodiscard]] std::optional<double> margin(const MeasuredHead& head, const Asked& asked);

struct IndexPlane {
  double query_share = 0;  ///< |mean turned query|^2 / mean |query|^2: 1 is e^{-i theta m} v
  double key_share = 0;    ///< |mean key|^2 / mean |key|^2: 1 is one key
  double amplitude = 0;    ///< a_f >= 0, in logits
  double phase = 0;        ///< phi_f, radians
  double carries = 0;      ///< share of the fitted logits' variance; these add up to 1
};

struct IndexFit {
  double query_share = 0;  ///< over all rotating planes together
  double key_share = 0;
  std::vector<IndexPlane> planes;  ///< the rotating ones
  std::int64_t peak = 0;  ///< where S is largest, among the relative lags seen; 0: the target
  double explained = 0;   ///< share of the variance of logits within queries, held out
};

struct RetrievalFit {
  std::size_t symbols = 0;            ///< wanted ones
  std::optional<double> code_margin;  ///< least over symbols wanted and held: match less best other
                                      ///< at lag 0, in logits
  std::vector<double> carries;        ///< by plane, those that stand still included
  double explained = 0;               ///< as above
};

/// Amplitudes and phases of S by least squares over all (query, key) pairs, with a small pull
/// towards those of the mean turned query and the mean key. `explained` is no number where no query
/// is held out. Domain: at least one query (Error(bad_value)). Guarantee: Heuristic. Cost: pairs *
/// planes^2. Source: R3, P1 App. F.2.
[[nodiscard]] IndexFit fit_index(const MeasuredHead& head);

/// S(0) less the largest S(s), 1 <= |s| <= reach, for reach >= 1: at most Delta*(reach) times the
/// sum of the amplitudes. Guarantee: Heuristic. Cost: planes * reach.
[[nodiscard]] double two_sided_margin(const MeasuredHead& head, const IndexFit& fit,
                                      std::int64_t reach);

/// One vector for each symbol wanted and one for each held: the means at first, then least squares
/// over the pairs with a small pull towards them. Domain and guarantee as above. Cost: some ten
/// passes of planes per pair. Source: P1 App. F.2.
[[nodiscard]] RetrievalFit fit_retrieval(const MeasuredHead& head);

/// Share of the variance of logits within queries that planes carry which do not rotate.
[[nodiscard]] double still_share(const MeasuredHead& head);

/// The fewest planes that carry so much, the heaviest first.
[[nodiscard]] std::vector<std::size_t> carrying(const std::vector<double>& carries,
                                                double share = 0.9);
[[nodiscard]] std::vector<std::size_t> carrying(const IndexFit& fit, double share = 0.9);

}  // namespace ropewalk::checkpoints
