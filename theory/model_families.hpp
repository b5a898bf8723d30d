#pragma once
/// \file
/// What a config.json leaves to the code of its model: the pairing layout, and the defaults of
/// transformers' config classes (version 5.24.0) for values that are absent. Facts, one line a
/// model type; config.cpp reads them and marks every value that it takes from here as assumed.

#include <string>
#include <utility>

#include "theory/config.hpp"

namespace ropewalk::theory::models {

/// What the file leaves to the model's own code. Numbers are decimals; empty: nothing beyond the
/// usual.
struct Family {
  const char* model_type;
  Pairing layout;
  const char* base = "";  // default base
  const char* local_base =
      "";                    // default base of sliding layers, where they have a table of their own
  const char* partial = "";  // default share of the head that rotates
  const char* head_dim = "";  // default head dimension, used even where hidden/heads is known
  const char* owner = "";     // whose defaults these are
};

constexpr Pairing inter = Pairing::interleaved;
constexpr Pairing half = Pairing::half_split;

constexpr Family families[] = {
    {"afmoe", half, "", "", "", "128", "AfmoeConfig"},
    {"apertus", half, "12000000", "", "", "", "ApertusConfig"},
    {"aquila", half},
    {"arcee", half},
    {"aria_text", half},
    {"axk1", inter},
    {"baichuan", half},
    {"bailing_moe", half},
    {"bamba", half, "", "", "0.5", "", "BambaConfig"},
    {"bitnet", half, "500000", "", "", "", "BitNetConfig"},
    {"blt", inter, "500000", "", "", "", "BltConfig"},
    {"chameleon", half},
    {"chatglm", inter},
    {"codegen", inter},
    {"cohere", inter, "500000", "", "", "", "CohereConfig"},
    {"cohere2", inter},
    {"cohere2_moe", inter, "", "", "", "128", "Cohere2MoeConfig"},
    {"cwm", half, "1000000", "", "", "128", "CwmConfig"},
    {"dbrx", half},
    {"deepseek", half},
    {"deepseek_v2", inter},
    {"deepseek_v3", inter},
    {"deepseek_v32", inter},
    {"diffllama", half},
    {"doge", half},
    {"dots1", half},
    {"emu3", half},
    {"ernie4_5", inter, "500000", "", "", "128", "Ernie4_5Config"},
    {"ernie4_5_moe", inter, "500000", "", "", "", "Ernie4_5_MoeConfig"},
    {"esm", half},
    {"eurobert", half},
    {"exaone", half, "500000", "", "", "", "ExaoneConfig"},
    {"exaone4", half},
    {"falcon", half},
    {"RefinedWeb", half},
    {"RefinedWebModel", half},
    {"falcon_h1", half},
    {"flex_olmo", half, "500000", "", "", "", "FlexOlmoConfig"},
    {"gemma", half, "", "", "", "256", "GemmaConfig"},
    {"gemma2", half, "", "", "", "256", "Gemma2Config"},
    {"gemma3_text", half, "1000000", "10000", "", "256", "Gemma3TextConfig"},
    {"gemma3n_text", half, "1000000", "10000", "", "256", "Gemma3nTextConfig"},
    {"gemma4_text", half, "1000000", "10000", "", "256", "Gemma4TextConfig"},
    {"glm", inter, "", "", "0.5", "128", "GlmConfig"},
    {"glm4", inter, "", "", "0.5", "128", "Glm4Config"},
    {"glm4_moe", half, "", "", "0.5", "", "Glm4MoeConfig"},
    {"glm4_moe_lite", inter},
    {"glm_moe_dsa", inter},
    {"glm4v_text", inter},
    {"gpt_neox", half, "", "", "0.25", "", "GPTNeoXConfig"},
    {"gpt_neox_japanese", half},
    {"gpt_oss", half, "150000", "", "", "64", "GptOssConfig"},
    {"gptj", inter},
    {"granite", half},
    {"granitemoe", half},
    {"granitemoehybrid", half},
    {"granitemoeshared", half},
    {"helium", inter, "100000", "", "", "128", "HeliumConfig"},
    {"hunyuan", half},
    {"hunyuan_v1_dense", half},
    {"hunyuan_v1_moe", half},
    {"internlm", half},
    {"internlm2", half},
    {"internlm3", half, "", "", "", "128", "InternLM3Config"},
    {"jetmoe", half},
    {"kimi_k2", inter},
    {"lfm2", half, "1000000", "", "", "", "Lfm2Config"},
    {"lfm2_moe", half, "1000000", "", "", "", "Lfm2MoeConfig"},
    {"llama", half},
    {"llama4_text", inter, "500000", "", "", "128", "Llama4TextConfig"},
    {"longcat_flash", inter, "10000000", "", "", "", "LongcatFlashConfig"},
    {"mimo", half},
    {"mimo_v2_flash", half, "5000000", "10000", "0.334", "192", "MiMoV2FlashConfig"},
    {"minicpm", half},
    {"minicpm3", half},
    {"minimax", half, "1000000", "", "", "", "MiniMaxConfig"},
    {"minimax_m2", half, "5000000", "", "", "128", "MiniMaxM2Config"},
    {"ministral", half},
    {"ministral3", half, "1000000", "", "", "128", "Ministral3Config"},
    {"mistral", half},
    {"mistral4", inter},
    {"mixtral", half, "1000000", "", "", "", "MixtralConfig"},
    {"mllama_text_model", half, "500000", "", "", "", "MllamaTextConfig"},
    {"modernbert", half, "160000", "10000", "", "", "ModernBertConfig"},
    {"modernbert-decoder", half, "160000", "10000", "", "", "ModernBertDecoderConfig"},
    {"nemotron", half, "", "", "0.5", "", "NemotronConfig"},
    {"nomic_bert", half, "1000", "", "", "", "NomicBertConfig"},
    {"olmo", half},
    {"olmo2", half},
    {"olmo3", half, "500000", "", "", "", "Olmo3Config"},
    {"olmoe", half},
    {"orion", half},
    {"persimmon", half, "", "", "0.5", "", "PersimmonConfig"},
    {"phi", half, "", "", "0.5", "", "PhiConfig"},
    {"phi3", half},
    {"phi4_multimodal", half},
    {"phimoe", half, "1000000", "", "", "", "PhimoeConfig"},
    {"qwen", half},
    {"qwen2", half},
    {"qwen2_moe", half},
    {"qwen2_vl", half, "1000000", "", "", "", "Qwen2VLTextConfig"},
    {"qwen2_vl_text", half, "1000000", "", "", "", "Qwen2VLTextConfig"},
    {"qwen2_5_vl", half, "1000000", "", "", "", "Qwen2_5_VLTextConfig"},
    {"qwen2_5_vl_text", half, "1000000", "", "", "", "Qwen2_5_VLTextConfig"},
    {"qwen2_5_omni_text", half, "1000000", "", "", "", "Qwen2_5OmniTextConfig"},
    {"qwen3", half, "", "", "", "128", "Qwen3Config"},
    {"qwen3_moe", half},
    {"qwen3_next", half, "", "", "0.25", "256", "Qwen3NextConfig"},
    {"qwen3_5_text", half, "", "", "0.25", "256", "Qwen3_5TextConfig"},
    {"qwen3_5_moe_text", half, "", "", "0.25", "256", "Qwen3_5MoeTextConfig"},
    {"qwen3_vl_text", half, "500000", "", "", "128", "Qwen3VLTextConfig"},
    {"qwen3_vl_moe_text", half, "500000", "", "", "128", "Qwen3VLMoeTextConfig"},
    {"qwen3_omni_moe_text", half, "1000000", "", "", "", "Qwen3OmniMoeTextConfig"},
    {"recurrent_gemma", half, "", "", "0.5", "", "RecurrentGemmaConfig"},
    {"roformer", inter},
    {"ropewalk", inter},  // written by `ropewalk construct`
    {"seed_oss", half, "", "", "", "128", "SeedOssConfig"},
    {"smollm3", half, "2000000", "", "", "", "SmolLM3Config"},
    {"solar_open", half, "1000000", "", "", "128", "SolarOpenConfig"},
    {"stablelm", half, "", "", "0.25", "", "StableLmConfig"},
    {"stablelm_epoch", half, "", "", "0.25", "", "StableLmConfig"},
    {"starcoder2", half},
    {"t5gemma2_text", half, "1000000", "10000", "", "256", "T5Gemma2TextConfig"},
    {"vaultgemma", half, "", "", "", "256", "VaultGemmaConfig"},
    {"xverse", half},
    {"Yi", half},
    {"youtu", inter},
    {"zamba2", half},
};

/// Model types of whole multimodal models whose text part keeps its numbers at the top.
constexpr std::pair<const char*, const char*> text_types[] = {
    {"gemma3", "gemma3_text"},     {"gemma3n", "gemma3n_text"},
    {"gemma4", "gemma4_text"},     {"llama4", "llama4_text"},
    {"qwen3_vl", "qwen3_vl_text"}, {"qwen3_vl_moe", "qwen3_vl_moe_text"},
    {"qwen3_5", "qwen3_5_text"},   {"qwen3_5_moe", "qwen3_5_moe_text"},
    {"glm4v", "glm4v_text"},
};

/// Model types whose config class assumes a scaling where the file has none.
constexpr std::pair<const char*, const char*> assumed_scalings[] = {
    {"apertus", "llama3 with factor 8"},  {"cwm", "llama3 with factor 16"},
    {"gpt_oss", "yarn with factor 32"},   {"ministral3", "yarn with factor 16"},
    {"mistral4", "yarn with factor 128"},
};

/// The line of a model type; null where there is none.
[[nodiscard]] inline const Family* family_of(std::string type) {
  for (const auto& [whole, text] : text_types)
    if (type == whole) type = text;
  for (const Family& f : families)
    if (type == f.model_type) return &f;
  return nullptr;
}

}  // namespace ropewalk::theory::models
