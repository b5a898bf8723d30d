#pragma once
/// \file
/// From a request to a weight set that is proven: which planes the head uses, how sharp softmax has
/// to be, and up to which length the numbers hold in which element type.
///
///   Construction made(request);            // plans, rounds, proves; throws where nothing works
///   made.weights().write(...);
///   made.fact(...)
///
/// Planes. *best*: for lag the amplitudes of the linear program (R3) over all planes of the table;
/// for token and last a plane for each letter, the slowest ones, still ones where the architecture
/// has them; for last the nearness plane on which neighbouring lags differ most. Or named planes:
/// one for lag or token is P1's head.

#include <optional>

#include "checkpoints/stack_proof.hpp"
#include "checkpoints/weight_set.hpp"
#include "tasks/task.hpp"

namespace ropewalk::checkpoints {

struct ConstructRequest {
  tasks::Kind kind = tasks::Kind::number;
  Form form = Form::gptj;
  DType dtype = DType::f32;
  std::int64_t letters = 0;  ///< 0: 120 for number and index, 8 for the others
  std::int64_t numbers = 0;  ///< integers (0: 16) or digits (0: 8)
  int hops = 0;              ///< 0: 4 for number and letter, 1 for the others
  std::int64_t layers = 0;   ///< 0: 12 for number and letter, 1 for the others
  std::int64_t length = 256;
  std::optional<theory::Rational> base;  ///< of the table; gptj has 10000
  std::optional<std::int64_t> turning;   ///< planes of the table
  /// Any table, radians per token, of plain and llama; with `base` as factors of that one's.
  std::vector<theory::Formula> table;
  std::optional<theory::Formula> angle;  ///< one plane of this angle, radians per token
  std::vector<std::int64_t> planes;      ///< IDs from 1; empty: best
  bool centred = false;                  ///< with planes or angle, of token and last (R6)
  std::optional<double> scale;           ///< absent: see Construction::scale
};

/// What one element type makes of the model.
struct StoredAs {
  DType dtype = DType::f32;
  bool fits = false;    ///< false: a number is beyond the range of the type
  double loss = 0;      ///< share of the exact head's margin that rounding takes (real arithmetic)
  StackBounds real;     ///< at the length asked for
  StackBounds float32;  ///< gap 0 for plain
  std::int64_t checked = 0;  ///< the lengths below end here at the latest
  std::int64_t longest_real = 0;
  std::int64_t longest_float32 = 0;
};

class Construction {
 public:
  /// Throws Error(bad_value) naming the flag of `ropewalk construct` for a request outside its
  /// domain, Error(undecided) where no scale up to 2^40 can be proven at this length: with
  /// `unproven` the one that can be proven for longest is taken. Cost: a linear program for best
  /// planes of lag, some 40 proofs (StackProof::bounds).
  explicit Construction(const ConstructRequest& request, bool unproven = false);

  [[nodiscard]] const ConstructRequest& request() const { return request_; }
  [[nodiscard]] const constructions::Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] const HeadShape& shape() const { return shape_; }
  [[nodiscard]] const constructions::HeadPlan& plan() const { return plan_; }
  /// In float32, or for plain models in real arithmetic: where models of the form are run.
  [[nodiscard]] Arithmetic arithmetic() const {
    return request_.form == Form::plain ? Arithmetic::real : Arithmetic::float32;
  }
  /// The softmax scale of the weights: as requested, else the smallest 2^(k/8) whose proven gap is
  /// half of that of hard attention.
  [[nodiscard]] double scale() const { return scale_; }
  /// The smallest scale, to 1 %, that can be proven at the length; nothing where none can.
  [[nodiscard]] std::optional<double> smallest_scale() const { return smallest_; }
  [[nodiscard]] const WeightSet& weights() const { return *weights_; }
  [[nodiscard]] const StackBounds& real() const { return real_; }
  [[nodiscard]] const StackBounds& float32() const { return float32_; }
  [[nodiscard]] bool proven() const {
    return (arithmetic() == Arithmetic::real ? real_ : float32_).proven();
  }
  /// The same numbers, rounded to every type of the form. Lengths are searched up to `limit`, and
  /// no farther than ropewalk-check goes.
  [[nodiscard]] std::vector<StoredAs> stored(std::int64_t limit) const;
  /// The text of every token.
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }
  /// The exact matrices, where all of them are rational and the form is plain.
  [[nodiscard]] std::optional<nlohmann::ordered_json> exact() const;

 private:
  void check();
  [[nodiscard]] bool table_is_named() const {
    return request_.base.has_value() || !request_.table.empty();
  }
  void choose_table();
  void choose_planes();
  void choose_scale(bool unproven);
  void judge();
  [[nodiscard]] WeightSet made(double scale, std::int64_t layers, DType dtype) const;
  [[nodiscard]] StackProof proof(double scale, DType dtype) const;
  [[nodiscard]] double gap_at(double scale) const;

  ConstructRequest request_;
  constructions::Vocabulary vocabulary_;
  HeadShape shape_;
  constructions::HeadPlan plan_;
  constructions::HeadTable<double> head_;  // at scale 1
  std::vector<std::string> texts_;
  double scale_ = 1;
  std::optional<double> smallest_;
  std::optional<WeightSet> weights_;
  StackBounds real_, float32_;
};

}  // namespace ropewalk::checkpoints
