#include "checkpoints/weight_set.hpp"

#include <cmath>

#include "theory/error.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::checkpoints {

using constructions::Slots;
using constructions::Transformer;
using Eigen::Index;
using Json = nlohmann::ordered_json;
using theory::Formula;
using theory::Rational;

namespace {

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_value, message); }

constexpr double ballast = 64;
constexpr double eps = 1e-5;

template <class S>
struct NamedMatrix {
  std::string name;
  constructions::Matrix<S> values;
};

// The matrices of a plain model: the slots behind a constant coordinate, which what all keys have
// in common is read from.
template <class S>
std::vector<NamedMatrix<S>> plain_matrices(const Transformer<S>& model) {
  const auto widened = [](const constructions::Matrix<S>& m, const S& first) {
    constructions::Matrix<S> result(m.rows(), m.cols() + 1);
    result << constructions::Matrix<S>::Constant(m.rows(), 1, first), m;
    return result;
  };
  std::vector<NamedMatrix<S>> all;
  all.push_back({"embedding", widened(model.embedding.transpose(), S(1))});
  all.front().values.row(0).setConstant(S(0));
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const auto& layer = model.layers[l];
    const std::string at = "layers." + std::to_string(l) + ".";
    constructions::Matrix<S> key = widened(layer.key, S(0));
    key.col(0) = layer.common.col(0);
    constructions::Matrix<S> out(layer.out.rows() + 1, layer.out.cols());
    out << constructions::Matrix<S>::Constant(1, layer.out.cols(), S(0)), layer.out;
    all.push_back({at + "W_Q", widened(layer.query, S(0))});
    all.push_back({at + "W_K", std::move(key)});
    all.push_back({at + "W_V", widened(layer.value, S(0))});
    all.push_back({at + "W_O", std::move(out)});
  }
  all.push_back({"unembedding", widened(model.unembedding, S(0))});
  return all;
}

std::vector<std::string> texts(const std::vector<Formula>& frequencies) {
  std::vector<std::string> result;
  for (const Formula& f : frequencies) result.push_back(f.text());
  return result;
}

}  // namespace

std::string_view name(Form form) {
  switch (form) {
    case Form::gptj: return "gptj";
    case Form::llama: return "llama";
    case Form::plain: return "plain";
  }
  return "";
}

std::vector<Formula> HeadShape::frequencies() const {
  if (!angles.empty()) return angles;
  std::vector<Formula> result =
      theory::default_schedule({base, static_cast<unsigned>(2 * turning)}).frequencies;
  for (std::size_t f = 0; f < factors.size(); ++f)
    result[f] = Formula(Rational(1 / theory::shortest_decimal(factors[f]))) * result[f];
  result.resize(result.size() + static_cast<std::size_t>(still), Formula(0));
  return result;
}

void HeadShape::set_frequencies(const std::vector<Formula>& table) {
  if (form == Form::gptj) bad("GPT-J has the plain table of base 10000 and no other");
  using Exactly = theory::Real<40>;
  constexpr double fastest = 0x1p16;
  for (std::size_t f = 0; f < table.size(); ++f)
    if (const auto x = table[f].as<double>(); !(std::abs(x) <= fastest))
      bad("plane " + std::to_string(f + 1) + ": " + table[f].text() +
          " radians per token are more than 2^16");
  turning = std::ssize(table);
  if (form == Form::plain) {
    angles = table;
    return;
  }
  factors.clear();
  const std::vector<Formula> own = frequencies();
  for (std::size_t f = 0; f < table.size(); ++f) {
    const auto wanted = table[f].as<Exactly>();
    const Exactly slowest("1e-30");
    const Exactly factor = own[f].as<Exactly>() / (wanted < slowest ? slowest : wanted);
    if (!(wanted >= 0 && factor >= 0x1p-60))
      bad("plane " + std::to_string(f + 1) + ": the frequency " + table[f].text() +
          " is negative, or too far above that of the base");
    factors.push_back(static_cast<double>(factor));
  }
}

WeightSet::WeightSet(const Transformer<double>& model, const HeadShape& shape,
                     const WeightSetOptions& options)
    : dtype_(options.dtype) {
  if (texts(model.frequencies) != texts(shape.frequencies()))
    bad("the planes of the model are not those of its head");
  if (options.layers < model.hops)
    bad(std::to_string(model.hops) + " hops take as many layers, not " +
        std::to_string(options.layers));
  if (shape.form == Form::plain)
    add_plain(model);
  else
    add_normed(model, shape, options);
}

void WeightSet::add(std::string name, Matrix values, bool vector) {
  for (double& x : values.reshaped()) {
    const double stored = rounded(x, dtype_);
    if (!std::isfinite(stored))
      bad(name + ": " + std::to_string(x) + " is beyond what " + checkpoints::name(dtype_) +
          " holds: a smaller scale, or a wider type");
    x = stored;
  }
  parts_.push_back({std::move(name), std::move(values), vector});
}

void WeightSet::add_plain(const Transformer<double>& model) {
  for (const auto& [name, values] : plain_matrices(model)) add(name, values);
  config_ = {{"model_type", "ropewalk"},
             {"hidden_size", parts_.front().values.cols()},
             {"num_hidden_layers", model.hops},
             {"vocab_size", model.vocabulary.size()},
             {"head_dim", 2 * model.frequencies.size()},
             {"frequencies", texts(model.frequencies)},
             {"dtype", torch_name(dtype_)}};
}

void WeightSet::add_normed(const Transformer<double>& model, const HeadShape& shape,
                           const WeightSetOptions& options) {
  const bool gptj = shape.form == Form::gptj;
  if (dtype_ == DType::f64)
    bad(std::string(checkpoints::name(shape.form)) + " is written as f32, bf16 or f16, not f64");
  const Slots slots(model.vocabulary, model.hops);
  const Index inner = slots.size();
  const Index balance = 1 + inner;
  const Index zero = balance + 1;
  const Index bias = balance + 2;
  const auto head_rows = static_cast<Index>(2 * model.frequencies.size());
  Index d = bias + 1;
  if (gptj) d = std::max(d, head_rows);
  d += d % 2;
  const Index head = gptj ? d : head_rows;
  // Planning makes such a model some forty times.
  constexpr Index most = Index{1} << 24;
  if (options.layers * 4 * d * head > most)
    throw Error(ErrorCode::too_large, std::to_string(options.layers) + " layers of width " +
                                          std::to_string(d) + " hold more than " +
                                          std::to_string(most) +
                                          " weights: take fewer of --hops or --layers");
  if (slots.carried() > head)
    bad("a head of " + std::to_string(head) + " coordinates does not carry values of " +
        std::to_string(slots.carried()));

  // From slot coordinates to those of the stream; a row of a reading matrix gets minus its sum at
  // `zero`, a column of a writing one at `balance`.
  const auto reading = [&](const Matrix& m, Index rows, double factor) {
    Matrix result = Matrix::Zero(rows, d);
    for (Index r = 0; r < m.rows(); ++r) {
      double sum = 0;
      for (Index c = 0; c < inner; ++c) {
        result(r, 1 + c) = factor * m(r, c);
        sum += rounded(result(r, 1 + c), dtype_);
      }
      if (std::isfinite(sum)) result(r, zero) = -sum;
    }
    return result;
  };
  const auto head_row = [&](Index row) { return gptj ? row : row / 2 + (row % 2) * (head / 2); };
  const auto in_layout = [&](const Matrix& m) {
    Matrix result(m.rows(), m.cols());
    for (Index r = 0; r < m.rows(); ++r) result.row(head_row(r)) = m.row(r);
    return result;
  };

  Matrix embedding = Matrix::Zero(model.vocabulary.size(), d);
  embedding.middleCols(1, inner) = Matrix(model.embedding).transpose();
  for (Index t = 1; t < embedding.rows(); ++t) {
    embedding(t, 0) = ballast;
    embedding(t, balance) = -embedding.row(t).sum();
  }
  // What the stream of a token looks like before layer l, had every layer found one token.
  const auto nominal = [&](int l) {
    Matrix x = embedding.row(1);
    for (int k = 1; k < l; ++k) {
      const Index own = slots.carried_at(0);
      const Index there = slots.carried_at(k);
      const double before = x.sum();
      x.middleCols(1 + there, slots.carried()) = x.middleCols(1 + own, slots.carried()).eval();
      x(0, balance) -= x.sum() - before;
    }
    return std::sqrt(x.squaredNorm() / static_cast<double>(d) + eps);
  };
  const auto norm = [&](int l) {
    Matrix g = Matrix::Zero(1, d);
    g.middleCols(1, inner).setConstant(nominal(l));
    g(0, zero) = nominal(l);
    return g;
  };
  Matrix norm_bias = Matrix::Zero(1, d);
  norm_bias(0, bias) = 1;

  // The scale of the architecture, 1/sqrt(head), is undone half in the queries, half in the keys.
  const double whole = std::sqrt(static_cast<double>(head));
  const double largest = Matrix(model.layers.front().query).cwiseAbs().maxCoeff();
  const double keys = std::exp2(std::round(std::log2(std::sqrt(std::max(whole * largest, 1.0)))));

  const Matrix nothing;
  const auto zeros = [](Index rows, Index cols) { return Matrix(Matrix::Zero(rows, cols)); };
  const std::string stream = gptj ? "transformer." : "model.";
  add(stream + (gptj ? "wte.weight" : "embed_tokens.weight"), embedding);
  for (int l = 1; l <= options.layers; ++l) {
    const std::string at = stream + (gptj ? "h." : "layers.") + std::to_string(l - 1) + ".";
    const std::string attention = at + (gptj ? "attn." : "self_attn.");
    const bool hop = l <= model.hops;
    Matrix q = zeros(head, d);
    Matrix k = zeros(head, d);
    Matrix v = zeros(head, d);
    Matrix out = zeros(d, head);
    Matrix common = zeros(head, 1);
    if (hop) {
      const auto& layer = model.layers[static_cast<std::size_t>(l - 1)];
      q.topRows(head_rows) = in_layout(reading(Matrix(layer.query), head_rows, whole / keys));
      k.topRows(head_rows) = in_layout(reading(Matrix(layer.key), head_rows, keys));
      common.topRows(head_rows) = in_layout(Matrix(keys * Matrix(layer.common)));
      v = reading(Matrix(layer.value), head, 1);
      out.block(1, 0, inner, slots.carried()) = Matrix(layer.out);
      for (Index c = 0; c < slots.carried(); ++c) out(balance, c) = -out.col(c).sum();
      if (gptj) k.col(bias) = common;
    }
    const Matrix g = norm(std::min(l, model.hops + 1));
    add(at + (gptj ? "ln_1.weight" : "input_layernorm.weight"), g, true);
    if (gptj) add(at + "ln_1.bias", norm_bias, true);
    add(attention + "q_proj.weight", q);
    add(attention + "k_proj.weight", k);
    add(attention + "v_proj.weight", v);
    add(attention + (gptj ? "out_proj.weight" : "o_proj.weight"), out);
    constexpr Index mlp = 4;
    if (gptj) {
      add(at + "mlp.fc_in.weight", zeros(mlp, d));
      add(at + "mlp.fc_in.bias", zeros(1, mlp), true);
      add(at + "mlp.fc_out.weight", zeros(d, mlp));
      add(at + "mlp.fc_out.bias", zeros(1, d), true);
    } else {
      add(attention + "q_proj.bias", zeros(1, head), true);
      add(attention + "k_proj.bias", common.transpose(), true);
      add(attention + "v_proj.bias", zeros(1, head), true);
      add(attention + "o_proj.bias", zeros(1, d), true);
      add(at + "post_attention_layernorm.weight", Matrix::Ones(1, d), true);
      add(at + "mlp.gate_proj.weight", zeros(mlp, d));
      add(at + "mlp.up_proj.weight", zeros(mlp, d));
      add(at + "mlp.down_proj.weight", zeros(d, mlp));
    }
  }
  add(stream + (gptj ? "ln_f.weight" : "norm.weight"), norm(model.hops + 1), true);
  if (gptj) add(stream + "ln_f.bias", norm_bias, true);
  add("lm_head.weight", reading(Matrix(model.unembedding), model.vocabulary.size(), 1));
  if (gptj) add("lm_head.bias", zeros(1, model.vocabulary.size()), true);

  // The numbers are stored in dtype_ and meant to be computed with in float32.
  if (gptj)
    config_ = {{"architectures", Json::array({"GPTJForCausalLM"})},
               {"model_type", "gptj"},
               {"vocab_size", model.vocabulary.size()},
               {"n_positions", options.positions},
               {"n_embd", d},
               {"n_layer", options.layers},
               {"n_head", 1},
               {"rotary_dim", 2 * shape.turning},
               {"n_inner", 4},
               {"activation_function", "gelu_new"},
               {"layer_norm_epsilon", eps},
               {"resid_pdrop", 0.0},
               {"embd_pdrop", 0.0},
               {"attn_pdrop", 0.0}};
  else
    config_ = {{"architectures", Json::array({"LlamaForCausalLM"})},
               {"model_type", "llama"},
               {"vocab_size", model.vocabulary.size()},
               {"max_position_embeddings", options.positions},
               {"hidden_size", d},
               {"num_hidden_layers", options.layers},
               {"num_attention_heads", 1},
               {"num_key_value_heads", 1},
               {"head_dim", head},
               {"intermediate_size", 4},
               {"hidden_act", "silu"},
               {"rms_norm_eps", eps},
               {"rope_theta", static_cast<double>(shape.base)},
               {"attention_bias", true},
               {"mlp_bias", false},
               {"attention_dropout", 0.0}};
  if (!shape.factors.empty())
    // Both lists and 1: the same table at every length, and nothing that multiplies cosines.
    config_["rope_scaling"] = {
        {"rope_type", "longrope"},       {"factor", 1.0},
        {"attention_factor", 1.0},       {"original_max_position_embeddings", options.positions},
        {"short_factor", shape.factors}, {"long_factor", shape.factors}};
  config_["tie_word_embeddings"] = false;
  config_["torch_dtype"] = "float32";
  config_["pad_token_id"] = 0;
  config_["bos_token_id"] = nullptr;
  config_["eos_token_id"] = nullptr;
}

void WeightSet::write(const std::function<void(std::string_view)>& sink) const {
  std::vector<OutTensor> tensors;
  for (const Part& part : parts_) {
    std::vector<std::int64_t> shape{part.values.rows(), part.values.cols()};
    if (part.vector) shape.erase(shape.begin());
    // A vector has elements for rows.
    tensors.push_back({part.name, shape, [&part](std::int64_t row, double* out) {
                         if (part.vector)
                           *out = part.values(0, row);
                         else
                           std::copy_n(part.values.row(row).data(), part.values.cols(), out);
                       }});
  }
  write_safetensors(tensors, dtype_, sink);
}

Checkpoint WeightSet::checkpoint() const {
  std::vector<std::byte> bytes;
  write([&](std::string_view more) {
    const auto* const begin = reinterpret_cast<const std::byte*>(more.data());
    bytes.insert(bytes.end(), begin, begin + more.size());
  });
  Checkpoint result =
      read_safetensors(std::make_shared<const MappedFile>("model.safetensors", std::move(bytes)));
  result.config = nlohmann::json::parse(config_.dump());
  result.config_source = "config.json";
  return result;
}

Json exact_json(const Transformer<Rational>& model) {
  Json result{{"format", "ropewalk-exact"},
              {"frequencies", texts(model.frequencies)},
              {"embedding", Json::array()},
              {"layers", Json::array()},
              {"unembedding", Json::array()}};
  for (std::size_t l = 0; l < model.layers.size(); ++l) result["layers"].push_back(Json::object());
  for (const auto& [name, values] : plain_matrices(model)) {
    Json rows = Json::array();
    for (Index r = 0; r < values.rows(); ++r) {
      Json row = Json::array();
      for (Index c = 0; c < values.cols(); ++c) row.push_back(values(r, c).str());
      rows.push_back(std::move(row));
    }
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos)
      result[name] = std::move(rows);
    else
      result["layers"][std::stoul(name.substr(7))][name.substr(dot + 1)] = std::move(rows);
  }
  return result;
}

Json tokenizer_json(const std::vector<std::string>& texts) {
  Json vocabulary = Json::object();
  vocabulary["<pad>"] = 0;
  for (std::size_t t = 1; t < texts.size(); ++t) vocabulary[texts[t]] = t;
  // No word stands for unknown ones: they are refused.
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", Json::array({{{"id", 0},
                                         {"content", "<pad>"},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}}})},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
          {"post_processor", nullptr},
          {"decoder", nullptr},
          {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<unk>"}}}};
}

Json tokenizer_config_json() {
  return {{"tokenizer_class", "PreTrainedTokenizerFast"},
          {"pad_token", "<pad>"},
          {"clean_up_tokenization_spaces", false},
          {"model_input_names", Json::array({"input_ids", "attention_mask"})}};
}

}  // namespace ropewalk::checkpoints
