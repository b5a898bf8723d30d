#pragma once
/// \file
/// From a model's config.json to its rotary table.
///
/// The same quantity has many names and many places in published configs, and readers that know
/// only one place fall back to base 10000 without a word. `resolve` knows every place, and does
/// three things that such readers do not: it refuses two places that disagree, it says of every
/// value where it came from
/// ("absent, 10000 assumed" where it came from nowhere), and it names what it did not read.
///
///   const ResolvedRope rope = resolve(json, {.length = 32768, .layer = 5});
///   rope.schedule.frequencies[0];
///   for (const Provenance& p : rope.provenance) ...   // base, 1000000, rope_parameters.rope_theta
///
/// Where versions of transformers differ, version `transformers_followed` is read, and the
/// difference is named in a warning.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "theory/pairing.hpp"
#include "theory/schedule.hpp"

namespace ropewalk::theory {

inline constexpr const char* transformers_followed = "5.24.0";

struct ResolveOptions {
  /// Length of the sequence in tokens, for the schemes whose table depends on it (dynamic NTK,
  /// LongRoPE). Absent: the table that a short sequence gets.
  std::optional<Integer> length = {};
  /// Layer, counted from 0, for models whose layers differ. Absent: the full-attention layers.
  std::optional<unsigned> layer = {};
};

struct Provenance {
  std::string quantity;  ///< "base", "rotary_dim", ...
  std::string value;     ///< as used
  std::string source;    ///< key path, or "absent, ... assumed"
};

struct ResolvedRope {
  Schedule schedule;
  std::string model_type;  ///< empty where the file does not say
  unsigned head_dim = 0;   ///< dimensions in the scalar product of query and key
  unsigned rotary_dim = 0;
  Pairing layout = Pairing::unknown;
  /// What multiplies the scalar product of rotated query and key before softmax: 1/sqrt(head_dim)
  /// or its override, times attention_factor^2 and, where the model has it, mscale^2.
  Formula logit_scale;
  std::optional<Rational> softcap;        ///< logits pass through c tanh(x/c)
  std::optional<Integer> sliding_window;  ///< tokens; absent: attention reaches back to the start
  /// Tokens: the input falls into blocks of so many, and a query sees the keys of its own block.
  std::optional<Integer> attention_chunk;
  std::optional<Rational> base;  ///< absent for a custom list
  std::vector<Provenance> provenance;
  std::vector<std::string> warnings;
};

/// Reads the rotary table of the text part of a Hugging Face config (transformers 4 and 5 shapes,
/// GPT-J, GPT-NeoX, ChatGLM, Qwen, DeepSeek and other spellings; docs/schedule.md lists them), or
/// of a norm-free "ropewalk". Guarantee: Exact (formulas; a number of the file is the shortest
/// decimal that reads as the same double).
/// Cost: that of building one schedule.
/// Throws Error(bad_value) for a value outside its domain or of the wrong type, Error(conflict) for
/// two places that disagree, Error(unsupported) for a model without rotary embedding, a layer
/// without one or a scaling type that is not known; every message begins with the key path.
[[nodiscard]] ResolvedRope resolve(const nlohmann::json& config,
                                   const ResolveOptions& options = {});

}  // namespace ropewalk::theory
