#pragma once
/// \file
/// A written-down model as files: around its slots (constructions/transformer.hpp) go the norms,
/// scales and names of an architecture that programs load.
///
/// Norms do not disturb it. The stream gets a few coordinates more:
///
///   ballast   a constant that dwarfs the slots, so that all positions have nearly the same norm,
///             whether they found something or not
///   slots     as constructed
///   balance   minus the sum of all others, so that the mean is 0 (GPT-J)
///   zero      always 0: rows that read slots take their sum away here, so that the rounding error
///             of the computed mean cancels (GPT-J)
///   bias      1 after the norm and nowhere else: what every key has is read here (GPT-J); Llama
///             has a bias of k_proj for it
///
/// The weight of each norm undoes the norm that the stream has nominally. MLPs are 0, layers beyond
/// the last hop too. What rounding does to all that is not argued here but proven of the written
/// numbers (stack_proof.hpp).
///
///   form    family of transformers   planes of the head
///   gptj    GPTJForCausalLM          base 10000, interleaved; the rest of the head stands still
///   llama   LlamaForCausalLM         any base, half-split; all of the head turns; any table, as
///                                    factors by which planes are slower (rope type longrope)
///   plain   none ("ropewalk")        any angles, no norms, no 1/sqrt(d): the matrices themselves

#include "checkpoints/checkpoint.hpp"
#include "checkpoints/safetensors_writer.hpp"
#include "constructions/transformer.hpp"

namespace ropewalk::checkpoints {

enum class Form { gptj, llama, plain };
[[nodiscard]] std::string_view name(Form form);

/// Which planes a head has: `turning` of them at base^(-f / turning), in llama over `factors`[f],
/// then `still` ones (gptj and plain). Or, plain only, any `angles`.
struct HeadShape {
  Form form = Form::gptj;
  theory::Rational base = 10000;
  std::int64_t turning = 1;
  std::int64_t still = 0;
  std::vector<double> factors;
  std::vector<theory::Formula> angles;

  /// Makes these the frequencies, radians per token: of plain exactly, of llama by factors, which
  /// float64 rounds; there a plane that is slower than 1e-30 gets 1e-30, which does not turn within
  /// any length. Throws Error(bad_value) for gptj, beyond 2^16 radians per token, which
  /// ropewalk-check may not resolve, and for llama where a frequency is negative or above 2^60
  /// times that of the base.
  void set_frequencies(const std::vector<theory::Formula>& table);

  /// The frequency of every plane, radians per token. Exact formulas.
  [[nodiscard]] std::vector<theory::Formula> frequencies() const;
};

struct WeightSetOptions {
  std::int64_t layers = 12;
  std::int64_t positions = 0;  ///< n_positions, max_position_embeddings
  DType dtype = DType::f32;    ///< f32, bf16, f16; plain: f64 too
};

class WeightSet {
 public:
  /// Throws Error(bad_value) where the model's planes are not those of the shape, for fewer layers
  /// than hops, and for numbers beyond the range of the type; Error(too_large) beyond 2^24
  /// weights. Cost: O(size of the weights).
  WeightSet(const constructions::Transformer<double>& model, const HeadShape& shape,
            const WeightSetOptions& options);

  [[nodiscard]] nlohmann::ordered_json& config() { return config_; }
  [[nodiscard]] const nlohmann::ordered_json& config() const { return config_; }
  /// The bytes of model.safetensors, in order.
  void write(const std::function<void(std::string_view)>& sink) const;
  /// The same model as open_checkpoint would find it on disk, without a disk.
  [[nodiscard]] Checkpoint checkpoint() const;

 private:
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  struct Part {
    std::string name;
    Matrix values;
    bool vector = false;  // one dimension: a single row
  };
  void add(std::string name, Matrix values, bool vector = false);
  void add_plain(const constructions::Transformer<double>& model);
  void add_normed(const constructions::Transformer<double>& model, const HeadShape& shape,
                  const WeightSetOptions& options);

  DType dtype_;
  nlohmann::ordered_json config_;
  std::vector<Part> parts_;
};

/// The exact matrices of a plain model as JSON, entries as rationals in strings: {"format":
/// "ropewalk-exact", "frequencies": [text], "embedding": [[...]] (a row per token), "layers":
/// [{"W_Q", "W_K", "W_V", "W_O"}], "unembedding"}: the numbers that a plain weight set rounds.
[[nodiscard]] nlohmann::ordered_json exact_json(
    const constructions::Transformer<theory::Rational>& model);

/// tokenizer.json (word level, split at white space; id 0 is "<pad>") and tokenizer_config.json,
/// from the text of every token id.
[[nodiscard]] nlohmann::ordered_json tokenizer_json(const std::vector<std::string>& texts);
[[nodiscard]] nlohmann::ordered_json tokenizer_config_json();

}  // namespace ropewalk::checkpoints
