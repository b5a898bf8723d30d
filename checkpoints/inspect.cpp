#include "checkpoints/inspect.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "checkpoints/json_text.hpp"
#include "checkpoints/recorded.hpp"
#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using nlohmann::json;
using theory::Pairing;
using theory::ResolvedRope;

namespace {

const json& text_part(const json& config) {
  const auto text = config.find("text_config");
  return text != config.end() && text->is_object() ? *text : config;
}

std::optional<std::int64_t> whole(const json& config, const char* key) {
  const auto at = text_part(config).find(key);
  if (at == text_part(config).end() || !at->is_number_integer()) return {};
  return at->get<std::int64_t>();
}

const theory::Provenance* origin(const ResolvedRope& rope, const char* quantity) {
  const auto at = std::find_if(rope.provenance.begin(), rope.provenance.end(),
                               [&](const auto& p) { return p.quantity == quantity; });
  return at == rope.provenance.end() ? nullptr : &*at;
}

void resolve_subject(Subject& subject) {
  if (!subject.config.is_object()) return;
  try {
    subject.rope = subject.table({});
  } catch (const Error& e) {
    subject.findings.push_back({"config.invalid",
                                e.code() == ErrorCode::unsupported ? "warning" : "error",
                                fmt::format("{}: {}", subject.config_source, e.what())});
  }
}

// The number of planes whose float32 frequencies differ, the largest quotient of two.
struct TableDifference {
  std::size_t planes = 0;
  double factor = 1;
};
TableDifference difference(const ResolvedRope& a, const ResolvedRope& b) {
  const auto& x = a.schedule.float32;
  const auto& y = b.schedule.float32;
  TableDifference result;
  if (x.size() != y.size()) return {std::max(x.size(), y.size()), 1};
  for (std::size_t f = 0; f < x.size(); ++f) {
    // Converters round a factor to float32: a few units in the last place are no difference.
    if (x[f] == y[f]) continue;
    const double off = std::abs(static_cast<double>(y[f]) - static_cast<double>(x[f]));
    if (off <= 1e-6 * std::abs(static_cast<double>(x[f]))) continue;
    ++result.planes;
    const auto [small, large] = std::minmax({std::abs(x[f]), std::abs(y[f])});
    if (small > 0)
      result.factor =
          std::max(result.factor, static_cast<double>(large) / static_cast<double>(small));
  }
  return result;
}

std::string base_of(const ResolvedRope& rope) {
  const theory::Provenance* base = origin(rope, "base");
  return rope.schedule.description +
         (base == nullptr ? "" : fmt::format(" (base: {})", base->source));
}

// Buffers that old versions of transformers saved with the weights.
bool is_mask(const std::string& name) {
  return name.ends_with(".masked_bias") || name.ends_with(".attn.bias") ||
         name.ends_with(".attention.bias");
}

bool plays_no_part(const Subject& subject, const std::string& name) {
  return subject.model && std::find(subject.model->unread.begin(), subject.model->unread.end(),
                                    name) != subject.model->unread.end();
}

// The same numbers in short rows, so that no piece of them is larger than it should be, whatever
// the shape. Of a tensor that repeats its storage (strides of 0), the storage.
Tensor flattened(const Tensor& tensor) {
  Tensor flat = tensor;
  std::int64_t elements = tensor.elements();
  const bool repeats =
      tensor.scales.empty() &&
      storage_bytes(tensor.dtype, static_cast<std::uint64_t>(elements)).value_or(UINT64_MAX) >
          tensor.data.size();
  if (!tensor.contiguous() && !repeats) return flat;
  const std::int64_t block =
      tensor.dtype == DType::groups_i8 ? tensor.group : block_elements(tensor.dtype);
  if (repeats)
    elements = static_cast<std::int64_t>(tensor.data.size()) / block_bytes(tensor.dtype) * block;
  flat.shape = {elements / block, block};
  flat.strides = row_major(flat.shape);
  return flat;
}

}  // namespace

ResolvedRope Subject::table(std::optional<unsigned> layer) const {
  ResolvedRope resolved = theory::resolve(config, {.length = {}, .layer = layer});
  if (checkpoint && checkpoint->pairing) {
    resolved.layout = *checkpoint->pairing;
    for (theory::Provenance& p : resolved.provenance)
      if (p.quantity == "layout")
        p = {"layout", theory::name(resolved.layout), "the format, " + checkpoint->format};
  }
  return resolved;
}

unsigned Subject::layers() const {
  if (!config.is_object()) return 0;
  for (const char* key : {"num_hidden_layers", "n_layer", "num_layers"})
    if (const auto n = whole(config, key); n && *n > 0)
      return static_cast<unsigned>(std::min<std::int64_t>(*n, 10'000));
  return 0;
}

bool Subject::rotates(unsigned layer) const {
  if (layer >= layers()) return false;
  try {
    (void)theory::resolve(config, {.length = {}, .layer = layer});
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::optional<unsigned> Subject::sliding_layer() const {
  for (unsigned l = 0; l < layers(); ++l)
    if (rotates(l) && table(l).sliding_window) return l;
  return {};
}

Subject open_subject(const std::string& path) {
  Subject subject;
  subject.path = path;
  if (path.ends_with(".json") && !path.ends_with(".index.json")) {
    const MappedFile file(path);
    constexpr std::size_t most_values = 100'000;
    subject.config = parse_json(file.bytes(), path, most_values);
    if (!subject.config.is_object()) throw Error(ErrorCode::parse, path + ": not a JSON object");
    subject.config_source = path;
    resolve_subject(subject);
    return subject;
  }
  subject.checkpoint = std::make_shared<const Checkpoint>(open_checkpoint(path));
  subject.config = subject.checkpoint->config;
  subject.config_source = subject.checkpoint->config_source;
  subject.findings = subject.checkpoint->findings;
  resolve_subject(subject);
  if (!subject.config.is_object()) return subject;
  try {
    subject.model = read_model(subject.checkpoint);
  } catch (const Error& e) {
    const bool unsupported = e.code() == ErrorCode::unsupported;
    subject.findings.push_back({unsupported ? "model.unsupported" : "model.incomplete",
                                unsupported ? "warning" : "error", e.what()});
  }
  return subject;
}

std::vector<Finding> check_config(const Subject& subject) {
  std::vector<Finding> findings;
  if (!subject.rope) return findings;
  const ResolvedRope& rope = *subject.rope;
  for (const std::string& warning : rope.warnings)
    findings.push_back({"config.rope", "warning", warning});

  if (const theory::Provenance* base = origin(rope, "base"); base != nullptr) {
    if (base->source.find("rope_parameters") != std::string::npos &&
        !text_part(subject.config).contains("rope_theta") && rope.base && *rope.base != 10000)
      findings.push_back({"base.place", "note",
                          fmt::format("the base stands in {} alone: readers that know only "
                                      "rope_theta take 10000 for {}",
                                      base->source, base->value)});
  }

  constexpr std::int64_t longest = std::int64_t{1} << 50;
  if (const auto most = whole(subject.config, "max_position_embeddings");
      most && *most > 0 && *most <= longest) {
    // A pure function of the length; the lengths to look at are those that configs speak of.
    std::vector<std::string> tables;
    for (const std::int64_t length : {std::int64_t{1}, *most, 2 * *most, 4 * *most}) {
      const ResolvedRope at =
          theory::resolve(subject.config, {.length = theory::Integer(length), .layer = {}});
      if (tables.empty() || difference(rope, at).planes > 0)
        tables.push_back(fmt::format("{} at {}", at.schedule.description, length));
    }
    if (tables.size() > 1) {
      std::string list;
      for (const std::string& t : tables) list += (list.empty() ? "" : "; ") + t;
      findings.push_back(
          {"table.length", "note",
           "the table depends on the length of the input and on nothing before it: " + list});
    }
    if (rope.model_type.starts_with("llama") && rope.base && *rope.base == 500000 &&
        *most >= 131072 &&
        rope.schedule.float32 == theory::default_schedule({*rope.base, rope.rotary_dim}).float32)
      findings.push_back({"llama3.absent", "warning",
                          fmt::format("base 500000 and {} tokens without scaling: Llama 3.1 and "
                                      "later have rope_type llama3 there",
                                      *most)});
  }
  const theory::Provenance* factor = origin(rope, "attention_factor");
  const bool stated = factor != nullptr && factor->source.ends_with("attention_factor");
  if (stated || rope.schedule.attention_factor_float32 != 1.0F) {
    findings.push_back(
        {"logit.scale", "note",
         fmt::format("cosines and sines carry an attention factor of {:.6g}, logits its square{}",
                     rope.schedule.attention_factor_float32,
                     factor == nullptr ? "" : " (" + factor->source + ")")});
  }
  if (subject.model) {
    const auto vocabulary = whole(subject.config, "vocab_size");
    const std::int64_t rows = subject.model->embedding->rows();
    if (vocabulary && *vocabulary > rows)
      findings.push_back(
          {"config.vocabulary", "warning",
           fmt::format("vocab_size is {}, the embedding has {} rows", *vocabulary, rows)});
    std::vector<std::string> unread;
    const auto tables = recorded_tables(*subject.checkpoint);
    for (const std::string& name : subject.model->unread)
      if (!is_mask(name) && std::find(tables.begin(), tables.end(), name) == tables.end())
        unread.push_back(name);
    if (!unread.empty()) {
      std::string list;
      for (std::size_t i = 0; i < unread.size() && i < 4; ++i) list += " " + unread[i];
      findings.push_back({"tensor.unread", "note",
                          fmt::format("{} tensor{} no part in the model that the config "
                                      "describes:{}{}",
                                      unread.size(), unread.size() == 1 ? " plays" : "s play", list,
                                      unread.size() > 4 ? " ..." : "")});
    }
  }
  return findings;
}

std::vector<Finding> check_numbers(const Subject& subject,
                                   const std::function<void(double)>& progress) {
  constexpr std::int64_t piece = std::int64_t{1} << 17;  // elements
  std::vector<Tensor> tensors;
  double total = 0;
  for (const auto& [name, tensor] : subject.checkpoint->tensors)
    if (is_float(tensor.dtype) && tensor.elements() > 0 && !is_mask(name)) {
      tensors.push_back(flattened(tensor));
      total += static_cast<double>(tensors.back().elements());
    }
  double done = 0;
  std::vector<Finding> findings;
  for (const Tensor& flat : tensors) {
    const std::int64_t rows = std::max<std::int64_t>(1, piece / flat.row_size());
    const std::int64_t pieces = (flat.rows() + rows - 1) / rows;
    std::atomic<std::int64_t> bad = 0;
    std::atomic<std::int64_t> first = flat.elements();
    tbb::parallel_for(std::int64_t{0}, pieces, [&](std::int64_t p) {
      const std::int64_t count = std::min(rows, flat.rows() - p * rows);
      std::vector<double> numbers(static_cast<std::size_t>(count * flat.row_size()));
      read_rows(flat, p * rows, count, numbers.data());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (std::isfinite(numbers[i])) continue;
        ++bad;
        const std::int64_t at = p * rows * flat.row_size() + static_cast<std::int64_t>(i);
        for (std::int64_t before = first; at < before && !first.compare_exchange_weak(before, at);)
          ;
      }
    });
    if (bad > 0)
      findings.push_back({"tensor.not_finite", plays_no_part(subject, flat.name) ? "note" : "error",
                          fmt::format("{}: {} of {} elements are infinite or NaN, the first is "
                                      "element {}",
                                      flat.name, bad.load(), flat.elements(), first.load())});
    done += static_cast<double>(flat.elements());
    if (progress) progress(done / total);
  }
  return findings;
}

std::vector<Finding> check_layout(const LayoutEvidence& evidence) {
  const Pairing detected = evidence.detected();
  if (detected == Pairing::unknown || detected == evidence.declared) return {};
  if (evidence.declared == Pairing::unknown) return {};
  return {{"layout.mismatch", "error",
           fmt::format("the file says {}, but its weights are {}: `ropewalk export --from {}` "
                       "writes them as they should be",
                       theory::name(evidence.declared), theory::name(detected),
                       theory::name(detected))}};
}

std::vector<Finding> check_tables(const Subject& a, const Subject& b) {
  std::vector<Finding> findings;
  if (!a.rope || !b.rope) return findings;
  std::vector<std::optional<unsigned>> looked_at{std::nullopt};
  for (unsigned l = 0; l < std::min(a.layers(), b.layers()); ++l) looked_at.emplace_back(l);
  for (const auto& layer : looked_at) {
    std::optional<ResolvedRope> x;
    std::optional<ResolvedRope> y;
    try {
      x = layer ? a.table(layer) : *a.rope;
      y = layer ? b.table(layer) : *b.rope;
    } catch (const Error&) {
      continue;  // a layer without rotation, or one that the config does not describe
    }
    const TableDifference d = difference(*x, *y);
    const std::string where = layer ? fmt::format("layer {}: ", *layer) : "";
    if (d.planes > 0)
      findings.push_back(
          {"table.differs", "error",
           fmt::format("{}{} of {} planes differ{}: {} against {}", where, d.planes,
                       std::max(x->schedule.float32.size(), y->schedule.float32.size()),
                       d.factor >= 1.5 ? fmt::format(", by a factor of up to {:.3g}", d.factor)
                       : d.factor > 1  ? fmt::format(", by up to {:.3g} %", 100 * (d.factor - 1))
                                       : "",
                       base_of(*x), base_of(*y))});
    const auto scale = [](const ResolvedRope& r) { return r.logit_scale.as<double>(); };
    if (std::abs(scale(*x) / scale(*y) - 1) > 1e-6)
      findings.push_back({"logit.differs", "error",
                          fmt::format("{}logits are scaled by {:.6g} against {:.6g}", where,
                                      scale(*x), scale(*y))});
    const auto either = [&](const char* what, const auto& left, const auto& right) {
      const auto shown = [](const auto& v) { return v ? v->str() : std::string("none"); };
      if (shown(left) != shown(right))
        findings.push_back(
            {"config.differs", "error",
             fmt::format("{}{}: {} against {}", where, what, shown(left), shown(right))});
    };
    either("sliding window", x->sliding_window, y->sliding_window);
    either("soft cap", x->softcap, y->softcap);
    if (!findings.empty()) break;  // one layer says it
  }
  if (a.rope->layout != b.rope->layout && !(a.model && b.model))
    findings.push_back({"layout.differs", "note",
                        fmt::format("the layouts declared are {} and {}: rows of queries and keys "
                                    "have to be permuted between the two",
                                    theory::name(a.rope->layout), theory::name(b.rope->layout))});
  if (a.model && b.model) {
    const auto alike = [](double p, double q) { return std::abs(p - q) <= 1e-6 * std::abs(p); };
    if (!alike(a.model->norm_eps, b.model->norm_eps))
      findings.push_back({"config.differs", "error",
                          fmt::format("epsilon of the norms: {:.6g} against {:.6g}",
                                      a.model->norm_eps, b.model->norm_eps)});
    if (a.model->activation != b.model->activation)
      findings.push_back({"config.differs", "error", "the activations differ"});
  }
  return findings;
}

std::vector<PermutationGroup> groups(const Comparison& comparison) {
  std::vector<PermutationGroup> result;
  std::size_t count[2] = {0, 0};
  for (const HeadMatch& m : comparison.heads) {
    ++count[m.part == 'q' ? 0 : 1];
    auto at = std::find_if(result.begin(), result.end(), [&](const PermutationGroup& g) {
      return g.part == m.part && g.permutation == m.permutation &&
             g.off == (m.residual > m.allowed);
    });
    if (at == result.end())
      at = result.insert(result.end(),
                         {m.part, m.permutation, {}, 0, m.residual > m.allowed, false});
    at->heads.push_back(&m);
    at->residual = std::max(at->residual, m.residual);
  }
  for (PermutationGroup& g : result) g.all = g.heads.size() == count[g.part == 'q' ? 0 : 1];
  return result;
}

std::vector<Finding> check_comparison(const Subject& a, const Subject& b,
                                      const Comparison& comparison) {
  std::vector<Finding> findings;
  const Pairing from = a.model->pairing();
  const Pairing to = b.model->pairing();
  const std::string wanted = from == to || from == Pairing::unknown || to == Pairing::unknown
                                 ? "same"
                                 : fmt::format("{} to {}", theory::name(from), theory::name(to));
  for (const PermutationGroup& g : groups(comparison)) {
    std::string heads = "all heads";
    if (!g.all) {
      heads = "layer.head";
      for (std::size_t i = 0; i < g.heads.size() && i < 6; ++i)
        heads += fmt::format(" {}.{}", g.heads[i]->layer, g.heads[i]->head);
      if (g.heads.size() > 6) heads += fmt::format(" ... ({})", g.heads.size());
    }
    const double allowed = g.heads.front()->allowed;
    if (g.permutation == wanted && g.off)
      findings.push_back(
          {"rows.off", "error",
           fmt::format(
               "{}: rows of {} differ: |difference| / |rows| is up to {:.3g}, and the element "
               "types account for {:.3g}",
               g.part, heads, g.residual, allowed)});
    else if (g.permutation == "other rows")
      findings.push_back({"rows.other", "error",
                          fmt::format("{}: the rows of {} are not those of the other file "
                                      "(|difference| / |rows| is {:.3g})",
                                      g.part, heads, g.residual)});
    else if (g.permutation != wanted)
      findings.push_back(
          {"rows.permuted", "error",
           fmt::format("{}: rows of {} are permuted by \"{}\" from this file to the other; the "
                       "layouts that they declare, {} and {}, ask for \"{}\"",
                       g.part, heads, g.permutation, theory::name(from), theory::name(to),
                       wanted)});
  }
  std::string list;
  std::size_t differing = 0;
  for (const MatrixMatch& m : comparison.others)
    if (!(m.residual <= m.allowed) && ++differing <= 4)
      list += fmt::format(" {} ({:.3g})", m.name, m.residual);
  if (differing > 0)
    findings.push_back({"weights.differ", "error",
                        fmt::format("{} of {} other tensors hold other numbers:{}{}", differing,
                                    comparison.others.size(), list, differing > 4 ? " ..." : "")});
  for (const std::string& name : comparison.alone)
    findings.push_back({"weights.alone", "error", name + ": the other file has none like it"});
  return findings;
}

}  // namespace ropewalk::checkpoints
