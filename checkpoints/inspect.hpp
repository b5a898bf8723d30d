#pragma once
/// \file
/// What is wrong with a model as it lies on disk: one check per kind of fault that users meet.
///
/// A check gives findings: an id for machines, a severity, and a line for people. An "error" is a
/// fault that makes outputs wrong, a "warning" something that often is one, a "note" a fact that
/// readers of the file get wrong. docs/inspect.md lists the ids.

#include <functional>

#include "checkpoints/compare.hpp"
#include "checkpoints/layout_evidence.hpp"
#include "checkpoints/model.hpp"

namespace ropewalk::checkpoints {

/// One side of an inspection, understood as far as it can be.
struct Subject {
  std::string path;
  std::shared_ptr<const Checkpoint> checkpoint;  ///< null for a config by itself
  nlohmann::json config;                         ///< null where there is none
  std::string config_source;
  std::optional<Model> model;                ///< absent where the family or a tensor is not there
  std::optional<theory::ResolvedRope> rope;  ///< of the full-attention layers at short lengths
  std::vector<Finding> findings;             ///< of reading

  /// The table of a layer, as Model::rope has it; of the whole model where `layer` is absent.
  [[nodiscard]] theory::ResolvedRope table(std::optional<unsigned> layer) const;
  /// Of the config; 0 where it does not say.
  [[nodiscard]] unsigned layers() const;
  /// The layer is one of the config's and has a rotary embedding.
  [[nodiscard]] bool rotates(unsigned layer) const;
  /// The first layer with a sliding window, where layers differ.
  [[nodiscard]] std::optional<unsigned> sliding_layer() const;
};

/// Opens a folder or file of a model, or a config.json by itself. What can be read and not
/// understood is a finding: config.invalid, model.incomplete, model.unsupported. Errors as of
/// open_checkpoint.
[[nodiscard]] Subject open_subject(const std::string& path);

/// The config: config.rope (what the resolver warns of), base.place, table.length,
/// llama3.absent, logit.scale; and against the tensors: config.vocabulary, tensor.unread. Cost: a
/// few resolutions.
[[nodiscard]] std::vector<Finding> check_config(const Subject& subject);

/// Every number of every tensor but masks: tensor.not_finite, a note where the model does not read
/// it. Cost: one pass over the file, parallel; memory: 1 MiB per thread.
[[nodiscard]] std::vector<Finding> check_numbers(const Subject& subject,
                                                 const std::function<void(double)>& progress = {});

/// layout.mismatch, where evidence contradicts what is declared.
[[nodiscard]] std::vector<Finding> check_layout(const LayoutEvidence& evidence);

/// Two sides against each other: table.differs, logit.differs, layout.differs and config.differs
/// (norms' epsilon, windows, soft caps) by their configs. Cost: one resolution per layer.
/// Guarantee: Exact for the float32 tables that are compared.
[[nodiscard]] std::vector<Finding> check_tables(const Subject& a, const Subject& b);

/// rows.permuted (not the permutation that the two declared layouts ask for), rows.off (more than
/// the element types account for), rows.other, weights.differ, weights.alone.
[[nodiscard]] std::vector<Finding> check_comparison(const Subject& a, const Subject& b,
                                                    const Comparison& comparison);

/// Heads of one permutation in words, and how many there are: "q same: all", "k half-split to
/// interleaved: 0.0 0.1 ... (layer.head)".
struct PermutationGroup {
  char part = 'q';
  std::string permutation;
  std::vector<const HeadMatch*> heads;
  double residual = 0;  ///< the largest
  bool off = false;     ///< by more than the element types account for
  bool all = false;     ///< every head of that part
};
[[nodiscard]] std::vector<PermutationGroup> groups(const Comparison& comparison);

}  // namespace ropewalk::checkpoints
