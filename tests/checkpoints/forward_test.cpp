// The forward pass against what transformers computes (tests/interop/make_models.py), and on
// trained models against what is known of them.
#include "checkpoints/forward.hpp"

#include <cmath>
#include <filesystem>

#include "checkpoints/tokenizer.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using namespace ropewalk::tests;

namespace {

const std::string data = ROPEWALK_SOURCE_DIR "/tests/data/models/";
const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/";

Model open_model(const std::string& path) {
  return read_model(std::make_shared<const Checkpoint>(open_checkpoint(path)));
}

Rows<double> matrix(const Checkpoint& file, const std::string& name) {
  const Tensor& tensor = file.tensor(name);
  Rows<double> result(tensor.rows(), tensor.row_size());
  read_rows(tensor, 0, tensor.rows(), result.data());
  return result;
}

template <class S>
double difference(const Rows<S>& a, const Rows<double>& b) {
  return (a.template cast<double>() - b).cwiseAbs().maxCoeff();
}

// Mean loss per token of a text, every token but the first predicted from those before.
double loss(const Model& model, const Tokens& tokens, Rotation rotation) {
  ForwardOptions options;
  options.rotation = rotation;
  options.every_position = true;
  const Rows<double> logits = forward<double>(model, std::span(&tokens, 1), options).front();
  double sum = 0;
  for (Eigen::Index p = 0; p + 1 < logits.rows(); ++p) {
    const double top = logits.row(p).maxCoeff();
    sum += top + std::log((logits.row(p).array() - top).exp().sum()) -
           logits(p, tokens[static_cast<std::size_t>(p) + 1]);
  }
  return sum / static_cast<double>(logits.rows() - 1);
}

Tokens greedy(const Model& model, Tokens tokens, std::size_t length) {
  while (tokens.size() < length) {
    const Rows<float> logits = forward<float>(model, std::span(&tokens, 1)).front();
    Eigen::Index best = 0;
    logits.row(0).maxCoeff(&best);
    tokens.push_back(static_cast<std::int32_t>(best));
  }
  return tokens;
}

// Mean weight on the previous token by layer and head.
std::vector<std::vector<double>> to_previous(const Model& model, const Tokens& tokens) {
  std::vector<std::vector<double>> result(model.layers.size());
  (void)forward<double>(model, std::span(&tokens, 1), {}, [&](const Pass<double>& pass) {
    for (const Rows<double>& weights : pass.weights)
      result[pass.layer].push_back(weights.diagonal(-1).mean());
  });
  return result;
}

const std::string story =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball.";

}  // namespace

TEST_CASE("every family computes what transformers computes") {
  std::size_t models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    ++models;
    const Model model = open_model(entry.path().string());
    CHECK(model.unread.empty());
    const Checkpoint expected = open_checkpoint((entry.path() / "expected.safetensors").string());
    const Tensor& ids = expected.tensor("tokens");
    std::vector<double> numbers(static_cast<std::size_t>(ids.elements()));
    read_rows(ids, 0, ids.rows(), numbers.data());
    const Tokens tokens(numbers.begin(), numbers.end());

    ForwardOptions options;
    options.every_position = true;
    std::size_t seen = 0;
    const auto in_float =
        forward<float>(model, std::span(&tokens, 1), options, [&](const Pass<float>& pass) {
          CHECK(difference(pass.entering,
                           matrix(expected, "entering." + std::to_string(pass.layer))) < 1e-5);
          ++seen;
        });
    CHECK(seen == model.layers.size());
    CHECK(difference(in_float.front(), matrix(expected, "logits")) < 2e-5);
    const auto in_double = forward<double>(model, std::span(&tokens, 1), options);
    CHECK(difference(in_double.front(), matrix(expected, "logits")) < 2e-5);
    // The next token alone, for which the last layer is not run at the other positions; watchers
    // see all of them.
    ForwardOptions next;
    next.keep_attention = false;
    std::vector<Eigen::Index> rows;
    const auto last =
        forward<double>(model, std::span(&tokens, 1), next, [&](const Pass<double>& pass) {
          rows.push_back(pass.entering.rows());
          CHECK(pass.rotated_q.rows() == pass.entering.rows());
        });
    CHECK(rows == std::vector<Eigen::Index>(seen, std::ssize(tokens)));
    CHECK(difference<double>(last.front(), in_double.front().bottomRows(1)) < 1e-12);
    // The test can fail: without rotation the logits are others.
    options.rotation = Rotation::none;
    CHECK(difference(forward<double>(model, std::span(&tokens, 1), options).front(),
                     matrix(expected, "logits")) > 1e-3);
  }
  CHECK(models == 11);
}

TEST_CASE("many inputs of different lengths at once give what each gives alone") {
  const Model model = open_model(data + "gemma3");
  std::vector<Tokens> inputs;
  for (std::int32_t n = 1; n < 12; ++n) {
    inputs.emplace_back();
    for (std::int32_t p = 0; p < n; ++p) inputs.back().push_back((5 * n + 7 * p) % 24);
  }
  const auto together = forward<double>(model, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    CHECK(together[i] == forward<double>(model, std::span(&inputs[i], 1)).front());
}

TEST_CASE("what a pass shows is consistent: weights are the softmax of rotated products") {
  const Model model = open_model(data + "gemma2");  // a softcap and a window of 5
  const Tokens tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  (void)forward<double>(model, std::span(&tokens, 1), {}, [&](const Pass<double>& pass) {
    REQUIRE(pass.rule.softcap);
    CHECK(pass.rule.window.has_value() == (pass.layer == 0));
    const Eigen::Index d = pass.head_dim;
    for (Eigen::Index h = 0; h < 4; ++h)
      for (Eigen::Index i = 0; i < 10; ++i) {
        double sum = 0;
        for (Eigen::Index j = 0; j < 10; ++j) {
          const bool seen = j <= i && (!pass.rule.window || i - j < *pass.rule.window);
          const double logit = pass.logits[static_cast<std::size_t>(h)](i, j);
          const double weight = pass.weights[static_cast<std::size_t>(h)](i, j);
          CHECK(std::isinf(logit) != seen);
          CHECK((weight > 0) == seen);
          sum += weight;
          if (!seen) continue;
          const double product = pass.rotated_q.row(i).segment(h * d, d).dot(
              pass.rotated_k.row(j).segment(h / 2 * d, d));
          const double cap = *pass.rule.softcap;
          CHECK(std::abs(logit - cap * std::tanh(product * pass.rule.scale / cap)) < 1e-12);
          CHECK(std::abs(weight / pass.weights[static_cast<std::size_t>(h)](i, i) -
                         std::exp(logit - pass.logits[static_cast<std::size_t>(h)](i, i))) < 1e-9);
        }
        CHECK(std::abs(sum - 1) < 1e-12);
      }
  });
}

TEST_CASE("bad inputs and models are refused in one line") {
  const Model model = open_model(data + "llama");
  const auto refuses = [&](const Tokens& tokens, const std::string& words) {
    try {
      (void)forward<float>(model, std::span(&tokens, 1));
      return false;
    } catch (const Error& error) {
      return std::string(error.what()) == words;
    }
  };
  CHECK(refuses({}, "input 1 has no tokens"));
  CHECK(refuses({1, 24}, "input 1, token 2: id 24 is outside the vocabulary 0..23"));
  CHECK(refuses({-1}, "input 1, token 1: id -1 is outside the vocabulary 0..23"));

  const auto with = [&](const char* key, const nlohmann::json& value,
                        const std::string& model_name) {
    auto file = std::make_shared<Checkpoint>(open_checkpoint(data + model_name));
    file->config[key] = value;
    try {
      (void)read_model(file);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(with("hidden_size", 16, "llama").empty());
  CHECK(with("hidden_size", 20, "llama").find("has shape [24, 16], the config wants") !=
        std::string::npos);
  CHECK(with("num_key_value_heads", 3, "llama").find("does not divide the 4 query heads") !=
        std::string::npos);
  CHECK(with("num_hidden_layers", 3, "llama").find("no tensor model.layers.2.") !=
        std::string::npos);
  CHECK(with("num_hidden_layers", "two", "llama").find("num_hidden_layers") != std::string::npos);
  CHECK(with("model_type", "mamba", "llama").find("'mamba'") != std::string::npos);
  CHECK(with("num_local_experts", 8, "llama").find("mixtures of experts") != std::string::npos);
  CHECK(with("kv_lora_rank", 8, "llama").find("latent attention") != std::string::npos);
  CHECK(with("rms_norm_eps", -1, "llama").find("rms_norm_eps") != std::string::npos);
  CHECK(with("hidden_act", "swiglu2", "llama").find("'swiglu2' is not known") != std::string::npos);
  CHECK(with("attention_bias", true, "llama").find("q_proj.bias") != std::string::npos);
}

TEST_CASE("trained: loss under the right, the other and no rotation") {
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  const Model small = open_model(shared + "stories260K.bin");
  const MappedFile pieces(shared + "tok512.bin");
  const Tokenizer tokenizer = Tokenizer::from_llama2c(pieces.bytes(), small.vocabulary, "tok512");
  CHECK(tokenizer.decode(tokenizer.encode(story)) == story);
  const Tokens tokens = greedy(small, {1}, 110);
  CHECK(std::abs(loss(small, tokens, Rotation::as_stated) - 0.48) < 0.05);
  CHECK(std::abs(loss(small, tokens, Rotation::half_split) - 3.44) < 0.3);
  CHECK(std::abs(loss(small, tokens, Rotation::none) - 3.81) < 0.3);
  CHECK(loss(small, tokens, Rotation::interleaved) == loss(small, tokens, Rotation::as_stated));

  const Model larger = open_model(shared + "tinystories-656k");
  const Tokens own = greedy(larger, {1}, instrumented ? 40 : 200);
  if (!instrumented) {
    CHECK(std::abs(loss(larger, own, Rotation::as_stated) - 1.09) < 0.1);
    CHECK(std::abs(loss(larger, own, Rotation::interleaved) - 3.26) < 0.4);
    CHECK(std::abs(loss(larger, own, Rotation::none) - 2.54) < 0.4);
  }
}

TEST_CASE("trained: the greedy text, from every format of the same weights") {
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  const Model legacy = open_model(shared + "stories260K.bin");
  const MappedFile pieces(shared + "tok512.bin");
  const Tokenizer tokenizer = Tokenizer::from_llama2c(pieces.bytes(), legacy.vocabulary, "tok512");
  const std::size_t length = tokenizer.encode(story).size();
  const Tokens tokens = greedy(legacy, {1}, length);
  CHECK(tokenizer.decode(tokens) == story);

  ForwardOptions options;
  options.every_position = true;
  const auto logits = [&](const Model& model, Rotation rotation) {
    options.rotation = rotation;
    return forward<double>(model, std::span(&tokens, 1), options).front();
  };
  const Rows<double> expected = logits(legacy, Rotation::as_stated);
  const Model gguf = open_model(shared + "stories260K.gguf");
  CHECK(gguf.pairing() == theory::Pairing::interleaved);
  CHECK(difference(logits(gguf, Rotation::as_stated), expected) < 1e-5);
  const Tokenizer of_gguf = Tokenizer::from_gguf(gguf.checkpoint->metadata, "gguf");
  CHECK(of_gguf.encode(story) == tokenizer.encode(story));
  const Model eight_bits = open_model(shared + "stories260K_q80.bin");
  const double off = difference(logits(eight_bits, Rotation::as_stated), expected);
  CHECK(off > 0);
  CHECK(off < 0.5);
}

TEST_CASE("trained: heads that look at the previous token") {
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  const Model small = open_model(shared + "stories260K.bin");
  const auto by_head = to_previous(small, greedy(small, {1}, instrumented ? 60 : 200));
  CHECK(std::abs(by_head[1][3] - 0.60) < 0.06);
  CHECK(std::abs(by_head[1][6] - 0.58) < 0.06);
  CHECK(std::abs(by_head[3][6] - 0.52) < 0.06);
  const Model larger = open_model(shared + "tinystories-656k");
  const auto of_larger = to_previous(larger, greedy(larger, {1}, instrumented ? 60 : 200));
  CHECK(std::abs(of_larger[1][7] - 0.35) < 0.05);
  CHECK(std::abs(of_larger[1][6] - 0.33) < 0.05);
  for (const double weight : of_larger[0]) CHECK(weight < 0.12);
}
