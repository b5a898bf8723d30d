// The ledger: claims as data, judges as functions, and the table that joins them.

#include <algorithm>
#include <iterator>

#include <toml++/toml.h>

#include "papers/texts.hpp"
#include "proofs_numeric/claims.hpp"
#include "theory/error.hpp"

namespace ropewalk::proofs_numeric {

namespace {

struct Entry {
  std::string_view function;
  Judgement (*judge)();
};

constexpr Entry judges[] = {
    {"index_feasible", index_feasible},
    {"index_gap_below_one_minus_cosine", index_gap_below_one_minus_cosine},
    {"index_gap_below_square_law_max", index_gap_below_square_law_max},
    {"index_gap_below_square_law_min", index_gap_below_square_law_min},
    {"irrational_angle_keeps_gap", irrational_angle_keeps_gap},
    {"one_plane_gap_by_continued_fractions", one_plane_gap_by_continued_fractions},
    {"best_one_plane_angle", best_one_plane_angle},
    {"retrieval_feasible", retrieval_feasible},
    {"retrieval_gap_max", retrieval_gap_max},
    {"retrieval_margin_min", retrieval_margin_min},
    {"retrieval_margin_min_corrected", retrieval_margin_min_corrected},
    {"retrieval_gap_displayed", retrieval_gap_displayed},
    {"zero_angle_margin_letters", zero_angle_margin_letters},
    {"zero_angle_margin_all", zero_angle_margin_all},
    {"one_plane_retrieval_margin", one_plane_retrieval_margin},
    {"centred_retrieval_margin", centred_retrieval_margin},
    {"mass_on_maximisers", mass_on_maximisers},
    {"softmax_scale", softmax_scale},
    {"symbolic_head_cannot_index", symbolic_head_cannot_index},
    {"positional_head_cannot_retrieve", positional_head_cannot_retrieve},
    {"positional_head_with_any_decoder", positional_head_with_any_decoder},
    {"symbolic_head_cannot_do_positional_task", symbolic_head_cannot_do_positional_task},
    {"positional_head_cannot_do_symbolic_task", positional_head_cannot_do_symbolic_task},
    {"exclusion_inequality", exclusion_inequality},
    {"one_angle_does_positional_task", one_angle_does_positional_task},
    {"zero_angle_does_symbolic_task", zero_angle_does_symbolic_task},
    {"two_angles_do_mixed_task", two_angles_do_mixed_task},
    {"one_angle_cannot_do_mixed_task_bounded", one_angle_cannot_do_mixed_task_bounded},
    {"one_angle_cannot_do_mixed_task_all", one_angle_cannot_do_mixed_task_all},
    {"attention_is_u_shaped", attention_is_u_shaped},
    {"base_bounds_1k", [] { return base_bounds_context("1k"); }},
    {"base_bounds_2k", [] { return base_bounds_context("2k"); }},
    {"base_bounds_4k", [] { return base_bounds_context("4k"); }},
    {"base_bounds_8k", [] { return base_bounds_context("8k"); }},
    {"base_bounds_16k", [] { return base_bounds_context("16k"); }},
    {"base_bounds_32k", [] { return base_bounds_context("32k"); }},
    {"base_bounds_64k", [] { return base_bounds_context("64k"); }},
    {"base_bounds_128k", [] { return base_bounds_context("128k"); }},
    {"base_bounds_256k", [] { return base_bounds_context("256k"); }},
    {"base_bounds_512k", [] { return base_bounds_context("512k"); }},
    {"base_bounds_1M", [] { return base_bounds_context("1M"); }},
    {"common_bases_reach", common_bases_reach},
    {"best_head_by_linear_program", best_head_by_linear_program},
    {"many_planes_break_square_law", many_planes_break_square_law},
    {"every_head_below_two_sided_optimum", every_head_below_two_sided_optimum},
    {"one_sided_offsets", one_sided_offsets},
    {"previous_token_is_not_one_sided", previous_token_is_not_one_sided},
    {"mixtures_bound_every_aligned_head", mixtures_bound_every_aligned_head},
    {"dirichlet_bounds_every_table", dirichlet_bounds_every_table},
    {"common_return_of_all_planes", common_return_of_all_planes},
    {"no_index_head_survives", no_index_head_survives},
    {"retrieval_survives_where_index_does_not", retrieval_survives_where_index_does_not},
    {"retrieval_needs_still_plane", retrieval_needs_still_plane},
    {"rounding_keeps_argmax", rounding_keeps_argmax},
    {"fp16_angles_overflow", fp16_angles_overflow},
    {"single_precision_table", single_precision_table},
    {"narrow_tables", narrow_tables},
    {"mass_falls_with_length", mass_falls_with_length},
    {"gibbs_bounds_mass", gibbs_bounds_mass},
    {"bounded_scale_has_a_horizon", bounded_scale_has_a_horizon},
    {"some_key_is_largest_at_every_distance", some_key_is_largest_at_every_distance},
    {"stopped_planes_see_no_distance", stopped_planes_see_no_distance},
    {"gaussian_logits_have_mean_zero", gaussian_logits_have_mean_zero},
    {"no_previous_token_without_positions", no_previous_token_without_positions},
    {"no_diagonal_without_positions", no_diagonal_without_positions},
    {"diagonal_without_positions_on_distinct_tokens",
     diagonal_without_positions_on_distinct_tokens},
    {"rotary_diagonal_bounded", rotary_diagonal_bounded},
    {"rotary_diagonal_at_every_length", rotary_diagonal_at_every_length},
    {"one_plane_attends_not_at_every_length", one_plane_attends_not_at_every_length},
    {"no_aliasing_below_published_length", no_aliasing_below_published_length},
    {"no_aliasing_within_wavelength", no_aliasing_within_wavelength},
    {"dc_stability", dc_stability},
    {"dc_stability_of_table", dc_stability_of_table},
    {"dc_stability_of_table_corrected", dc_stability_of_table_corrected},
    {"dc_stability_at_depth", dc_stability_at_depth},
    {"dc_stability_at_depth_is_necessary", dc_stability_at_depth_is_necessary},
    {"precision_wall_suffices_near_one", precision_wall_suffices_near_one},
    {"precision_wall_is_necessary", precision_wall_is_necessary},
    {"precision_wall_suffices_for_cosine", precision_wall_suffices_for_cosine},
    {"letter_accuracy_to_850", letter_accuracy_to_850},
};

Verdict verdict_from(const std::string& text, const std::string& where) {
  for (const Verdict v : {Verdict::proved, Verdict::refuted, Verdict::undecided})
    if (text == name(v)) return v;
  throw Error(ErrorCode::parse, where + ": expected = \"" + text + "\" is no verdict");
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved: return "proved";
    case Verdict::refuted: return "refuted";
    case Verdict::undecided: break;
  }
  return "undecided";
}

std::vector<Claim> ledger() {
  std::vector<Claim> claims;
  for (const papers::Text& text : papers::texts()) {
    if (!text.path.ends_with("claims.toml")) continue;
    const toml::table table = toml::parse(text.content, text.path);
    const toml::array* entries = table["claim"].as_array();
    if (entries == nullptr)
      throw Error(ErrorCode::parse, std::string(text.path) + ": no [[claim]] entries");
    for (const toml::node& node : *entries) {
      const toml::table& entry = *node.as_table();
      const auto key = [&](const char* k) {
        const auto value = entry[k].value<std::string>();
        if (!value)
          throw Error(ErrorCode::parse, std::string(text.path) + ": a claim lacks '" + k + "'");
        return *value;
      };
      const auto scope = entry["scope"].value<std::string>();
      if (scope && *scope != "long")
        throw Error(ErrorCode::parse, std::string(text.path) + ": scope = \"" + *scope +
                                          "\" is not known (long is, or leave it out)");
      const bool is_long = scope.has_value();
      claims.push_back({key("id"), key("paper"), key("source"), key("statement"), key("reading"),
                        verdict_from(key("expected"), std::string(text.path)), key("difference"),
                        key("argument"), key("function"), key("test"), is_long});
    }
  }
  std::stable_sort(claims.begin(), claims.end(),
                   [](const Claim& a, const Claim& b) { return a.paper < b.paper; });
  return claims;
}

Judgement judge(std::string_view id) {
  for (const Claim& claim : ledger()) {
    if (claim.id != id) continue;
    const auto* entry = std::find_if(std::begin(judges), std::end(judges),
                                     [&](const Entry& e) { return e.function == claim.function; });
    if (entry == std::end(judges))
      throw Error(ErrorCode::bad_value, claim.id + ": no judge is called " + claim.function);
    Judgement judgement = entry->judge();
    // What was collected on the way to no verdict may be false.
    if (judgement.verdict == Verdict::undecided) judgement.facts.clear();
    return judgement;
  }
  throw Error(ErrorCode::bad_value, "no claim is called " + std::string(id));
}

}  // namespace ropewalk::proofs_numeric
