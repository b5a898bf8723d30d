#include "theory/config.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using namespace ropewalk::theory;
using ropewalk::Error;
using ropewalk::ErrorCode;
using Json = nlohmann::json;

namespace {

/// A small llama with `changes` merged in; null removes a key.
Json llama(const char* changes) {
  Json config = Json::parse(R"({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 2,
                                "num_hidden_layers": 8, "max_position_embeddings": 2048, "rope_theta": 10000})");
  config.merge_patch(Json::parse(changes));
  return config;
}

struct Failure {
  std::optional<ErrorCode> code;
  std::string text;
};
Failure failure_of(const Json& config, const ResolveOptions& options = {}) {
  try {
    (void)resolve(config, options);
  } catch (const Error& e) {
    return {e.code(), e.what()};
  }
  return {};
}
void check_fails(const Json& config, ErrorCode code, const std::string& start) {
  const Failure failure = failure_of(config);
  CAPTURE(config.dump(), failure.text, start);
  REQUIRE(failure.code);
  CHECK(*failure.code == code);
  CHECK(failure.text.starts_with(start));
  CHECK(failure.text.find('\n') == std::string::npos);
}

bool warns(const ResolvedRope& rope, const std::string& part) {
  for (const std::string& warning : rope.warnings)
    if (warning.find(part) != std::string::npos) return true;
  return false;
}
std::string source(const ResolvedRope& rope, const std::string& quantity) {
  for (const Provenance& p : rope.provenance)
    if (p.quantity == quantity) return p.source;
  return "";
}
std::string value(const ResolvedRope& rope, const std::string& quantity) {
  for (const Provenance& p : rope.provenance)
    if (p.quantity == quantity) return p.value;
  return "";
}

}  // namespace

TEST_CASE("config: a base that is absent is said to be assumed") {
  const ResolvedRope rope = resolve(llama(R"({"rope_theta": null})"));
  CHECK(source(rope, "base") == "absent, 10000 assumed");
  CHECK(warns(rope, "rope_theta: absent, 10000 assumed"));
  CHECK(resolve(llama("{}")).warnings.empty());
  CHECK(source(resolve(llama("{}")), "base") == "rope_theta");
}

TEST_CASE("config: the shapes of transformers 4 and 5 give one table") {
  const ResolvedRope four = resolve(
      llama(R"({"rope_theta": 500000.0, "rope_scaling": {"type": "linear", "factor": 2}})"));
  const ResolvedRope five = resolve(llama(
      R"({"rope_theta": null, "rope_parameters": {"rope_theta": 500000, "rope_type": "linear", "factor": 2.0}})"));
  REQUIRE(four.schedule.frequencies.size() == 32);
  for (std::size_t f = 0; f < 32; ++f)
    CHECK(four.schedule.frequencies[f].text() == five.schedule.frequencies[f].text());
  CHECK(source(four, "base") == "rope_theta");
  CHECK(source(five, "base") == "rope_parameters.rope_theta");
}

TEST_CASE("config: two places that disagree are refused, two that agree are not") {
  const auto conflict = ErrorCode::conflict;
  check_fails(llama(R"({"rope_parameters": {"rope_theta": 1000000, "rope_type": "default"}})"),
              conflict, "rope_parameters.rope_theta = 1000000 and rope_theta = 10000");
  CHECK_FALSE(
      failure_of(llama(R"({"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})"))
          .code);
  check_fails(llama(R"({"rope_scaling": {"rope_theta": 20000, "rope_type": "default"}})"), conflict,
              "rope_scaling.rope_theta");
  check_fails(llama(R"({"rotary_emb_base": 20000})"), conflict,
              "rope_theta = 10000 and rotary_emb_base = 20000");
  check_fails(llama(R"({"rope_scaling": {"rope_type": "yarn", "type": "linear", "factor": 2}})"),
              conflict, "rope_scaling.rope_type = 'yarn' and rope_scaling.type = 'linear'");
  CHECK_FALSE(
      failure_of(llama(R"({"rope_scaling": {"rope_type": "default", "type": "mrope"}})")).code);
  check_fails(
      llama(
          R"({"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "linear", "factor": 4}})"),
      conflict, "rope_parameters.factor = 4 and rope_scaling.factor = 2");
  check_fails(
      llama(
          R"({"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "yarn", "factor": 2}})"),
      conflict, "rope_parameters.rope_type");
  check_fails(llama(R"({"rotary_dim": 32, "partial_rotary_factor": 0.25})"), conflict,
              "rotary_dim = 32");
  CHECK_FALSE(failure_of(llama(R"({"rotary_dim": 16, "partial_rotary_factor": 0.25})")).code);
  check_fails(llama(R"({"partial_rotary_factor": 0.5, "rotary_pct": 0.25})"), conflict,
              "partial_rotary_factor = 0.5");
  check_fails(llama(R"({"head_dim": 64, "kv_channels": 128})"), conflict, "head_dim = 64");
  check_fails(llama(R"({"n_embd": 256})"), conflict, "hidden_size = 128 and n_embd = 256");
  check_fails(llama(R"({"original_max_position_embeddings": 512,
                        "rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 1024}})"),
              conflict, "rope_scaling.original_max_position_embeddings = 1024");
  check_fails(
      Json::parse(
          R"({"rope_theta": 10000, "text_config": {"head_dim": 64, "rope_theta": 500000}})"),
      conflict, "rope_theta = 10000");
  check_fails(llama(R"({"layer_types": ["full_attention"]})"), conflict,
              "layer_types has 1 entries");
  check_fails(
      llama(
          R"({"model_type": "deepseek_v3", "rope_interleave": true, "rope_is_neox_style": true})"),
      conflict, "rope_interleave");
}

TEST_CASE("config: values outside their domain are refused with the key's path") {
  const auto bad = ErrorCode::bad_value;
  check_fails(llama(R"({"rope_theta": 0})"), bad, "rope_theta: must be positive");
  check_fails(llama(R"({"rope_theta": -10000})"), bad, "rope_theta: must be positive");
  check_fails(llama(R"({"rope_theta": "10000"})"), bad, "rope_theta: a number is wanted");
  check_fails(llama(R"({"rope_theta": true})"), bad, "rope_theta: a number is wanted");
  check_fails(llama(R"({"head_dim": 63})"), bad, "head_dim: the rotary dimension must be even");
  check_fails(llama(R"({"head_dim": 0})"), bad, "head_dim:");
  check_fails(llama(R"({"head_dim": -64})"), bad, "head_dim:");
  check_fails(llama(R"({"head_dim": 64.5})"), bad, "head_dim: a whole number");
  check_fails(llama(R"({"head_dim": 1e300})"), ErrorCode::too_large, "head_dim:");
  check_fails(llama(R"({"num_attention_heads": 3})"), bad, "hidden_size: 128 is not a multiple");
  check_fails(llama(R"({"hidden_size": null})"), bad, "head_dim: absent");
  check_fails(llama(R"({"rotary_dim": 128})"), bad, "rotary_dim: rotary dimension 128 exceeds");
  check_fails(llama(R"({"rotary_dim": 15})"), bad, "rotary_dim: the rotary dimension must be even");
  check_fails(llama(R"({"partial_rotary_factor": 1.5})"), bad, "partial_rotary_factor:");
  check_fails(llama(R"({"partial_rotary_factor": 0})"), bad, "partial_rotary_factor:");
  check_fails(llama(R"({"rope_scaling": "yarn"})"), bad, "rope_scaling: an object is wanted");
  check_fails(llama(R"({"rope_scaling": {"type": 3}})"), bad,
              "rope_scaling.type: a string is wanted");
  check_fails(llama(R"({"rope_scaling": {"type": "linear"}})"), bad, "rope_scaling.factor: absent");
  check_fails(llama(R"({"rope_scaling": {"type": "linear", "factor": 0}})"), bad,
              "rope_scaling.factor: must be positive");
  check_fails(llama(R"({"rope_scaling": {"type": "yarn", "factor": -2}})"), bad,
              "rope_scaling.factor: must be positive");
  check_fails(llama(R"({"rope_scaling": {"factor": 2}})"), bad,
              "rope_scaling.factor: a factor without a type");
  check_fails(llama(R"({"rope_type": "linear"})"), bad, "rope_type: factor: absent");
  check_fails(llama(R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 1}})"),
              bad, "rope_scaling.high_freq_factor: absent");
  check_fails(
      llama(
          R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1}})"),
      bad, "rope_scaling.type: high_freq_factor 1 is below");
  check_fails(
      llama(
          R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2]}})"),
      bad, "rope_scaling.short_factor: has 2 entries for 32 planes");
  check_fails(
      llama(
          R"({"head_dim": 4, "rope_scaling": {"type": "longrope", "short_factor": [1, -2], "long_factor": [1, 2]}})"),
      bad, "rope_scaling.short_factor[1]: must be positive");
  check_fails(llama(R"({"rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2}})"), bad,
              "rope_scaling.type: YaRN");
  check_fails(llama(R"({"head_dim": 2, "rope_scaling": {"type": "dynamic", "factor": 2}})"), bad,
              "rope_scaling.factor:");
  check_fails(Json::parse("[1]"), bad, "a config is a JSON object");
  Json nan = llama("{}");
  nan["rope_theta"] = std::numeric_limits<double>::quiet_NaN();
  check_fails(nan, bad, "rope_theta: not a finite number");
}

TEST_CASE("config: what is not known or not rotary is refused by name") {
  const auto unsupported = ErrorCode::unsupported;
  check_fails(llama(R"({"rope_scaling": {"rope_type": "wavy", "factor": 2}})"), unsupported,
              "rope_scaling.rope_type: the scaling type 'wavy' is not known");
  check_fails(llama(R"({"alibi": true})"), unsupported, "alibi:");
  check_fails(llama(R"({"attn_config": {"alibi": true}})"), unsupported, "attn_config.alibi:");
  check_fails(llama(R"({"rope_theta": null, "position_embedding_type": "learned"})"), unsupported,
              "position_embedding_type:");
  check_fails(llama(R"({"use_rotary_embedding": false})"), unsupported, "use_rotary_embedding:");
  check_fails(llama(R"({"model_type": "bloom", "rope_theta": null})"), unsupported, "model_type:");
  check_fails(llama(R"({"rotary_emb_scale_base": 512})"), unsupported,
              "rotary_emb_scale_base: xPos");
  check_fails(llama(R"({"rope_scaling_factor": 4})"), unsupported, "rope_scaling_factor:");
}

TEST_CASE("config: unread keys are warnings that name the effect") {
  const ResolvedRope rope =
      resolve(llama(R"({"rope_theta": null, "rope_tehta": 1000000, "rotary_colour": "red",
      "rope_scaling": {"rope_type": "yarn", "factor": 4, "beta_fst": 16, "low_freq_factor": 1}})"));
  CHECK(warns(rope,
              "rope_tehta = 1000000: not read, no effect on this table (is rope_theta meant? It "
              "would change 31 of 32 planes"));
  CHECK(warns(rope, "rotary_colour = \"red\": not read, no effect on this table"));
  CHECK(warns(
      rope, "rope_scaling.beta_fst = 16: not read, no effect on this table (is beta_fast meant?"));
  CHECK(warns(rope, "rope_scaling.low_freq_factor = 1: not read for scaling type 'yarn'"));
  CHECK(source(rope, "base") == "absent, 10000 assumed");
}

TEST_CASE("config: the pairing layout follows the model and is never guessed") {
  for (const char* type :
       {"gptj", "codegen", "deepseek_v2", "deepseek_v3", "glm4", "cohere", "llama4_text"})
    CHECK(
        resolve(llama((std::string(R"({"head_dim": 64, "model_type": ")") + type + "\"}").c_str()))
            .layout == Pairing::interleaved);
  for (const char* type : {"llama", "mistral", "gpt_neox", "qwen2", "gemma2", "phi3", "gpt_oss"})
    CHECK(
        resolve(llama((std::string(R"({"head_dim": 64, "model_type": ")") + type + "\"}").c_str()))
            .layout == Pairing::half_split);
  const ResolvedRope rope = resolve(llama(R"({"model_type": "nobody"})"));
  CHECK(rope.layout == Pairing::unknown);
  CHECK(warns(rope, "model_type 'nobody' is not known, so the pairing layout is unknown"));
  CHECK(resolve(llama(R"({"model_type": "nobody", "rope_interleaved": true})")).layout ==
        Pairing::interleaved);
  // A key that transformers' Llama does not read does not change the layout, but is named.
  const ResolvedRope contradicted = resolve(llama(R"({"rope_interleaved": true})"));
  CHECK(contradicted.layout == Pairing::half_split);
  CHECK(warns(contradicted, "rope_interleaved: says interleaved"));
  CHECK(resolve(llama(R"({"model_type": "deepseek_v3", "rope_interleave": false})")).layout ==
        Pairing::half_split);
}

TEST_CASE("config: --layer picks the table of that layer") {
  const Json gemma = llama(
      R"({"model_type": "gemma3_text", "head_dim": 64, "query_pre_attn_scalar": 64, "sliding_window": 512,
      "num_hidden_layers": 12, "rope_theta": 1000000, "rope_local_base_freq": 10000, "sliding_window_pattern": 6,
      "rope_scaling": {"rope_type": "linear", "factor": 8}})");
  const ResolvedRope global = resolve(gemma, {.layer = 5});
  CHECK(global.base == Rational(1000000));
  CHECK(global.schedule.scheme == "linear");
  CHECK_FALSE(global.sliding_window);
  const ResolvedRope local = resolve(gemma, {.layer = 6});
  CHECK(local.base == Rational(10000));
  CHECK(local.schedule.scheme == "default");
  CHECK(local.sliding_window == Integer(512));
  CHECK(warns(resolve(gemma), "--layer K"));
  CHECK(resolve(gemma).base == Rational(1000000));
  const Failure beyond = failure_of(gemma, {.layer = 12});
  CHECK(beyond.code == ErrorCode::bad_value);

  // transformers 5: a table for each type; the list of layer types decides.
  const Json five = Json::parse(
      R"({"head_dim": 64, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 8,
      "rope_parameters": {"full_attention": {"rope_theta": 160000, "rope_type": "default"},
                          "sliding_attention": {"rope_theta": 10000, "rope_type": "default"}}})");
  CHECK(resolve(five, {.layer = 0}).base == Rational(10000));
  CHECK(resolve(five, {.layer = 1}).base == Rational(160000));
  CHECK(source(resolve(five, {.layer = 0}), "base") ==
        "rope_parameters.sliding_attention.rope_theta");
}

TEST_CASE("config: defaults that only a model's class knows are named") {
  const ResolvedRope rope =
      resolve(Json::parse(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
      "hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024, "rope_scaling": {"rope_type": "linear", "factor": 8}}})"),
              {.layer = 0});
  CHECK(rope.base == Rational(10000));
  CHECK(rope.head_dim == 256);
  CHECK(warns(rope,
              "text_config.rope_local_base_freq: absent, 10000 assumed (the default of "
              "transformers' Gemma3TextConfig)"));
  CHECK(warns(rope, "text_config.head_dim: absent, 256 assumed"));
  CHECK(resolve(llama(R"({"model_type": "glm"})")).rotary_dim == 64);  // half of the class's 128
  CHECK(
      source(resolve(llama(R"({"model_type": "gpt_neox"})")), "rotary_dim").find("GPTNeoXConfig") !=
      std::string::npos);
}

TEST_CASE("config: layers without rotary embedding are refused, and named when none is asked for") {
  const Json smollm =
      llama(R"({"model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0]})");
  CHECK(warns(resolve(smollm), "layers 3, 7 have no rotary embedding (no_rope_layers)"));
  CHECK(failure_of(smollm, {.layer = 3}).code == ErrorCode::unsupported);
  CHECK_FALSE(failure_of(smollm, {.layer = 4}).code);
  const Json cohere =
      llama(R"({"model_type": "cohere2", "sliding_window": 128, "sliding_window_pattern": 4})");
  CHECK(failure_of(cohere, {.layer = 3}).code == ErrorCode::unsupported);
  CHECK(resolve(cohere, {.layer = 2}).sliding_window == Integer(128));
  const Json hybrid =
      llama(R"({"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]})");
  CHECK(failure_of(hybrid, {.layer = 0}).code == ErrorCode::unsupported);
}

TEST_CASE("config: logit scale and its sources") {
  const auto scale = [](const char* changes) {
    return resolve(llama(changes)).logit_scale.as<double>();
  };
  CHECK(scale("{}") == Catch::Approx(0.125));
  CHECK(scale(R"({"query_pre_attn_scalar": 256})") == Catch::Approx(0.0625));
  CHECK(scale(R"({"model_type": "granite", "attention_multiplier": 0.015625})") ==
        Catch::Approx(0.015625));
  // attention_factor enters squared, an explicit one wins over the formula.
  const double m = 0.1 * std::log(4.0) + 1;
  CHECK(
      scale(
          R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 512}})") ==
      Catch::Approx(0.125 * m * m).epsilon(1e-14));
  CHECK(
      scale(
          R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 512, "attention_factor": 1.0}})") ==
      Catch::Approx(0.125).epsilon(1e-14));
  // DeepSeek: the factor on cos and sin is 1, its square stands on the logits instead.
  const ResolvedRope deepseek = resolve(
      Json::parse(R"({"model_type": "deepseek_v3", "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "max_position_embeddings": 163840, "rope_theta": 10000,
      "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "mscale": 1.0, "mscale_all_dim": 1.0}})"));
  CHECK(deepseek.schedule.attention_factor.rational() == Rational(1));
  CHECK(deepseek.rotary_dim == 64);
  CHECK(deepseek.head_dim == 192);
  const double d = 0.1 * std::log(40.0) + 1;
  CHECK(deepseek.logit_scale.as<double>() ==
        Catch::Approx(d * d / std::sqrt(192.0)).epsilon(1e-14));
  CHECK(resolve(llama(R"({"model_type": "gemma2", "head_dim": 64, "query_pre_attn_scalar": 64})"))
            .softcap == Rational(50));
}

TEST_CASE("config: the length chooses LongRoPE's list and stretches dynamic NTK") {
  const Json phi =
      llama(R"({"head_dim": 4, "original_max_position_embeddings": 512, "model_type": "phi3",
      "rope_scaling": {"type": "su", "short_factor": [1, 2], "long_factor": [3, 4]}})");
  CHECK(resolve(phi).schedule.frequencies[0].rational() == Rational(1));
  CHECK(resolve(phi, {.length = 512}).schedule.frequencies[0].rational() == Rational(1));
  CHECK(resolve(phi, {.length = 513}).schedule.frequencies[0].rational() == Rational(1, 3));
  CHECK(warns(resolve(phi), "--length"));
  CHECK(resolve(phi).schedule.attention_factor.as<double>() ==
        Catch::Approx(std::sqrt(1 + 2.0 / 9)));

  const Json dynamic = llama(
      R"({"rope_scaling": {"type": "dynamic", "factor": 2, "original_max_position_embeddings": 512}})");
  CHECK(warns(resolve(dynamic), "not read for dynamic NTK"));
  CHECK(value(resolve(dynamic), "original_length") == "2048");
  CHECK(resolve(dynamic, {.length = 4096}).schedule.frequencies[31].text() !=
        resolve(dynamic, {.length = 2048}).schedule.frequencies[31].text());

  const Json qwen = llama(
      R"({"model_type": "qwen", "seq_length": 512, "max_position_embeddings": 512, "use_dynamic_ntk": true})");
  CHECK(value(resolve(qwen, {.length = 512}), "ntk_alpha") == "1");
  CHECK(value(resolve(qwen, {.length = 513}), "ntk_alpha") == "3");
  CHECK(value(resolve(qwen, {.length = 1024}), "ntk_alpha") == "3");
  CHECK(value(resolve(qwen, {.length = 1025}), "ntk_alpha") == "7");
}

TEST_CASE("config: YaRN's factor is held against the two lengths") {
  const char* fault = "is 8192, not max_position_embeddings = 2048";
  CHECK(warns(
      resolve(llama(
          R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 2048}})")),
      fault));
  CHECK_FALSE(warns(
      resolve(llama(
          R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 512}})")),
      "times"));
  CHECK(
      value(
          resolve(llama(
              R"({"rope_scaling": {"type": "yarn", "factor": null, "original_max_position_embeddings": 512}})")),
          "factor") == "4");
  CHECK(warns(resolve(llama(R"({"rope_scaling": {"type": "yarn", "factor": 4}})")),
              "original_max_position_embeddings: absent"));
}

TEST_CASE("config: a share of the head that floats round otherwise is named") {
  // 0.29 * 100 is 28.999999999999996 in Python.
  const ResolvedRope rope = resolve(llama(R"({"head_dim": 100, "partial_rotary_factor": 0.29})"));
  CHECK(rope.rotary_dim == 28);
  CHECK(warns(rope, "is 29 exactly and 28 in the floating-point product"));
}

TEST_CASE("config: the sliding window belongs to the layers that slide") {
  CHECK(resolve(llama(R"({"sliding_window": 512})")).sliding_window == Integer(512));
  CHECK_FALSE(
      resolve(llama(R"({"sliding_window": 512, "use_sliding_window": false})")).sliding_window);
  CHECK_FALSE(resolve(llama(R"({"sliding_window": null})")).sliding_window);
  const Json gemma = llama(
      R"({"model_type": "gemma2", "head_dim": 64, "query_pre_attn_scalar": 64, "sliding_window": 512})");
  CHECK(resolve(gemma, {.layer = 0}).sliding_window == Integer(512));
  CHECK_FALSE(resolve(gemma, {.layer = 1}).sliding_window);
  CHECK(warns(resolve(gemma), "holds for the sliding layers only"));
}

TEST_CASE("config: pieces that change attention and not the table are named") {
  CHECK(warns(resolve(llama(R"({"use_logn_attn": true})")), "use_logn_attn"));
  CHECK(warns(resolve(llama(
                  R"({"rope_parameters": {"rope_type": "default", "llama_4_scaling_beta": 0.1}})")),
              "llama_4_scaling_beta"));
  CHECK(
      warns(resolve(llama(R"({"rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}})")),
            "mrope_section"));
  CHECK(
      warns(resolve(llama(R"({"rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 13]}})")),
            "its sum 33"));
  CHECK(warns(resolve(llama(R"({"compress_rope_theta": 40000})")), "compress_rope_theta"));
  CHECK(warns(resolve(llama(R"({"vision_config": {}})")), "vision_config"));
}

TEST_CASE("a config of a norm-free model lists its frequencies, and logits have no scale") {
  const auto plain = [](const char* key = "hidden_size", const Json& value = 9) {
    Json config = {{"model_type", "ropewalk"},
                   {"head_dim", 4},
                   {"num_hidden_layers", 2},
                   {"frequencies", {"1", "acos(3/5)"}},
                   {"ropewalk", {{"rule", "lag"}}}};
    config[key] = value;
    return config;
  };
  const ResolvedRope rope = resolve(plain());
  CHECK(rope.layout == Pairing::interleaved);
  REQUIRE(rope.schedule.frequencies.size() == 2);
  CHECK(rope.schedule.frequencies[1].text() == "acos(3/5)");
  CHECK(rope.logit_scale.text() == "1");
  CHECK(rope.warnings.empty());
  CHECK(resolve(plain("frequencies", {"0", 0.5})).schedule.frequencies[1].text() == "1/2");
  check_fails(plain("frequencies", Json::array({"1"})), ErrorCode::bad_value, "frequencies:");
  check_fails(plain("frequencies", "1"), ErrorCode::bad_value, "frequencies:");
  check_fails(plain("frequencies", {"1", "one"}), ErrorCode::parse, "frequencies[1]:");
  check_fails(plain("head_dim", 3), ErrorCode::bad_value, "head_dim:");
  for (const char* key : {"rope_theta", "rotary_dim", "query_pre_attn_scalar", "sliding_window"})
    check_fails(plain(key, 4), ErrorCode::unsupported, std::string(key) + ":");
}
