#pragma once
/// \file
/// Whole models written down: one head per layer, h hops in h layers, every weight explicit, before
/// any norm (checkpoints/weight_set.hpp puts norms around them).
///
/// The residual stream is made of *slots*. Slot 0 holds the token at this position, slot l what
/// layer l found; a token is two one-hot *symbols*, and what a query needs of it is one more:
///
///   rule    slot 0                        slot l                     layer l reads
///   lag     offset | symbols of a letter  symbols                    query, key: slot 0; value:
///   l-1 token   wanted | left | right         the same                   query: l-1; key, value:
///   slot 0 last    as token, one layer
///
/// - *lag* (Number, Index). Every position looks m(own integer) back in every layer, and layer l
///   fetches what layer l-1 had fetched there: after l layers the token l hops away. A letter looks
///   at itself. Letters are numbered in two digits, so 120 of them take 11 + 11 symbols; whatever
///   is no letter has a symbol of its own in both digits. Answer as P1's Index has it: the letter
///   reached, or else the integer that stands here.
/// - *token* (Letter, Retrieval). Keys and values are those of the original tokens, the query is
///   that of the token found last: the pointer moves, the text stays. A leaf wants its own left
///   letter and so finds itself.
/// - *last* (mixed, P2's f_MIX). As token; among keys that match the nearest wins.
///
/// Slots are why one scale serves all layers: no layer writes over what another one reads, the
/// stream has the same norm at every position but for leakage, and a model of l > h layers needs
/// nothing more (Reflexive layers write nothing).

#include "constructions/index.hpp"
#include "constructions/vocabulary.hpp"

namespace ropewalk::constructions {

/// The head of every layer: which planes do what.
struct HeadPlan {
  std::vector<Formula> frequencies;  ///< radians per token, one per plane of the architecture
  Rational scale = 1;                ///< softmax scale, all of it in the queries
  std::vector<Rational> amplitudes;  ///< lag: one per plane, >= 0, sum 1
  /// token, last: one plane with the letters round a circle (P1), or a plane for each letter.
  std::vector<std::size_t> letters;
  /// last: the plane on which near keys win, and its share of the logit; letters get the rest.
  std::optional<std::size_t> nearness;
  Rational nearness_share = Rational(3, 10);
  /// Phases are centred on lags 0..centre-1 (R6); 0: as P1 and P2 have them.
  Lag centre = 0;
};

/// The tables of a head by class. Logit of query class a on key class b at lag t:
/// <rotation(t) queries_a, keys_b + common>.
template <class S>
struct HeadTable {
  Matrix<S> queries;  ///< 2P x Vocabulary::queries(), rows interleaved, scaled
  Matrix<S> keys;     ///< 2P x Vocabulary::keys()
  Matrix<S> common;   ///< 2P x 1: what every key has
};

namespace detail {
void check_plan(const Vocabulary& vocabulary, const HeadPlan& plan);
}

/// Guarantee: that of S; for Rational Error(not_exact) where a rotation is none (index.hpp,
/// retrieval.hpp). Throws Error(bad_value) for a plan that does not fit the vocabulary. Sources: P1
/// App. F.2 (one plane), R3 (amplitudes), R6 (circle, orthogonal, centred), P2 Thm 6 (last).
template <class S>
[[nodiscard]] HeadTable<S> head_table(const Vocabulary& vocabulary, const HeadPlan& plan) {
  detail::check_plan(vocabulary, plan);
  const auto rows = static_cast<Eigen::Index>(2 * plan.frequencies.size());
  HeadTable<S> table{detail::zeros<S>(rows, vocabulary.queries()),
                     detail::zeros<S>(rows, vocabulary.keys()), detail::zeros<S>(rows, 1)};
  const S scale = Scalar<S>::from(plan.scale);
  if (vocabulary.rule == Rule::lag) {
    for (Token m = 0; m < vocabulary.queries(); ++m)
      table.queries.col(m) = detail::aligned_query<S>(plan.frequencies, plan.amplitudes, m) * scale;
    table.common = detail::aligned_key<S>(plan.amplitudes);
    return table;
  }
  const auto put = [](Matrix<S>& m, std::size_t plane, Token column, const Point<S>& p,
                      const S& factor) {
    const auto row = static_cast<Eigen::Index>(2 * plane);
    m(row, column) = S(factor * p.x);
    m(row + 1, column) = S(factor * p.y);
  };
  const auto back = [&](std::size_t plane) {
    if (plan.centre == 0) return Point<S>{S(1), S(0)};
    const Formula& theta = plan.frequencies[plane];
    if (bit_test(plan.centre, 0)) return theory::rotation<S>(theta, Lag((1 - plan.centre) / 2));
    return theory::rotation<S>(theory::folded(theta) / Formula(2), Lag(1 - plan.centre));
  };
  const Rational near = plan.nearness ? plan.nearness_share : Rational(0);
  const S share = Scalar<S>::from(Rational(plan.scale * (1 - near)));
  const bool circle = plan.letters.size() == 1;
  const Formula omega = Formula(2) * Formula::pi() / Formula(vocabulary.letters);
  for (Token a = 0; a < vocabulary.letters; ++a) {
    const std::size_t plane = plan.letters[circle ? 0 : static_cast<std::size_t>(a)];
    const Point<S> p = circle ? theory::rotation<S>(omega, Lag(-a)) : Point<S>{S(1), S(0)};
    put(table.queries, plane, a, back(plane) * p, share);
    put(table.keys, plane, a, p, S(1));
    if (!plan.nearness) continue;
    // cos t theta falls with the lag where it starts at 0; centred, -sin of it falls fastest.
    const std::size_t f = *plan.nearness;
    const Point<S> start{S(plan.centre == 0 ? 1 : 0), S(plan.centre == 0 ? 0 : 1)};
    put(table.queries, f, a, back(f) * start, Scalar<S>::from(Rational(plan.scale * near)));
  }
  if (plan.nearness) put(table.common, *plan.nearness, 0, Point<S>{S(1), S(0)}, S(1));
  return table;
}

/// Where things lie in the stream: slot 0 is what a query needs, then the two symbols; later slots
/// are like it, but for lag, whose queries do not move, they are the symbols alone.
struct Slots {
  Eigen::Index needs;
  Eigen::Index symbols;  ///< of both kinds together
  bool moving;           ///< later slots have needs too
  int hops;

  Slots(const Vocabulary& vocabulary, int hop_count)
      : needs(vocabulary.queries()),
        symbols(vocabulary.symbol_counts().first + vocabulary.symbol_counts().second),
        moving(vocabulary.rule != Rule::lag),
        hops(hop_count) {}

  /// What a value carries, and so the size of a later slot.
  [[nodiscard]] Eigen::Index carried() const { return (moving ? needs : 0) + symbols; }
  [[nodiscard]] Eigen::Index begin(int slot) const {
    return slot == 0 ? 0 : needs + symbols + (slot - 1) * carried();
  }
  /// Where the carried part begins, and where the symbols do.
  [[nodiscard]] Eigen::Index carried_at(int slot) const {
    return begin(slot) + (slot == 0 && !moving ? needs : 0);
  }
  [[nodiscard]] Eigen::Index symbols_at(int slot) const {
    return carried_at(slot) + (moving ? needs : 0);
  }
  [[nodiscard]] Eigen::Index size() const { return begin(hops + 1); }
};

/// A model without norms: x = E, then per layer x += W_O sum_j w_j W_V x_j with logits
/// <rotation(t) W_Q x_i, W_K x_j + common>, then W_U x.
template <class S>
struct Transformer {
  struct Layer {
    Matrix<S> query;   ///< 2P x d
    Matrix<S> key;     ///< 2P x d
    Matrix<S> common;  ///< 2P x 1, added to every key
    Matrix<S> value;   ///< c x d
    Matrix<S> out;     ///< d x c
  };
  Vocabulary vocabulary;
  int hops = 1;
  std::vector<Formula> frequencies;
  Matrix<S> embedding;        ///< d x V; column 0, padding, is 0
  std::vector<Layer> layers;  ///< one per hop
  Matrix<S> unembedding;      ///< V x d; row 0 is 0
};

/// The model around a head, the same one in every layer. All entries but queries and keys are 0,
/// 1/2 or 1. Under hard attention, where the head has a positive margin, the gap is 1 or more at
/// every position that Vocabulary::answer answers. Throws Error(bad_value) unless 1 <= hops <= 64,
/// and hops = 1 for last. Cost: O(d V). Source: P1 App. F.2 and section 2.1.
template <class S>
[[nodiscard]] Transformer<S> transformer(const Vocabulary& vocabulary,
                                         std::vector<Formula> frequencies, const HeadTable<S>& head,
                                         int hops) {
  if (hops < 1 || hops > 64 || (vocabulary.rule == Rule::last && hops != 1))
    throw Error(ErrorCode::bad_value, "a model has 1 to 64 hops, one of rule last 1");
  const Slots slots(vocabulary, hops);
  const auto [firsts, seconds] = vocabulary.symbol_counts();
  const Eigen::Index d = slots.size();
  const Eigen::Index rows = head.queries.rows();

  Transformer<S> model{vocabulary,
                       hops,
                       std::move(frequencies),
                       detail::zeros<S>(d, vocabulary.size()),
                       {},
                       detail::zeros<S>(vocabulary.size(), d)};
  const Eigen::Index found = slots.symbols_at(hops);
  for (Token t = 1; t < vocabulary.size(); ++t) {
    const auto [first, second] = vocabulary.symbols(t);
    const Eigen::Index own = slots.symbols_at(0);
    for (const Eigen::Index c : {vocabulary.wants(t), own + first, own + firsts + second})
      model.embedding(c, t) = S(1);
    const bool integer = vocabulary.rule == Rule::lag && !vocabulary.is_leaf(t);
    const S share = Scalar<S>::from(integer ? Rational(1, 2) : Rational(1));
    model.unembedding(t, found + first) = share;
    model.unembedding(t, found + firsts + second) = share;
    if (integer) model.unembedding(t, vocabulary.wants(t)) = S(1);
  }
  for (int l = 1; l <= hops; ++l) {
    typename Transformer<S>::Layer layer{detail::zeros<S>(rows, d), detail::zeros<S>(rows, d),
                                         head.common, detail::zeros<S>(slots.carried(), d),
                                         detail::zeros<S>(d, slots.carried())};
    layer.query.middleCols(slots.moving ? slots.begin(l - 1) : 0, slots.needs) = head.queries;
    layer.key.middleCols(slots.symbols_at(0), vocabulary.keys()) = head.keys;
    for (Eigen::Index c = 0; c < slots.carried(); ++c) {
      layer.value(c, slots.carried_at(slots.moving ? 0 : l - 1) + c) = S(1);
      layer.out(slots.carried_at(l) + c, c) = S(1);
    }
    model.layers.push_back(std::move(layer));
  }
  return model;
}

/// The model of a plan. Guarantee and errors as head_table and the above.
template <class S>
[[nodiscard]] Transformer<S> transformer(const Vocabulary& vocabulary, const HeadPlan& plan,
                                         int hops) {
  return transformer<S>(vocabulary, plan.frequencies, head_table<S>(vocabulary, plan), hops);
}

/// What the model answers at every position, nothing where the largest score is shared or intervals
/// cannot tell. Guarantee: Exact for Rational, certain for Interval, Heuristic otherwise. Cost:
/// O(layers n^2 planes + layers n d c). Throws Error(bad_value) for a token outside the vocabulary.
template <class S, class Attention>
[[nodiscard]] std::vector<std::optional<Token>> answers(const Transformer<S>& model,
                                                        const Sequence& tokens,
                                                        const Attention& how) {
  const std::size_t n = tokens.size();
  const auto width = static_cast<Eigen::Index>(n);
  Matrix<S> stream(model.embedding.rows(), width);
  for (std::size_t i = 0; i < n; ++i) {
    if (tokens[i] < 0 || tokens[i] >= model.vocabulary.size())
      throw Error(ErrorCode::bad_value,
                  "token " + std::to_string(tokens[i]) + " is not in the vocabulary");
    stream.col(static_cast<Eigen::Index>(i)) = model.embedding.col(tokens[i]);
  }
  const Rotations<S> table = rotations<S>(model.frequencies, n);
  std::vector<bool> open(n, false);
  for (const auto& layer : model.layers) {
    const Paired<S, Interleaved> queries(detail::times(layer.query, stream));
    Matrix<S> shown = detail::times(layer.key, stream);
    shown.colwise() += layer.common.col(0);
    const Paired<S, Interleaved> keys(std::move(shown));
    const Matrix<S> values = detail::times(layer.value, stream);
    Matrix<S> mixed = detail::zeros<S>(values.rows(), width);
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      std::vector<S> row(i + 1, S(0));
      for (std::size_t j = 0; j <= i; ++j)
        for (Eigen::Index f = 0; f < queries.planes(); ++f)
          row[j] += theory::dot(table[i - j][static_cast<std::size_t>(f)] * queries.plane(f, at),
                                keys.plane(f, static_cast<Eigen::Index>(j)));
      const auto weights = attention(row, how);
      open[i] = open[i] || !weights;
      for (std::size_t j = 0; weights && j <= i; ++j)
        mixed.col(at) += values.col(static_cast<Eigen::Index>(j)) * (*weights)[j];
    }
    stream += detail::times(layer.out, mixed);
  }
  const Matrix<S> scores = detail::times(model.unembedding, stream);
  std::vector<std::optional<Token>> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<S> column(static_cast<std::size_t>(scores.rows()), S(0));
    for (std::size_t t = 0; t < column.size(); ++t)
      column[t] = scores(static_cast<Eigen::Index>(t), static_cast<Eigen::Index>(i));
    const auto best = argmax(std::span<const S>(column));
    if (!open[i] && best && best->size() == 1) result[i] = static_cast<Token>(best->front());
  }
  return result;
}

}  // namespace ropewalk::constructions
