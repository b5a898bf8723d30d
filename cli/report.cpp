// ropewalk report and ropewalk plot

#include "sweeps/report.hpp"

#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "sweeps/plot.hpp"

namespace ropewalk::cli {

using namespace sweeps;

namespace {

struct ReportArguments {
  std::string store;
  std::string out;
  bool no_pictures = false;
};

struct PlotArguments {
  std::string store;
  std::string kind;
  std::string out;
  std::string sweep;
  std::string quantity;
};

void run(const ReportArguments& args) {
  namespace fs = std::filesystem;
  const Store store(args.store, Store::Access::read);
  ReportOptions options;
  options.pictures = !args.no_pictures;
  options.version = ROPEWALK_VERSION;
  const fs::path from = fs::absolute(args.out).parent_path();
  const fs::path to = fs::absolute(args.store).parent_path();
  if (const std::string path =
          to.lexically_normal().lexically_relative(from.lexically_normal()).string();
      path != ".")
    options.certificates = path;
  write_file(args.out, report(store, options));
}

ImageFormat format_of(const std::string& file) {
  if (file.ends_with(".svg")) return ImageFormat::svg;
  if (file.ends_with(".png")) return ImageFormat::png;
  if (file.ends_with(".pdf")) return ImageFormat::pdf;
  throw Error(ErrorCode::bad_value, "--out must end in .svg, .png or .pdf, not " + file);
}

void run(const PlotArguments& args) {
  const Store store(args.store, Store::Access::read);
  PictureOptions options;
  options.sweep = args.sweep;
  options.quantity = args.quantity;
  options.format = format_of(args.out);
  write_file(args.out, draw(store, args.kind, options));
}

}  // namespace

void add_report(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<ReportArguments>();
  CLI::App& app = *root.add_subcommand("report", "A store as one web page");
  app.add_option("store", args->store, "A store that `ropewalk sweep` made")
      ->required()
      ->type_name("STORE");
  app.add_option("--out", args->out, "The page to write")->required()->type_name("FILE.html");
  app.add_flag("--no-pictures", args->no_pictures, "Leave out the pictures, which gnuplot draws");
  app.footer(
      "The page needs no network and no other file, but links to the certificates beside the "
      "store.\n"
      "\n"
      "Example:\n"
      "  ropewalk report /tmp/figure-5a.sqlite --out /tmp/figure-5a.html");
  app.callback([args, &exit_code] {
    run(*args);
    exit_code = as_expected;
  });
}

void add_plot(CLI::App& root, int& exit_code) {
  const auto args = std::make_shared<PlotArguments>();
  CLI::App& app = *root.add_subcommand("plot", "A picture of a store");
  app.add_option("store", args->store, "A store that `ropewalk sweep` made")
      ->required()
      ->type_name("STORE");
  app.add_option("kind", args->kind, "What is drawn: see below")->required()->type_name("KIND");
  app.add_option("--out", args->out, "The image to write: .svg, .png or .pdf")
      ->required()
      ->type_name("FILE");
  app.add_option("--sweep", args->sweep, "Only the rows of this spec (its file name)")
      ->type_name("NAME");
  app.add_option("--quantity", args->quantity, "Only rows of this kind")->type_name("KIND");
  std::string kinds;
  for (const PictureKind& kind : picture_kinds())
    kinds += "  " + std::string(kind.name) + std::string(11 - kind.name.size(), ' ') +
             std::string(kind.means) + "\n";
  app.footer(kinds +
             "\n"
             "Needs gnuplot.\n"
             "\n"
             "Example:\n"
             "  ropewalk plot /tmp/figure-5a.sqlite lengths --out /tmp/figure-5a.svg");
  app.callback([args, &exit_code] {
    run(*args);
    exit_code = as_expected;
  });
}

}  // namespace ropewalk::cli
