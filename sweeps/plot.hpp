#pragma once
/// \file
/// Pictures of a store, drawn by gnuplot.
///
/// A *kind* of picture picks rows by quantity and says how they are drawn. Rows of one table, one
/// quantity and one set of parameters are a line; only what differs between lines is named in the
/// key. Lines of many tables are spread over panels, one per question.

#include <string>
#include <string_view>
#include <vector>

#include "sweeps/store.hpp"

namespace ropewalk::sweeps {

struct PictureKind {
  std::string_view name;
  std::string_view means;
};
/// All of them; those that a store has rows for can be drawn.
[[nodiscard]] std::vector<PictureKind> picture_kinds();

enum class ImageFormat { svg, png, pdf };

struct PictureOptions {
  std::string sweep;  ///< rows of this spec only; empty: all
  std::string
      quantity;       ///< rows of this kind of quantity only; empty: all that the picture can show
  std::string title;  ///< empty: the title of the spec
  ImageFormat format = ImageFormat::svg;
};

/// The gnuplot program, data included. Throws Error(bad_value) for a kind that is not there, or
/// that the store has no rows for. Values are drawn at the middle of their enclosures, and
/// enclosures wider than a fiftieth as bars.
[[nodiscard]] std::string picture_program(const Store& store, std::string_view kind,
                                          const PictureOptions& options);
/// Whether picture_program() would find rows.
[[nodiscard]] bool can_draw(const Store& store, std::string_view kind,
                            const PictureOptions& options);
/// The image's bytes. Throws as picture_program(), and Error(unsupported) where there is no
/// gnuplot.
[[nodiscard]] std::string draw(const Store& store, std::string_view kind,
                               const PictureOptions& options);

}  // namespace ropewalk::sweeps
