#include "theory/config.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "theory/model_families.hpp"

namespace ropewalk::theory {

namespace {

using Json = nlohmann::json;
using models::Family;
using models::family_of;
using std::string;

constexpr Pairing inter = Pairing::interleaved;
constexpr Pairing half = Pairing::half_split;

constexpr const char* full = "full_attention";
constexpr const char* sliding = "sliding_attention";
constexpr const char* chunked = "chunked_attention";

template <class Set>
bool among(std::string_view x, const Set& set) {
  return std::find(std::begin(set), std::end(set), x) != std::end(set);
}
bool among(std::string_view x, std::initializer_list<std::string_view> set) {
  return std::find(set.begin(), set.end(), x) != set.end();
}

// ------------------------------------------------------------------------------------ known keys

/// Keys beside the rope dictionaries that this file reads or names.
constexpr std::string_view known_keys[] = {"rope_theta",
                                           "rope_scaling",
                                           "rope_parameters",
                                           "rope_type",
                                           "rotary_dim",
                                           "rotary_pct",
                                           "rotary_percent",
                                           "rope_pct",
                                           "rotary_emb_base",
                                           "rotary_embedding_base",
                                           "rotary_emb_fraction",
                                           "rotary_emb_interleaved",
                                           "rotary_emb_scale_base",
                                           "rotary_scaling_factor",
                                           "attn_rotary_emb",
                                           "partial_rotary_factor",
                                           "global_rope_theta",
                                           "local_rope_theta",
                                           "rope_local_base_freq",
                                           "swa_rope_theta",
                                           "rope_ratio",
                                           "original_rope",
                                           "rope_interleave",
                                           "rope_interleaved",
                                           "rope_is_neox_style",
                                           "qk_rope_head_dim",
                                           "no_rope_layers",
                                           "no_rope_layer_interval",
                                           "rope_ntk_alpha",
                                           "rope_ntk_beta",
                                           "rope_scaling_factor",
                                           "use_rotary_embedding",
                                           "use_rotary_pos_emb",
                                           "rotary",
                                           "use_rope",
                                           "compress_rope_theta",
                                           "indexer_rope_interleave",
                                           "use_mrope",
                                           "rope_3d",
                                           "use_3d_rope",
                                           "fuse_rope",
                                           "rope_condense_ratio",
                                           "original_max_position_embeddings",
                                           "max_position_embeddings",
                                           "query_pre_attn_scalar",
                                           "qk_nope_head_dim"};

/// Keys of the rope dictionaries: those every type may have, and who reads the others.
constexpr std::string_view common_rope_keys[] = {"type",
                                                 "rope_type",
                                                 "rope_theta",
                                                 "partial_rotary_factor",
                                                 "mrope_section",
                                                 "mrope_interleaved",
                                                 "max_position_embeddings",
                                                 "llama_4_scaling_beta",
                                                 "interleaved"};
const std::map<string, std::vector<std::string_view>, std::less<>> type_keys = {
    {"default", {}},
    {"linear", {"factor"}},
    {"dynamic", {"factor", "alpha", "original_max_position_embeddings"}},
    {"yarn",
     {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow",
      "mscale", "mscale_all_dim", "truncate"}},
    {"llama3",
     {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"}},
    {"longrope",
     {"factor", "original_max_position_embeddings", "attention_factor", "short_factor",
      "long_factor"}},
    {"proportional", {"factor"}},
    {"ropewalk.ntk", {"factor"}},
    {"ropewalk.yarn_paper",
     {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow"}},
    {"ropewalk.p_rope", {"p"}},
    {"ropewalk.resonance", {}},
    {"ropewalk.custom", {"frequencies", "attention_factor"}},
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// The candidate nearest to a misspelt key: at most 2 edits, and fewer than a third of its letters.
std::optional<std::string_view> suggestion(std::string_view key,
                                           const std::vector<std::string_view>& candidates) {
  std::optional<std::string_view> best;
  std::size_t least = std::min<std::size_t>(2, (key.size() - 1) / 3) + 1;
  if (key.size() > 64) return best;
  for (const auto candidate : candidates)
    if (const auto d = edit_distance(key, candidate); d < least) {
      least = d;
      best = candidate;
    }
  return best;
}

// -------------------------------------------------------------------------------- reading values

[[noreturn]] void bad(const string& path, const string& what) {
  throw Error(ErrorCode::bad_value, path + ": " + what);
}
[[noreturn]] void unsupported(const string& path, const string& what) {
  throw Error(ErrorCode::unsupported, path + ": " + what);
}

string brief(const Json& value) {
  string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

string show(const Rational& x) {
  const string exact = x.str();
  return exact.find('/') == string::npos ? exact : decimal(x, 17, Round::nearest);
}

Rational number(const Json& value, const string& path) {
  if (value.is_number_unsigned()) return Rational(value.get<std::uint64_t>());
  if (value.is_number_integer()) return Rational(value.get<std::int64_t>());
  if (value.is_number_float()) {
    const double x = value.get<double>();
    if (!std::isfinite(x)) bad(path, "not a finite number");
    return shortest_decimal(x);
  }
  bad(path, "a number is wanted, not " + brief(value));
}

bool truth(const Json& value, const string& path) {
  if (!value.is_boolean()) bad(path, "true or false is wanted, not " + brief(value));
  return value.get<bool>();
}

struct Place {
  const Json* object;
  string prefix;  // "", "text_config.", "text_config.rope_scaling."
  [[nodiscard]] const Json* find(std::string_view key) const {
    const auto it = object->find(string(key));
    return it == object->end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] string path(std::string_view key) const { return prefix + string(key); }
};

struct Found {
  Rational value;
  string path;
};

Integer to_integer(const Found& found) {
  if (denominator(found.value) != 1)
    bad(found.path, "a whole number is wanted, not " + show(found.value));
  return numerator(found.value);
}

// ------------------------------------------------------------------------------------ the reader

class Reader {
 public:
  Reader(const Json& root, const ResolveOptions& options, bool lints = true)
      : root_{&root, ""}, options_(options), lints_(lints) {
    if (!root.is_object())
      throw Error(ErrorCode::bad_value, "a config is a JSON object, not " + brief(root));
    choose_section();
    refuse_models_without_rope();
    refuse_keys_of_others();
    find_layer();
    find_rope_dictionaries();
  }

  ResolvedRope read() {
    read_layout();
    read_head();
    read_schedule();
    read_rotary_part_of_mla();
    read_logit_scale();
    read_sliding_window();
    read_attention_chunk();
    name_the_rest();
    if (lints_) lint();
    from("float32", string("transformers ") + transformers_followed,
         "whose arithmetic inv_freq_f32 repeats");
    return std::move(out_);
  }

 private:
  // --- bookkeeping
  void from(string quantity, string value, string source) {
    out_.provenance.push_back({std::move(quantity), std::move(value), std::move(source)});
  }
  void assumed(const string& quantity, const string& value, const string& key,
               const string& why = "") {
    const string text = "absent, " + value + " assumed" + (why.empty() ? "" : " (" + why + ")");
    from(quantity, value, text);
    warn(key + ": " + text);
  }
  void warn(string text) {
    if (std::find(out_.warnings.begin(), out_.warnings.end(), text) == out_.warnings.end())
      out_.warnings.push_back(std::move(text));
  }
  [[nodiscard]] string default_of(const Family& family) const {
    return string("the default of transformers' ") + family.owner;
  }

  // --- lookups: every place is looked at; two that disagree are an error
  static void add(std::vector<Found>& into, const Place& place, std::string_view key) {
    if (const Json* value = place.find(key))
      into.push_back({number(*value, place.path(key)), place.path(key)});
  }
  static std::optional<Found> agree(const std::vector<Found>& found, const string& quantity) {
    if (found.empty()) return std::nullopt;
    for (const Found& other : found)
      if (other.value != found[0].value)
        throw Error(ErrorCode::conflict, found[0].path + " = " + show(found[0].value) + " and " +
                                             other.path + " = " + show(other.value) +
                                             " are two values for the " + quantity);
    return found[0];
  }
  [[nodiscard]] std::optional<Found> section(std::initializer_list<std::string_view> keys,
                                             const string& quantity) const {
    std::vector<Found> found;
    for (const auto key : keys) add(found, section_, key);
    return agree(found, quantity);
  }
  [[nodiscard]] std::optional<Found> rope(std::string_view key) const {
    std::vector<Found> found;
    for (const Place& place : rope_) add(found, place, key);
    return agree(found, string(key));
  }
  [[nodiscard]] string rope_path(std::string_view key) const {
    return (rope_.empty() ? section_ : rope_.front()).path(key);
  }
  static Found positive(Found found) {
    if (found.value <= 0) bad(found.path, "must be positive, got " + show(found.value));
    return found;
  }
  static std::optional<Found> positive(std::optional<Found> found) {
    if (found) positive(*found);
    return found;
  }
  [[nodiscard]] bool flag(std::string_view key, bool otherwise) const {
    const Json* value = section_.find(key);
    return value != nullptr ? truth(*value, section_.path(key)) : otherwise;
  }
  /// For switches that some files write as numbers.
  [[nodiscard]] bool on(std::string_view key, bool otherwise) const {
    const Json* value = section_.find(key);
    if (value == nullptr) return otherwise;
    return value->is_boolean() ? value->get<bool>() : number(*value, section_.path(key)) != 0;
  }
  static unsigned dimension(const Found& found) {
    const Integer n = to_integer(found);
    if (n <= 0) bad(found.path, "a dimension must be positive, got " + n.str());
    if (n > (1 << 16))
      throw Error(ErrorCode::too_large, found.path + ": " + n.str() + " is beyond 2^16");
    return n.convert_to<unsigned>();
  }
  static Integer length(const Found& found) { return to_integer(positive(found)); }

  [[nodiscard]] bool type_in(std::initializer_list<std::string_view> types) const {
    return among(family_name_, types);
  }

  // --- which part of the file
  void choose_section() {
    section_ = root_;
    static const std::vector<std::vector<string>> nestings = {
        {"text_config"}, {"llm_config"}, {"thinker_config", "text_config"}, {"language_config"}};
    for (const auto& nesting : nestings) {
      Place place = root_;
      for (const string& key : nesting) {
        const Json* inner = place.find(key);
        if (inner == nullptr) {
          place.object = nullptr;
          break;
        }
        if (!inner->is_object()) bad(place.path(key), "an object is wanted, not " + brief(*inner));
        place = {inner, place.path(key) + "."};
      }
      if (place.object == nullptr) continue;
      section_ = place;
      break;
    }
    if (section_.object != root_.object) {
      const string name = section_.prefix.substr(0, section_.prefix.size() - 1);
      warn(name +
           ": this is the text part of a larger model; its rotary table is shown, other parts are "
           "not read");
      compare_with_root();
    } else {
      for (const std::string_view key : {"vision_config", "audio_config", "speech_config"})
        if (root_.find(key) != nullptr)
          warn(string(key) + ": not read; the rotary table of the text part is shown");
    }
    for (const Place& place : {section_, root_})
      if (const Json* type = place.find("model_type")) {
        if (!type->is_string())
          bad(place.path("model_type"), "a string is wanted, not " + brief(*type));
        out_.model_type = type->get<string>();
        from("model_type", out_.model_type, place.path("model_type"));
        break;
      }
    family_ = family_of(out_.model_type);
    family_name_ = family_ != nullptr ? family_->model_type : out_.model_type;
  }

  /// Rotary keys that stand both at the top and in the text part must agree; others at the top are
  /// named.
  void compare_with_root() {
    for (const auto& [key, value] : root_.object->items()) {
      if (value.is_null() ||
          (key.find("rope") == string::npos && key.find("rotary") == string::npos))
        continue;
      const Json* inner = section_.find(key);
      if (inner == nullptr)
        warn(key + ": not read, the text part " +
             section_.prefix.substr(0, section_.prefix.size() - 1) +
             " does not have it: no effect on this table");
      else if (*inner != value)
        throw Error(ErrorCode::conflict, key + " = " + brief(value) + " and " + section_.path(key) +
                                             " = " + brief(*inner) + " differ");
    }
  }

  void refuse_models_without_rope() const {
    for (const Place& place : {section_, root_}) {
      for (const std::string_view key : {"memory_attention_rope_theta"})
        if (place.find(key) != nullptr && place.find("rope_theta") == nullptr)
          unsupported(place.path(key),
                      "a rotary embedding over image coordinates, not over token positions");
      if (const Json* alibi = place.find("alibi");
          alibi != nullptr && truth(*alibi, place.path("alibi")))
        unsupported(place.path("alibi"), "this model has ALiBi and no rotary embedding");
      if (const Json* inner = place.find("attn_config"); inner != nullptr && inner->is_object()) {
        const Place attention{inner, place.path("attn_config.")};
        if (const Json* alibi = attention.find("alibi");
            alibi != nullptr && truth(*alibi, attention.path("alibi")))
          unsupported(attention.path("alibi"), "this model has ALiBi and no rotary embedding");
      }
      if (const Json* kind = place.find("position_embedding_type"); kind != nullptr) {
        const string path = place.path("position_embedding_type");
        if (!kind->is_string()) bad(path, "a string is wanted, not " + brief(*kind));
        const string value = kind->get<string>();
        if (!among(value, {"rope", "rotary", "rope_gptj", "rope_gpt_neox"}) &&
            !has_rope_keys(place))
          unsupported(path, "this model has '" + value + "' positions and no rotary embedding");
      }
      for (const std::string_view key :
           {"use_rotary_embedding", "use_rotary_pos_emb", "use_rope", "rotary"})
        if (const Json* value = place.find(key);
            value != nullptr && !truth(*value, place.path(key)))
          unsupported(place.path(key), "is false: this model has no rotary embedding");
    }
    if (const Json* xpos = section_.find("rotary_emb_scale_base"))
      unsupported(
          section_.path("rotary_emb_scale_base"),
          "xPos with base " + brief(*xpos) +
              " scales queries and keys with position, which no table of frequencies can show");
    if (among(out_.model_type,
              {"bert", "bloom", "mpt", "gpt2", "gpt_bigcode", "gpt_neo", "opt", "t5", "roberta"}) &&
        !has_rope_keys(section_))
      unsupported(section_.path("model_type"), "'" + out_.model_type + "' has no rotary embedding");
  }
  /// A model of the type "ropewalk" lists its frequencies and has nothing else that bends
  /// attention.
  void refuse_keys_of_others() const {
    if (!type_in({"ropewalk"})) return;
    for (const std::string_view key :
         {"rope_parameters", "rope_scaling", "rope_type", "rope_theta", "rotary_dim",
          "partial_rotary_factor", "qk_rope_head_dim", "layer_types", "query_pre_attn_scalar",
          "attention_multiplier", "attn_logit_softcapping", "sliding_window",
          "attention_chunk_size"})
      if (section_.find(key) != nullptr)
        unsupported(section_.path(key), "a model of the type 'ropewalk' has no such key");
  }
  static bool has_rope_keys(const Place& place) {
    return std::any_of(std::begin(known_keys), std::end(known_keys), [&](std::string_view key) {
      return (key.find("rope") != string::npos || key.find("rotary") != string::npos) &&
             place.find(key) != nullptr;
    });
  }

  // --- which layer
  void find_layer() {
    if (const auto n = section({"num_hidden_layers", "n_layer", "num_layers"}, "number of layers"))
      layers_ = dimension(*n);
    if (const Json* types = section_.find("layer_types")) {
      const string path = section_.path("layer_types");
      if (!types->is_array()) bad(path, "a list is wanted, not " + brief(*types));
      for (const Json& type : *types) {
        if (!type.is_string()) bad(path, "a list of strings is wanted");
        kinds_.push_back(type.get<string>());
      }
      if (layers_ != 0 && layers_ != kinds_.size())
        throw Error(ErrorCode::conflict, path + " has " + std::to_string(kinds_.size()) +
                                             " entries and the model " + std::to_string(layers_) +
                                             " layers");
      layers_ = static_cast<unsigned>(kinds_.size());
      kind_source_ = path;
    } else {
      derive_kinds();
    }
    if (options_.layer) {
      if (layers_ != 0 && *options_.layer >= layers_)
        throw Error(ErrorCode::bad_value, "layer " + std::to_string(*options_.layer) +
                                              ": the model has layers 0 to " +
                                              std::to_string(layers_ - 1));
      if (kind_rule_) {
        kind_ = (*kind_rule_)(*options_.layer);
      } else if (!kinds_.empty()) {
        kind_ = kinds_[*options_.layer];
      }
      if (among(kind_, {"linear_attention", "conv", "recurrent", "mamba", "mamba2", "short_conv"}))
        unsupported("layer " + std::to_string(*options_.layer),
                    "is of type " + kind_ + " and has no rotary embedding");
      from("layer", std::to_string(*options_.layer) + (kind_.empty() ? "" : ", " + kind_),
           kind_source_.empty() ? "every layer has the same table" : kind_source_);
    }
    layers_without_rope();
  }

  /// Layer kinds where the file has no list: from a period, or from the model's code.
  void derive_kinds() {
    const auto every = [this](const Integer& period, bool full_first, const string& source) {
      const auto p = period.convert_to<unsigned>();
      kind_rule_ = [p, full_first](unsigned layer) {
        return string((full_first ? layer % p == 0 : (layer + 1) % p == 0) ? full : sliding);
      };
      kind_source_ = source;
    };
    if (const Json* pattern = section_.find("sliding_window_pattern");
        pattern != nullptr && pattern->is_string()) {
      const auto letters = pattern->get<string>();  // EXAONE 4: "LLLG"
      if (letters.empty() || letters.find_first_not_of("LG") != string::npos)
        bad(section_.path("sliding_window_pattern"),
            "letters L and G are wanted, not " + brief(*pattern));
      kind_rule_ = [letters](unsigned layer) {
        return string(letters[layer % letters.size()] == 'G' ? full : sliding);
      };
      kind_source_ = section_.path("sliding_window_pattern");
      return;
    }
    if (const auto p = section({"sliding_window_pattern", "_sliding_window_pattern"},
                               "pattern of sliding layers")) {
      if (dimension(*p) == 1) return;
      every(to_integer(*p), false, p->path);
    } else if (const auto n = section({"global_attn_every_n_layers"}, "pattern of global layers")) {
      every(Integer(dimension(*n)), true, n->path);
    } else if (type_in({"gemma3_text", "gemma3n_text", "t5gemma2_text"})) {
      every(6, false, "absent, every 6th layer full assumed (" + default_of(*family_) + ")");
    } else if (type_in({"gemma2", "vaultgemma"})) {
      every(2, false, "every second layer slides, in the code of " + family_name_);
    } else if (type_in({"gpt_oss"})) {
      every(2, false, "absent, every second layer sliding assumed (" + default_of(*family_) + ")");
    } else if (type_in({"cohere2"})) {
      every(4, false,
            "absent, every 4th layer full assumed (the default of transformers' Cohere2Config)");
    } else if (type_in({"modernbert", "modernbert-decoder"})) {
      every(3, true, "absent, every 3rd layer full assumed (" + default_of(*family_) + ")");
    } else if (section_.find("use_sliding_window") != nullptr &&
               flag("use_sliding_window", false)) {
      if (const auto first = section({"max_window_layers"}, "first sliding layer")) {
        const Integer from_layer = to_integer(*first);
        kind_rule_ = [from_layer](unsigned layer) {
          return string(Integer(layer) >= from_layer ? sliding : full);
        };
        kind_source_ = first->path;
      }
    }
  }

  void layers_without_rope() {
    std::vector<unsigned> none;
    string source;
    if (const Json* list = section_.find("no_rope_layers"); list != nullptr && !list->empty()) {
      source = section_.path("no_rope_layers");
      if (!list->is_array()) bad(source, "a list is wanted, not " + brief(*list));
      unsigned layer = 0;
      for (const Json& has_rope : *list) {
        if (has_rope.is_boolean() ? !has_rope.get<bool>() : number(has_rope, source) == 0)
          none.push_back(layer);
        ++layer;
      }
      if (none.size() == list->size()) unsupported(source, "no layer has rotary embedding");
    } else if (type_in({"llama4_text", "smollm3"}) ||
               section_.find("no_rope_layer_interval") != nullptr) {
      unsigned period = 4;
      source = "no_rope_layers absent, every 4th layer without rotary embedding assumed (" +
               string(type_in({"smollm3"}) ? "SmolLM3Config" : "Llama4TextConfig") + ")";
      if (const auto interval =
              section({"no_rope_layer_interval"}, "period of layers without rotary embedding")) {
        period = dimension(*interval);
        source = interval->path;
      }
      for (unsigned layer = period - 1; layer < (layers_ != 0 ? layers_ : 4 * period);
           layer += period)
        none.push_back(layer);
      if (options_.layer && layers_ == 0 && (*options_.layer + 1) % period == 0)
        none.push_back(*options_.layer);
    }
    // Cohere 2 and EXAONE 4 rotate only in their sliding layers.
    if (type_in({"cohere2", "exaone4"}) && !kind_source_.empty() &&
        section_.find("sliding_window") != nullptr) {
      if (options_.layer && kind_ == full)
        unsupported("layer " + std::to_string(*options_.layer),
                    "a full-attention layer of " + family_name_ + " has no rotary embedding");
      warn("layers with full attention have no rotary embedding in " + family_name_ + " (" +
           kind_source_ + "); the table is that of the sliding layers");
    }
    if (none.empty()) return;
    if (options_.layer && std::find(none.begin(), none.end(), *options_.layer) != none.end())
      unsupported("layer " + std::to_string(*options_.layer),
                  "has no rotary embedding (" + source + ")");
    string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(none.size(), 4); ++i)
      list += (i != 0 ? ", " : "") + std::to_string(none[i]);
    warn("layers " + list + (none.size() > 4 ? ", ..." : "") + " have no rotary embedding (" +
         source + "); the table is that of the others");
  }

  // --- the dictionaries rope_parameters and rope_scaling
  void find_rope_dictionaries() {
    for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
      const Json* value = section_.find(key);
      if (value == nullptr) continue;
      const string path = section_.path(key);
      if (!value->is_object()) bad(path, "an object is wanted, not " + brief(*value));
      Place place{value, path + "."};
      std::vector<string> nested;
      for (const auto& [name, inner] : value->items())
        if (inner.is_object()) nested.push_back(name);
      if (nested.empty()) {
        // Old Gemma 3 files: the flat dictionary scales the full-attention layers only.
        if (kind_ == sliding && has_local_table()) continue;
        rope_.push_back(place);
        continue;
      }
      nested_ = true;
      string wanted = kind_;
      if (wanted.empty()) wanted = among(full, nested) ? full : nested.front();
      if (!among(wanted, nested)) {
        if (place.find(wanted) == nullptr && value->contains(wanted))
          unsupported(place.path(wanted), "is null: these layers have no rotary embedding");
        string names;
        for (const string& n : nested) names += (names.empty() ? "" : ", ") + n;
        bad(path, "has tables for " + names + " and none for '" + wanted + "'");
      }
      if (kind_.empty()) {
        kind_ = wanted;
        if (nested.size() > 1)
          warn(path + ": the layers differ; the table of " + wanted +
               " is shown (--layer K shows that of layer K)");
      }
      rope_.push_back({place.find(wanted), place.path(wanted) + "."});
      outer_rope_.push_back(place);
    }
    if (rope_.size() == 2) compare(rope_[0], rope_[1]);
    if (kind_.empty() && has_local_table()) {
      kind_ = full;
      warn(
          "the sliding layers have a table of their own; that of the full-attention layers is "
          "shown (--layer K shows that of layer K)");
    }
  }
  /// What stands in both dictionaries must be equal; types are compared where they are read.
  static void compare(const Place& one, const Place& other) {
    for (const auto& [key, value] : one.object->items()) {
      const Json* second = other.find(key);
      if (value.is_null() || second == nullptr || key == "type" || key == "rope_type" ||
          value == *second)
        continue;
      throw Error(ErrorCode::conflict, one.path(key) + " = " + brief(value) + " and " +
                                           other.path(key) + " = " + brief(*second) + " differ");
    }
  }
  [[nodiscard]] bool has_local_table() const {
    return (family_ != nullptr && *family_->local_base != '\0') ||
           section_.find("rope_local_base_freq") != nullptr ||
           section_.find("local_rope_theta") != nullptr ||
           section_.find("swa_rope_theta") != nullptr;
  }
  [[nodiscard]] bool local() const { return kind_ == sliding && (nested_ || has_local_table()); }

  /// Default for a nested dictionary, its equal for a flat one and for the full-attention layers.
  [[nodiscard]] std::optional<Found> with_section(
      std::string_view key, std::initializer_list<std::string_view> section_keys,
      const string& quantity) const {
    std::vector<Found> found;
    for (const Place& place : rope_) add(found, place, key);
    if (!(nested_ && kind_ != full && !found.empty()))
      for (const auto k : section_keys) add(found, section_, k);
    return agree(found, quantity);
  }

  // --- layout
  void read_layout() {
    struct Key {
      const char* key;
      Pairing when_true;
    };
    std::optional<std::pair<Pairing, string>> stated;
    for (const auto& [key, when_true] :
         {Key{"rope_interleave", inter}, Key{"rope_interleaved", inter},
          Key{"rotary_emb_interleaved", inter}, Key{"rope_is_neox_style", half}}) {
      const Json* value = section_.find(key);
      if (value == nullptr) continue;
      const bool yes = truth(*value, section_.path(key));
      const Pairing pairing = yes ? when_true : (when_true == inter ? half : inter);
      if (stated && stated->first != pairing)
        throw Error(ErrorCode::conflict,
                    stated->second + " and " + section_.path(key) + " name two layouts");
      stated = {pairing, section_.path(key)};
    }
    const bool reads_key =
        family_ == nullptr ||
        type_in({"deepseek_v3", "deepseek_v32", "kimi_k2", "axk1", "youtu", "mistral4",
                 "glm_moe_dsa", "glm4_moe_lite", "nomic_bert", "ernie4_5", "ernie4_5_moe"});
    if (stated && reads_key) {
      out_.layout = stated->first;
      from("layout", name(out_.layout), stated->second);
      return;
    }
    if (family_ != nullptr) {
      out_.layout = family_->layout;
      from("layout", name(out_.layout), "model_type '" + out_.model_type + "'");
      if (stated && stated->first != out_.layout)
        warn(stated->second + ": says " + name(stated->first) + ", but transformers' " +
             out_.model_type + " does not read it and is " + name(out_.layout) +
             "; check the weights");
      return;
    }
    from("layout", "unknown",
         out_.model_type.empty() ? "model_type absent"
                                 : "model_type '" + out_.model_type + "' not known");
    warn(out_.model_type.empty() ? "model_type: absent, so the pairing layout is unknown"
                                 : "model_type '" + out_.model_type +
                                       "' is not known, so the pairing layout is unknown");
  }

  // --- dimensions
  void read_head() {
    const auto rope_part = section({"qk_rope_head_dim"}, "rotary dimension");
    if (rope_part) {
      mla_ = true;
      out_.rotary_dim = even(dimension(*rope_part), rope_part->path);
      from("rotary_dim", std::to_string(out_.rotary_dim), rope_part->path);
      if (const auto nope = section({"qk_nope_head_dim"}, "unrotated dimension")) {
        if (nope->value < 0) bad(nope->path, "must not be negative, got " + show(nope->value));
        const Integer sum = to_integer(*nope) + out_.rotary_dim;
        out_.head_dim = dimension({Rational(sum), nope->path});
        from("head_dim", sum.str(), nope->path + " + " + rope_part->path);
      } else {
        // DeepSeek V4 and others: the rotary part is the end of a head of head_dim.
        head_dimension();
      }
      if (out_.rotary_dim > out_.head_dim)
        bad(rope_part->path, "rotary dimension " + std::to_string(out_.rotary_dim) +
                                 " exceeds the head dimension " + std::to_string(out_.head_dim));
      return;
    }
    head_dimension();
    rotary_dimension();
  }

  void head_dimension() {
    std::optional<Found> found;
    if (nested_ || kind_ == full) {
      if (kind_ == full)
        found = section({"global_head_dim"}, "head dimension of the full-attention layers");
    }
    if (!found && kind_ == sliding)
      found = section({"swa_head_dim"}, "head dimension of the sliding layers");
    if (!found) found = section({"head_dim", "kv_channels"}, "head dimension");
    if (found) {
      out_.head_dim = dimension(*found);
      from("head_dim", std::to_string(out_.head_dim), found->path);
      return;
    }
    if (family_ != nullptr && *family_->head_dim != '\0') {
      out_.head_dim = static_cast<unsigned>(std::stoul(family_->head_dim));
      assumed("head_dim", family_->head_dim, section_.path("head_dim"), default_of(*family_));
      return;
    }
    const auto width = section({"hidden_size", "n_embd", "d_model"}, "width of the model");
    const auto heads =
        section({"num_attention_heads", "n_head", "n_heads", "num_heads"}, "number of heads");
    if (!width || !heads)
      bad(section_.path("head_dim"),
          string("absent, and it cannot be computed: ") + (width ? "" : "hidden_size") +
              (!width && !heads ? " and " : "") + (heads ? "" : "num_attention_heads") +
              (!width && !heads ? " are" : " is") + " absent too");
    const unsigned w = dimension(*width);
    const unsigned h = dimension(*heads);
    if (w % h != 0)
      bad(width->path,
          std::to_string(w) + " is not a multiple of " + heads->path + " = " + std::to_string(h));
    out_.head_dim = w / h;
    from("head_dim", std::to_string(out_.head_dim), width->path + " / " + heads->path);
  }

  static unsigned even(unsigned n, const string& path) {
    if (n % 2 != 0) bad(path, "the rotary dimension must be even, got " + std::to_string(n));
    return n;
  }

  /// int(head_dim * share) in Python floats, as transformers does it; a difference to the exact
  /// floor is named.
  unsigned share_of_head(const Found& share) {
    if (share.value <= 0 || share.value > 1)
      bad(share.path,
          "the share of the head that rotates must be in (0, 1], got " + show(share.value));
    const Integer exact = floor(Rational(share.value * out_.head_dim));
    const auto floating =
        static_cast<unsigned>(static_cast<double>(out_.head_dim) * nearest_double(share.value));
    if (exact != floating)
      warn(share.path + ": " + show(share.value) + " of " + std::to_string(out_.head_dim) + " is " +
           exact.str() + " exactly and " + std::to_string(floating) +
           " in the floating-point product of transformers, which is followed");
    if (floating == 0)
      bad(share.path, show(share.value) + " of a head of " + std::to_string(out_.head_dim) +
                          " is no dimension at all");
    return floating;
  }

  void rotary_dimension() {
    share_ = with_section("partial_rotary_factor",
                          {"partial_rotary_factor", "rotary_pct", "rotary_percent", "rope_pct",
                           "rotary_emb_fraction"},
                          "share of the head that rotates");
    const auto stated = section({"rotary_dim", "attn_rotary_emb"}, "rotary dimension");
    if (proportional_type()) {
      out_.rotary_dim = even(out_.head_dim, section_.path("head_dim"));
      from("rotary_dim", std::to_string(out_.rotary_dim),
           "the whole head: type 'proportional' sets frequencies to 0 instead");
      return;
    }
    if (stated) {
      out_.rotary_dim = even(dimension(*stated), stated->path);
      if (out_.rotary_dim > out_.head_dim)
        bad(stated->path, "rotary dimension " + std::to_string(out_.rotary_dim) +
                              " exceeds the head dimension " + std::to_string(out_.head_dim));
      if (share_ && share_of_head(*share_) != out_.rotary_dim)
        throw Error(ErrorCode::conflict, stated->path + " = " + std::to_string(out_.rotary_dim) +
                                             " and " + share_->path + " = " + show(share_->value) +
                                             " of a head of " + std::to_string(out_.head_dim) +
                                             " are two rotary dimensions");
      from("rotary_dim", std::to_string(out_.rotary_dim), stated->path);
      return;
    }
    if (share_) {
      out_.rotary_dim = even(share_of_head(*share_), share_->path);
      from("rotary_dim", std::to_string(out_.rotary_dim),
           share_->path + " = " + show(share_->value) + " of head_dim");
      return;
    }
    if (type_in({"gptj", "codegen"})) {
      out_.rotary_dim = 64;
      if (out_.head_dim < 64)
        bad(section_.path("rotary_dim"), "absent, and the default 64 exceeds the head dimension");
      assumed("rotary_dim", "64", section_.path("rotary_dim"),
              type_in({"gptj"}) ? "the default of transformers' GPTJConfig"
                                : "the default of transformers' CodeGenConfig");
      return;
    }
    if (type_in({"chatglm"})) {
      if (out_.head_dim % 4 != 0)
        bad(section_.path("head_dim"),
            "half a ChatGLM head of " + std::to_string(out_.head_dim) + " is not even");
      out_.rotary_dim = out_.head_dim / 2;
      from("rotary_dim", std::to_string(out_.rotary_dim), "half the head, in the model's code");
      return;
    }
    if (family_ != nullptr && *family_->partial != '\0') {
      const Found share{*Formula::parse(family_->partial).rational(),
                        section_.path("partial_rotary_factor")};
      out_.rotary_dim = even(share_of_head(share), share.path);
      const string why = string(family_->partial) + " of the head, " + default_of(*family_);
      assumed("rotary_dim", std::to_string(out_.rotary_dim), share.path, why);
      return;
    }
    out_.rotary_dim = even(out_.head_dim, section_.path("head_dim"));
    from("rotary_dim", std::to_string(out_.rotary_dim), "the whole head");
  }

  /// With latent attention the share is redundant; it must not say something else.
  void read_rotary_part_of_mla() {
    if (!mla_) return;
    const auto share = with_section("partial_rotary_factor", {"partial_rotary_factor"},
                                    "share of the head that rotates");
    if (!share || share->value == 1) return;
    if (floor(Rational(share->value * out_.head_dim)) == out_.rotary_dim) return;
    if (const auto head = section({"head_dim"}, "head dimension");
        head && floor(Rational(share->value * head->value)) == out_.rotary_dim)
      return;
    throw Error(ErrorCode::conflict,
                section_.path("qk_rope_head_dim") + " = " + std::to_string(out_.rotary_dim) +
                    " and " + share->path + " = " + show(share->value) + " of a head of " +
                    std::to_string(out_.head_dim) + " are two rotary dimensions");
  }

  // --- base
  Rational read_base() {
    if (type_in({"gptj", "codegen"})) {
      for (const std::string_view key : {"rope_theta", "rotary_emb_base"})
        if (section_.find(key) != nullptr)
          warn(section_.path(key) + ": not read by transformers' " + out_.model_type +
               ", whose base is 10000 in its code: no effect on this table");
      from("base", "10000",
           "absent, 10000 assumed (fixed in transformers' code of " + out_.model_type + ")");
      return 10000;
    }
    std::optional<Found> found;
    if (local()) {
      std::vector<Found> all;
      for (const Place& place : rope_) add(all, place, "rope_theta");
      for (const std::string_view key :
           {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"})
        add(all, section_, key);
      found = agree(all, "base of the sliding layers");
      if (!found && nested_) found = section({"rope_theta"}, "rotary base");
      if (!found && family_ != nullptr && *family_->local_base != '\0') {
        assumed("base", family_->local_base, section_.path("rope_local_base_freq"),
                default_of(*family_));
        return *Formula::parse(family_->local_base).rational();
      }
    } else {
      found = with_section(
          "rope_theta",
          {"rope_theta", "global_rope_theta", "rotary_emb_base", "rotary_embedding_base"},
          "rotary base");
    }
    if (found) {
      positive(*found);
      if (found->value <= 1)
        warn(found->path + ": a base of " + show(found->value) +
             " makes no plane slower than the first");
    }
    if (const auto ratio = positive(section({"rope_ratio"}, "rope_ratio"))) {
      const Rational base = found ? found->value : Rational(10000);
      if (!type_in({"chatglm"}))
        warn(ratio->path + ": multiplies the base, as in ChatGLM's own code");
      from("base", show(Rational(base * ratio->value)),
           (found ? found->path : string("10000 in the model's code")) + " times " + ratio->path);
      return base * ratio->value;
    }
    if (found) {
      from("base", show(found->value), found->path);
      return found->value;
    }
    if (family_ != nullptr && *family_->base != '\0') {
      assumed("base", family_->base, section_.path("rope_theta"), default_of(*family_));
      return *Formula::parse(family_->base).rational();
    }
    assumed("base", "10000", section_.path("rope_theta"));
    return 10000;
  }

  // --- scaling type
  static string canonical(const string& type) {
    if (type == "su") return "longrope";
    if (type == "mrope") return "default";
    return type;
  }
  [[nodiscard]] std::optional<std::pair<string, string>> stated_type() const {
    std::optional<std::pair<string, string>> result;
    const auto look = [&](const Place& place, std::string_view key) {
      const Json* value = place.find(key);
      if (value == nullptr) return;
      if (!value->is_string()) bad(place.path(key), "a string is wanted, not " + brief(*value));
      const string type = value->get<string>();
      if (result && canonical(result->first) != canonical(type))
        throw Error(ErrorCode::conflict, result->second + " = '" + result->first + "' and " +
                                             place.path(key) + " = '" + type +
                                             "' are two scaling types");
      if (!result) result = {type, place.path(key)};
    };
    for (const Place& place : rope_)
      for (const std::string_view key : {"rope_type", "type"}) look(place, key);
    look(section_, "rope_type");
    return result;
  }
  [[nodiscard]] bool proportional_type() const {
    const auto type = stated_type();
    return type && type->first == "proportional";
  }

  Found factor() const {
    std::vector<Found> places;
    for (const Place& place : rope_) add(places, place, "factor");
    if (type_ == "dynamic") add(places, section_, "rotary_scaling_factor");
    auto found = positive(agree(places, "scaling factor"));
    if (!found) bad(rope_path("factor"), "absent, and the scaling type '" + type_ + "' needs it");
    return *found;
  }
  std::optional<Found> max_length() const {
    std::vector<Found> found;
    for (const std::string_view key :
         {"max_position_embeddings", "n_positions", "n_ctx", "seq_length"})
      add(found, section_, key);
    if (found.empty()) return std::nullopt;
    // n_ctx and seq_length are older names; only the first counts.
    return positive(found.front());
  }
  Found original_length() {
    std::vector<Found> found;
    for (const Place& place : rope_) add(found, place, "original_max_position_embeddings");
    for (const Place& place : outer_rope_) add(found, place, "original_max_position_embeddings");
    add(found, section_, "original_max_position_embeddings");
    add(found, section_, "initial_context_length");
    if (const auto stated = agree(found, "original context length")) {
      from("original_length", length(*stated).str(), stated->path);
      return *stated;
    }
    const auto most = max_length();
    if (!most)
      bad(rope_path("original_max_position_embeddings"),
          "absent, and max_position_embeddings is absent too");
    from("original_length", length(*most).str(),
         "original_max_position_embeddings absent, " + most->path + " taken");
    warn("original_max_position_embeddings: absent, " + most->path + " = " + show(most->value) +
         " taken as the original length");
    return *most;
  }
  [[nodiscard]] Integer wanted_length() const {
    return options_.length ? *options_.length : Integer(0);
  }

  std::vector<Rational> factor_list(std::string_view key) const {
    for (const Place& place : rope_)
      if (const Json* list = place.find(key)) {
        const string path = place.path(key);
        if (!list->is_array()) bad(path, "a list is wanted, not " + brief(*list));
        std::vector<Rational> result;
        for (std::size_t i = 0; i < list->size(); ++i)
          result.push_back(positive({number((*list)[i], path + "[" + std::to_string(i) + "]"),
                                     path + "[" + std::to_string(i) + "]"})
                               .value);
        if (result.size() != out_.rotary_dim / 2)
          bad(path, "has " + std::to_string(result.size()) + " entries for " +
                        std::to_string(out_.rotary_dim / 2) + " planes");
        return result;
      }
    bad(rope_path(key), "absent, and the scaling type '" + type_ + "' needs it");
  }
  template <class T>
  static void set(T& target, const std::optional<Found>& found) {
    if (found) target = found->value;
  }

  void read_schedule() {
    const auto stated = stated_type();
    type_ = stated                  ? canonical(stated->first)
            : type_in({"ropewalk"}) ? "ropewalk.custom"
                                    : "default";
    string where = stated ? stated->second : "rope_theta";
    if (!type_keys.contains(type_))
      unsupported(where, "the scaling type '" + stated->first + "' is not known");
    if (!stated && rope("factor"))
      bad(rope("factor")->path, "a factor without a type: which scaling is meant?");

    if (type_ == "ropewalk.custom") {
      read_custom();
      return;
    }
    const Rational base = read_base();
    out_.base = base;
    const Plain plain{base, out_.rotary_dim};
    from("scaling", type_, stated ? stated->second : "absent, none assumed");
    if (rope_.empty() && !stated)
      for (const auto& [type, scaling] : models::assumed_scalings)
        if (family_name_ == type)
          warn(section_.path("rope_scaling") + ": absent, none assumed; transformers' " +
               family_name_ + " config would assume " + scaling);
    try {
      build(plain, where);
    } catch (const Error& error) {
      const string text = error.what();
      if (text.starts_with(section_.prefix + "rope_") ||
          text.starts_with(section_.prefix + "rotary") ||
          text.starts_with(section_.path("original_")) ||
          text.starts_with(section_.path("initial_")) || text.starts_with(section_.path("max_")))
        throw;
      throw Error(error.code(), where + ": " + text);
    }
    from("schedule", out_.schedule.description, out_.schedule.scheme);
    if (type_ != "yarn" && type_ != "longrope")
      from("attention_factor", "1", "the scheme has none");
  }

  void build(const Plain& plain, string& where) {
    Schedule& s = out_.schedule;
    if (type_ == "default") {
      s = default_schedule(plain);
      alternative_spellings(plain, where);
    } else if (type_ == "linear") {
      const Found f = factor();
      where = f.path;
      s = linear(plain, f.value);
      from("factor", show(f.value), f.path);
    } else if (type_ == "dynamic") {
      dynamic(plain, where);
    } else if (type_ == "yarn") {
      s = yarn(plain, yarn_options());
    } else if (type_ == "llama3") {
      Llama3 options;
      const Found f = factor();
      options.factor = f.value;
      from("factor", show(f.value), f.path);
      options.original_length = length(original_length());
      for (const auto& [key, target] : {std::pair{"low_freq_factor", &options.low_freq_factor},
                                        std::pair{"high_freq_factor", &options.high_freq_factor}}) {
        const auto found = positive(rope(key));
        if (!found) bad(rope_path(key), "absent, and the scaling type 'llama3' needs it");
        *target = found->value;
        from(key, show(found->value), found->path);
      }
      s = llama3(plain, options);
    } else if (type_ == "longrope") {
      read_longrope(plain);
    } else if (type_ == "proportional") {
      Rational f = 1;
      set(f, positive(rope("factor")));
      Rational p = 1;
      if (share_) {
        p = share_->value;
        if (p < 0 || p > 1)
          bad(share_->path, "the share of planes that turn must be in [0, 1], got " + show(p));
        from("partial_rotary_factor", show(p), share_->path);
      } else {
        assumed("partial_rotary_factor", "1", "partial_rotary_factor");
      }
      s = proportional(plain, p, f);
    } else if (type_ == "ropewalk.ntk") {
      const Found f = factor();
      from("factor", show(f.value), f.path);
      s = ntk_aware(plain, f.value);
    } else if (type_ == "ropewalk.yarn_paper") {
      s = yarn_paper(plain, yarn_options());
    } else if (type_ == "ropewalk.p_rope") {
      const auto p = rope("p");
      if (!p) bad(rope_path("p"), "absent, and the type 'ropewalk.p_rope' needs it");
      from("p", show(p->value), p->path);
      s = p_rope(plain, p->value);
    } else if (type_ == "ropewalk.resonance") {
      s = resonance(default_schedule(plain));
    }
  }

  /// Scaling that is spelled outside rope_scaling and rope_parameters.
  void alternative_spellings(const Plain& plain, string& where) {
    if (const auto f = positive(section({"rope_scaling_factor"}, "scaling factor"))) {
      // The original gpt-oss files: YaRN with a ramp that is not rounded.
      Yarn options;
      options.factor = f->value;
      options.truncate = false;
      const auto slow = positive(section({"rope_ntk_alpha"}, "rope_ntk_alpha"));
      const auto fast = positive(section({"rope_ntk_beta"}, "rope_ntk_beta"));
      if (!slow || !fast)
        unsupported(f->path, "without rope_ntk_alpha and rope_ntk_beta its meaning is not known");
      options.beta_slow = slow->value;
      options.beta_fast = fast->value;
      options.original_length = length(original_length());
      where = f->path;
      type_ = "yarn";
      out_.schedule = yarn(plain, options);
      from("factor", show(f->value), f->path);
      from("beta_slow", show(slow->value), slow->path);
      from("beta_fast", show(fast->value), fast->path);
      from("attention_factor", attention_text(), "0.1 ln(factor) + 1");
      return;
    }
    if (const auto f = positive(section({"rotary_scaling_factor"}, "scaling factor"))) {
      DynamicNtk options;
      options.factor = f->value;
      auto trained = section({"max_trained_positions"}, "original context length");
      if (!trained) trained = max_length();
      if (!trained)
        bad(section_.path("max_trained_positions"),
            "absent, and max_position_embeddings is absent too");
      options.original_length = length(*trained);
      options.length = wanted_length();
      where = f->path;
      type_ = "dynamic";
      out_.schedule = dynamic_ntk(plain, options);
      from("factor", show(f->value), f->path);
      from("original_length", options.original_length.str(), trained->path);
      warn(f->path + ": dynamic NTK, as in the model's own code; " + trained->path + " = " +
           options.original_length.str() + " taken as the original length");
      return;
    }
    if (on("use_dynamic_ntk", false)) {
      const auto trained =
          section({"seq_length", "max_position_embeddings"}, "original context length");
      if (!trained) bad(section_.path("seq_length"), "absent, and use_dynamic_ntk needs it");
      const Integer l0 = length(*trained);
      where = section_.path("use_dynamic_ntk");
      // Qwen's own code: alpha = 2^ceil(log2(L/L0) + 1) - 1 for L > L0.
      Integer alpha = 1;
      if (wanted_length() > l0) {
        alpha = 2;
        for (Integer reach = l0; reach < wanted_length(); reach *= 2) alpha *= 2;
        alpha -= 1;
        out_.schedule = ntk_aware(plain, Rational(alpha));
      }
      from("ntk_alpha", alpha.str(), where + " and " + trained->path);
      if (!options_.length)
        warn(where + ": the table depends on the length; that of lengths up to " + l0.str() +
             " is shown (--length L)");
    }
  }

  void dynamic(const Plain& plain, string& where) {
    if (const auto alpha = positive(rope("alpha"))) {
      if (family_name_.starts_with("hunyuan")) {
        where = alpha->path;
        out_.schedule = ntk_aware(plain, alpha->value);
        from("ntk_alpha", show(alpha->value), alpha->path);
        if (rope("factor") && rope("factor")->value != 1)
          warn(rope("factor")->path + ": not read, alpha fixes the stretch in " + out_.model_type +
               ": no effect on this table");
        return;
      }
      warn(alpha->path + ": read by transformers' HunYuan models only: no effect on this table");
    }
    const Found f = factor();
    where = f.path;
    DynamicNtk options;
    options.factor = f.value;
    from("factor", show(f.value), f.path);
    const auto most = max_length();
    if (!most) bad(section_.path("max_position_embeddings"), "absent, and dynamic NTK needs it");
    options.original_length = length(*most);
    options.length = wanted_length();
    from("original_length", options.original_length.str(), most->path);
    if (const auto original = positive(rope("original_max_position_embeddings"));
        original && original->value != most->value)
      warn(original->path + " = " + show(original->value) +
           ": not read for dynamic NTK by transformers " + transformers_followed +
           ", which takes " + most->path + " = " + show(most->value));
    if (!options_.length)
      warn(where + ": the table depends on the length; that of lengths up to " +
           options.original_length.str() + " is shown (--length L)");
    out_.schedule = dynamic_ntk(plain, options);
  }

  [[nodiscard]] string attention_text() const {
    if (const auto r = out_.schedule.attention_factor.rational()) return show(*r);
    return decimal(enclose(out_.schedule.attention_factor, 20).middle(), 17, Round::nearest);
  }

  Yarn yarn_options() {
    Yarn options;
    const Found l0 = original_length();
    options.original_length = length(l0);
    const auto most = max_length();
    if (auto f = positive(rope("factor"))) {
      options.factor = f->value;
      from("factor", show(f->value), f->path);
      if (most && l0.path != most->path && f->value * l0.value != most->value)
        warn(f->path + " = " + show(f->value) + " times " + l0.path + " = " + show(l0.value) +
             " is " + show(Rational(f->value * l0.value)) + ", not " + most->path + " = " +
             show(most->value) + ": check that the original length is meant, not the extended one");
    } else if (most && l0.path != most->path) {
      options.factor = most->value / l0.value;
      from("factor", show(options.factor), "absent, " + most->path + " / " + l0.path + " taken");
      warn("factor: absent, " + most->path + " / " + l0.path + " = " + show(options.factor) +
           " taken");
    } else {
      bad(rope_path("factor"), "absent, and the scaling type '" + type_ + "' needs it");
    }
    // Zero counts as absent for these, in transformers.
    for (const auto& [key, target] :
         {std::pair{"beta_fast", &options.beta_fast}, std::pair{"beta_slow", &options.beta_slow}}) {
      const auto found = rope(key);
      if (found && found->value < 0)
        bad(found->path, "must be positive, got " + show(found->value));
      if (found && found->value != 0) {
        *target = found->value;
        from(key, show(found->value), found->path);
      } else {
        from(key, show(*target), "absent, " + show(*target) + " assumed");
      }
    }
    for (const Place& place : rope_)
      if (const Json* truncate = place.find("truncate"))
        options.truncate = truth(*truncate, place.path("truncate"));
    if (const auto explicit_factor = positive(rope("attention_factor"))) {
      options.attention_factor = explicit_factor->value;
      from("attention_factor", show(explicit_factor->value), explicit_factor->path);
    }
    const auto mscale = rope("mscale");
    const auto all = rope("mscale_all_dim");
    if (mscale) options.mscale = mscale->value;
    if (all) options.mscale_all_dim = all->value;
    if (!options.attention_factor) {
      const bool both = mscale && all && mscale->value != 0 && all->value != 0;
      if (mscale && !both)
        warn(mscale->path + ": read only together with mscale_all_dim: no effect on this table");
      // The value itself is filled in once the schedule exists.
      from("attention_factor", "",
           both ? mscale->path + " and " + all->path : string("0.1 ln(factor) + 1"));
    }
    return options;
  }

  void read_longrope(const Plain& plain) {
    LongRope options;
    const Found l0 = original_length();
    options.original_length = length(l0);
    options.short_factor = factor_list("short_factor");
    options.long_factor = factor_list("long_factor");
    options.length = wanted_length();
    const auto most = max_length();
    if (const auto f = positive(rope("factor"))) {
      options.factor = f->value;
      from("factor", show(f->value), f->path);
      if (most && section_.find("original_max_position_embeddings") != nullptr &&
          f->value * l0.value != most->value)
        warn(f->path + ": transformers " + transformers_followed +
             " takes it for the attention factor, transformers 4 took " + most->path + " / " +
             l0.path + " = " + show(Rational(most->value / l0.value)));
    } else {
      if (!most)
        bad(section_.path("max_position_embeddings"),
            "absent, and LongRoPE's attention factor needs it or a factor");
      options.factor = most->value / l0.value;
      from("factor", show(options.factor), most->path + " / " + l0.path);
    }
    if (const auto explicit_factor = positive(rope("attention_factor"))) {
      options.attention_factor = explicit_factor->value;
      from("attention_factor", show(explicit_factor->value), explicit_factor->path);
    } else {
      from("attention_factor", "",
           options.factor > 1 ? "sqrt(1 + ln(factor)/ln(original_length))" : "factor is at most 1");
    }
    out_.schedule = longrope(plain, options);
    from("length",
         options_.length ? wanted_length().str() : "up to " + options.original_length.str(),
         options_.length ? "--length" : "absent, a short sequence assumed");
    if (!options_.length && options.short_factor != options.long_factor)
      warn("the table depends on the length; that of lengths up to " +
           options.original_length.str() + " is shown (--length L shows that of length L)");
  }

  void read_custom() {
    const Json* list = nullptr;
    string path;
    std::vector<Place> places = rope_;
    if (type_in({"ropewalk"})) places.push_back(section_);
    for (const Place& place : places)
      if (const Json* found = place.find("frequencies")) {
        list = found;
        path = place.path("frequencies");
      }
    if (list == nullptr || !list->is_array())
      bad(path.empty() ? rope_path("frequencies") : path,
          "a list of numbers or formulas is wanted");
    std::vector<Formula> frequencies;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const string at = path + "[" + std::to_string(i) + "]";
      const Json& value = (*list)[i];
      try {
        frequencies.push_back(value.is_string() ? Formula::parse(value.get<string>())
                                                : Formula(number(value, at)));
      } catch (const Error& error) {
        throw Error(error.code(),
                    string(error.what()).starts_with(at) ? error.what() : at + ": " + error.what());
      }
    }
    if (frequencies.size() != out_.rotary_dim / 2)
      bad(path, "has " + std::to_string(frequencies.size()) + " entries for " +
                    std::to_string(out_.rotary_dim / 2) + " planes");
    Formula factor(1);
    if (const auto f = positive(rope("attention_factor"))) factor = Formula(f->value);
    out_.schedule = custom(std::move(frequencies), factor);
    from("scaling", type_, path);
    from("attention_factor", show(*factor.rational()),
         rope("attention_factor") ? rope("attention_factor")->path : "absent, 1 assumed");
  }

  // --- logits
  void read_logit_scale() {
    for (Provenance& p : out_.provenance)
      if (p.quantity == "attention_factor" && p.value.empty()) p.value = attention_text();

    Formula scale = pow(Formula(out_.head_dim), Rational(-1, 2));
    string text = "1/sqrt(" + std::to_string(out_.head_dim) + ")";
    string source = "head_dim";
    if (type_in({"ropewalk"})) {
      scale = Formula(1);
      text = "1";
      source = "the scalar product as it is, by definition of the model_type";
    } else if (const auto scalar =
                   positive(section({"query_pre_attn_scalar"}, "query_pre_attn_scalar"))) {
      scale = pow(Formula(scalar->value), Rational(-1, 2));
      text = "1/sqrt(" + show(scalar->value) + ")";
      source = scalar->path;
    } else if (type_in({"gemma2", "gemma3_text", "vaultgemma", "t5gemma2_text"})) {
      scale = pow(Formula(256), Rational(-1, 2));
      text = "1/sqrt(256)";
      source = "query_pre_attn_scalar absent, 256 assumed (" + default_of(*family_) + ")";
      warn(section_.path("query_pre_attn_scalar") + ": absent, 256 assumed (" +
           default_of(*family_) + ")");
    } else if (const auto multiplier =
                   positive(section({"attention_multiplier"}, "attention_multiplier"))) {
      scale = Formula(multiplier->value);
      text = show(multiplier->value);
      source = multiplier->path;
    } else if (type_in({"gemma3n_text", "gemma4_text"})) {
      scale = Formula(1);
      text = "1";
      source = "queries and keys are normalised instead, in the code of " + family_name_;
    }
    from("query_scale", text, source);
    if (mla_ && (type_ == "yarn")) {
      const auto all = rope("mscale_all_dim");
      const auto f = rope("factor");
      if (all && all->value != 0 && f) {
        const Formula m = yarn_mscale(f->value, all->value);
        scale = scale * m * m;
        from("mscale_squared", decimal(enclose(m * m, 20).middle(), 17, Round::nearest),
             "(0.1 mscale_all_dim ln(factor) + 1)^2, " + all->path);
        if (family_name_ == "deepseek_v2")
          warn(all->path +
               ": its square scales the logits as in the model's own code and transformers " +
               transformers_followed + "; transformers 4 left it out for deepseek_v2");
      }
    }
    const Formula& a = out_.schedule.attention_factor;
    out_.logit_scale = scale * a * a;
    if (sign(out_.logit_scale) != 1) bad("logit_scale", "is not positive");

    if (const auto cap = positive(section({"attn_logit_softcapping"}, "soft cap"))) {
      out_.softcap = cap->value;
      from("softcap", show(cap->value), cap->path);
    } else if (type_in({"gemma2"}) && !section_.object->contains("attn_logit_softcapping")) {
      out_.softcap = 50;
      from("softcap", "50", "absent, 50 assumed (" + default_of(*family_) + ")");
    }
    if (out_.softcap)
      warn("attn_logit_softcapping: logits pass through " + show(*out_.softcap) + " tanh(x/" +
           show(*out_.softcap) + ") after logit_scale");
  }

  // --- sliding window
  void read_sliding_window() {
    const auto window = section({"sliding_window", "local_attention"}, "sliding window");
    if (!window) {
      from("sliding_window", "none", "absent");
      return;
    }
    if (window->value <= 0 && window->value != -1)
      bad(window->path, "must be positive, got " + show(window->value));
    if (section_.find("use_sliding_window") != nullptr && !flag("use_sliding_window", true)) {
      from("sliding_window", "none", section_.path("use_sliding_window") + " is false");
      return;
    }
    const bool mixed = kind_rule_.has_value() || among(sliding, kinds_);
    if (!kinds_.empty() && !among(sliding, kinds_)) {
      from("sliding_window", "none", kind_source_ + " names no sliding layer");
      return;
    }
    if (mixed && !kind_.empty() && kind_ != sliding) {
      from("sliding_window", "none", "these layers have full attention (" + kind_source_ + ")");
      return;
    }
    if (window->value == -1) {
      from("sliding_window", "none", window->path + " is -1");
      return;
    }
    if (mixed && kind_.empty()) {
      from("sliding_window", "none", "no layer named, so those of full attention");
      warn(window->path + " = " + show(window->value) + ": holds for the sliding layers only (" +
           kind_source_ + "), full attention is meant here; --layer K tells of layer K");
      return;
    }
    out_.sliding_window = to_integer(*window);
    from("sliding_window", out_.sliding_window->str(), window->path);
  }

  // --- attention in chunks: of Llama 4's rotary layers; its full ones have no rotary embedding
  void read_attention_chunk() {
    constexpr std::string_view key = "attention_chunk_size";
    const string path = section_.path(key);
    const auto stated = section({key}, "attention chunk");
    const bool assume = type_in({"llama4_text"}) && !section_.object->contains(key);
    if (!stated && !assume) return;
    const Integer size = stated ? to_integer(*stated) : Integer(8192);
    if (size < 1) bad(path, "must be positive, got " + size.str());
    if (kind_ == full || kind_ == sliding) {
      from("attention_chunk", "none", "these layers have " + kind_ + " (" + kind_source_ + ")");
      return;
    }
    if (!kinds_.empty() && !among(chunked, kinds_)) {
      from("attention_chunk", "none", kind_source_ + " names no chunked layer");
      return;
    }
    out_.attention_chunk = size;
    if (assume)
      assumed("attention_chunk", size.str(), path, default_of(*family_));
    else
      from("attention_chunk", size.str(), path);
    warn(path + ": attention of the rotary layers stays within chunks of " + size.str() +
         " tokens");
  }

  // --- pieces that change attention but not this table
  void name_the_rest() {
    const auto note = [this](std::string_view key, const string& effect) {
      if (section_.find(key) != nullptr) warn(section_.path(key) + ": " + effect);
    };
    if (type_in({"chatglm"}) && section_.find("original_rope") != nullptr &&
        !flag("original_rope", true))
      warn(section_.path("original_rope") + ": false; its effect is not known and not read");
    if (on("use_logn_attn", false))
      warn(section_.path("use_logn_attn") +
           ": queries beyond the training length are scaled by the logarithm of their position; "
           "not in logit_scale");
    note("dual_chunk_attention_config",
         "beyond its chunk size relative positions are remapped; the table holds within a chunk");
    if (type_in({"llama4_text"}) && on("attn_temperature_tuning", true))
      warn(
          "attn_temperature_tuning: layers without rotary embedding scale queries with position; "
          "not in logit_scale");
    note("compress_rope_theta",
         "base of the compressed attention branch; the table of the main branch is shown");
    note("indexer_rope_interleave",
         "layout of the indexer's keys; the table of the attention itself is shown");
    for (const std::string_view key : {"use_mrope", "rope_3d", "use_3d_rope", "fuse_rope"})
      note(key,
           "positions of images have several coordinates; the table holds for text, where they are "
           "equal");
    note("rope_condense_ratio", "not read by transformers: no effect on this table");
    for (const Place& place : rope_) {
      if (place.find("llama_4_scaling_beta") != nullptr)
        warn(place.path("llama_4_scaling_beta") +
             ": queries are scaled with position beyond the original length; not in logit_scale");
      if (const auto inner = place.find("max_position_embeddings")) {
        const auto most = max_length();
        const Found stated{number(*inner, place.path("max_position_embeddings")),
                           place.path("max_position_embeddings")};
        if (most) agree({*most, stated}, "maximum length");
      }
      const Json* sections = place.find("mrope_section");
      if (sections == nullptr) continue;
      const string path = place.path("mrope_section");
      if (!sections->is_array()) bad(path, "a list is wanted, not " + brief(*sections));
      Rational sum = 0;
      for (const Json& part : *sections) sum += number(part, path);
      warn(path +
           ": positions of images have several coordinates; the table holds for text, where they "
           "are equal" +
           (sum == out_.rotary_dim / 2
                ? ""
                : " (its sum " + show(sum) + " is not the number of planes " +
                      std::to_string(out_.rotary_dim / 2) + ")"));
    }
    if (options_.length) {
      if (*options_.length < 1)
        throw Error(ErrorCode::bad_value,
                    "length: must be positive, got " + options_.length->str());
      if (const auto most = max_length(); most && Rational(*options_.length) > most->value)
        warn("length " + options_.length->str() + " is beyond " + most->path + " = " +
             show(most->value));
    }
  }

  // --- what nobody reads

  /// " (is rope_theta meant? ...)" with what the table would be if the misspelt key were the known
  /// one.
  [[nodiscard]] string meant(const Place& place, const string& key, const string& known) const {
    const string question = " (is " + known + " meant?";
    if (place.find(known) != nullptr) return question + ")";
    Json changed = *root_.object;
    Json* object = &changed;
    for (std::size_t at = 0; at < place.prefix.size();) {
      const std::size_t dot = place.prefix.find('.', at);
      const auto inner = object->find(place.prefix.substr(at, dot - at));
      if (inner == object->end() || !inner->is_object()) return question + ")";
      object = &*inner;
      at = dot + 1;
    }
    (*object)[known] = (*object)[key];
    object->erase(key);
    try {
      const Schedule other = Reader(changed, options_, false).read().schedule;
      const auto& before = out_.schedule.frequencies;
      const auto& after = other.frequencies;
      if (before.size() != after.size())
        return question + " It would give " + std::to_string(after.size()) + " planes instead of " +
               std::to_string(before.size()) + ")";
      std::size_t count = 0;
      double most = 0;  // for the message only: doubles suffice
      for (std::size_t f = 0; f < before.size(); ++f) {
        if (before[f].text() == after[f].text()) continue;
        ++count;
        const auto a = before[f].as<double>();
        if (a != 0) most = std::max(most, std::abs(after[f].as<double>() / a - 1));
      }
      if (count == 0) return question + " It would change no plane)";
      return question + " It would change " + std::to_string(count) + " of " +
             std::to_string(before.size()) + " planes, by up to " +
             decimal(shortest_decimal(most * 100), 3, Round::nearest) + " %)";
    } catch (const Error& error) {
      return question + " As such it would be an error: " + error.what() + ")";
    }
  }

  void lint() {
    std::vector<std::string_view> candidates(std::begin(known_keys), std::end(known_keys));
    for (const auto& [key, value] : section_.object->items()) {
      // "ropewalk": what a constructed model says of itself.
      if (among(key, known_keys) || value.is_null() || key == "ropewalk") continue;
      string lower = key;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
      });
      const bool ropeish =
          lower.find("rope") != string::npos || lower.find("rotary") != string::npos;
      // A near miss counts only for keys of the rotary kind: "max_position_embeddings" has
      // neighbours.
      const auto near = suggestion(lower, candidates);
      const bool near_miss =
          near && (near->find("rope") != string::npos || near->find("rotary") != string::npos);
      if (!ropeish && !near_miss) continue;
      warn(section_.path(key) + " = " + brief(value) + ": not read, no effect on this table" +
           (near ? meant(section_, key, string(*near)) : ""));
    }
    for (const Place& place : outer_rope_)
      for (const auto& [key, value] : place.object->items())
        if (!value.is_object() && !value.is_null() && key != "original_max_position_embeddings")
          warn(place.path(key) + " = " + brief(value) +
               ": not read beside tables for each layer type, no effect on this table");
    for (const Place& place : rope_) {
      const auto& own = type_keys.find(type_)->second;
      std::vector<std::string_view> here(own);
      here.insert(here.end(), std::begin(common_rope_keys), std::end(common_rope_keys));
      std::vector<std::string_view> anywhere(here);
      for (const auto& [type, keys] : type_keys)
        anywhere.insert(anywhere.end(), keys.begin(), keys.end());
      for (const auto& [key, value] : place.object->items()) {
        if (among(key, here) || value.is_null()) continue;
        if (among(key, anywhere)) {
          warn(place.path(key) + " = " + brief(value) + ": not read for scaling type '" + type_ +
               "', no effect on this table");
          continue;
        }
        const auto near = suggestion(key, anywhere);
        warn(place.path(key) + " = " + brief(value) + ": not read, no effect on this table" +
             (near ? meant(place, key, string(*near)) : ""));
      }
    }
  }

  Place root_;
  Place section_{};
  const ResolveOptions& options_;
  bool lints_;
  ResolvedRope out_;
  const Family* family_ = nullptr;
  string family_name_;

  unsigned layers_ = 0;
  std::vector<string> kinds_;
  std::optional<std::function<string(unsigned)>> kind_rule_;
  string kind_source_;
  string kind_;  // of the layers whose table is shown; empty where all are alike

  std::vector<Place> rope_;        // the dictionaries that speak of these layers
  std::vector<Place> outer_rope_;  // those around nested ones
  bool nested_ = false;
  bool mla_ = false;
  std::optional<Found> share_;
  string type_;
};

}  // namespace

const char* name(Pairing layout) {
  switch (layout) {
    case Pairing::interleaved: return "interleaved";
    case Pairing::half_split: return "half-split";
    case Pairing::unknown: break;
  }
  return "unknown";
}

ResolvedRope resolve(const nlohmann::json& config, const ResolveOptions& options) {
  return Reader(config, options).read();
}

}  // namespace ropewalk::theory
