#include "theory/scores.hpp"

namespace ropewalk::theory {

template std::optional<Exclusion<double>> exclusion(const LogitMatrix<double>&);
template std::optional<Exclusion<Rational>> exclusion(const LogitMatrix<Rational>&);
template std::optional<Exclusion<Interval<40>>> exclusion(const LogitMatrix<Interval<40>>&);
template std::optional<HeadScores<double>> head_scores(const LogitMatrix<double>&, const Rational&);
template std::optional<HeadScores<Interval<40>>> head_scores(const LogitMatrix<Interval<40>>&,
                                                             const Rational&);

}  // namespace ropewalk::theory
