#include "sweeps/plot.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace ropewalk::sweeps {

namespace {

constexpr std::array<PictureKind, 5> all_kinds{{
    {"lengths", "values against length, both axes logarithmic, a line per table and quantity"},
    {"steps", "the same as steps: the staircase of records"},
    {"heat", "one-plane tables: angle against length, the value as colour"},
    {"bases", "where each base serves (base-sum): a bar per length, broken where it does not"},
    {"horizons", "horizons against the number that the tables differ in"},
}};

double middle(const Row& row) { return enclosure_of(row).middle().convert_to<double>(); }

double number(const std::string& text) { return theory::Formula::parse(text).as<double>(); }

bool is_horizon(const std::string& quantity) { return quantity.ends_with("-horizon"); }

bool shows(std::string_view kind, const Row& row) {
  if (row.lo.empty()) return false;
  if (kind == "heat")
    return Json::parse(row.coordinates).contains("angle") && row.quantity != "aliasing-free";
  if (kind == "bases")
    return row.quantity == "base-sum" && Json::parse(row.coordinates).contains("base");
  if (kind == "horizons") return is_horizon(row.quantity);
  return row.quantity.ends_with("-margin") || row.quantity.ends_with("-bound");
}

// A heat map shows one question: the first that has several angles and several lengths.
std::vector<Row> one_question(const std::vector<Row>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<Row>> groups;
  for (const Row& row : rows) {
    std::vector<Row>& group = groups[row.quantity + row.parameters];
    if (group.empty()) order.push_back(row.quantity + row.parameters);
    group.push_back(row);
  }
  for (const std::string& key : order) {
    std::set<std::string> angles;
    std::set<std::string> lengths;
    for (const Row& row : groups[key]) {
      angles.insert(pairs(row.coordinates).at("angle"));
      lengths.insert(row.length);
    }
    if (angles.size() > 1 && lengths.size() > 1) return groups[key];
  }
  return {};
}

std::vector<Row> rows_for(const Store& store, std::string_view kind,
                          const PictureOptions& options) {
  std::vector<Row> rows;
  store.rows(options.sweep, [&](const Row& row) {
    if ((options.quantity.empty() || row.quantity == options.quantity) && shows(kind, row))
      rows.push_back(row);
  });
  return kind == "heat" ? one_question(rows) : rows;
}

// What gnuplot takes for a text between single quotes.
std::string gnuplot_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    if (c != '\n' && c != '\r') out += c;
  }
  return out + "'";
}

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// Rows of the same table, quantity and parameters, by length; named by what is not the same in all.
std::vector<Line> lines_of(const std::vector<Row>& rows) {
  std::set<std::string> tables;
  std::set<std::string> quantities;
  std::map<std::string, std::set<std::string>> values;
  for (const Row& row : rows) {
    tables.insert(row.table);
    quantities.insert(row.quantity);
    for (const auto& [name, value] : pairs(row.parameters)) values[name].insert(value);
  }
  std::vector<Line> lines;
  std::map<std::string, std::size_t> at;
  for (const Row& row : rows) {
    std::string name;
    const auto add = [&](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
    if (tables.size() > 1) add(row.table);
    if (quantities.size() > 1) add(row.quantity);
    for (const auto& [parameter, value] : pairs(row.parameters))
      if (values[parameter].size() > 1) add(value);
    if (name.empty()) name = row.quantity;
    const auto [place, fresh] = at.emplace(name, lines.size());
    if (fresh) lines.push_back({name, {}});
    lines[place->second].points.emplace_back(number(row.length), middle(row));
  }
  for (Line& line : lines) std::sort(line.points.begin(), line.points.end());
  return lines;
}

std::string terminal(ImageFormat format, bool wide) {
  const std::string size = wide ? "960,720" : "960,600";
  switch (format) {
    case ImageFormat::svg:
      return "set terminal svg enhanced size " + size +
             " font 'sans,14' background '#ffffff' dynamic\n";
    case ImageFormat::png:
      return "set terminal pngcairo noenhanced size " + size + " font 'sans,12'\n";
    case ImageFormat::pdf: return "set terminal pdfcairo noenhanced size 8in,5in font 'sans,12'\n";
  }
  return {};
}

// The one coordinate in which tables differ and that is a number; nothing where there are several.
std::string varying(const std::vector<Row>& rows) {
  std::map<std::string, std::set<std::string>> values;
  for (const Row& row : rows)
    for (const auto& [name, value] : pairs(row.coordinates)) values[name].insert(value);
  std::string found;
  for (const auto& [name, set] : values) {
    if (set.size() < 2) continue;
    if (!found.empty() || name == "config" || name == "scheme") return {};
    found = name;
  }
  return found;
}

void add_lines(std::ostringstream& out, const std::vector<Line>& lines, const std::string& style,
               bool positive_only) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out << "$line" << i << " << EOD\n";
    for (const auto& [x, y] : lines[i].points)
      if (!positive_only || y > 0) out << x << ' ' << y << '\n';
    out << "EOD\n";
  }
  out << "plot ";
  for (std::size_t i = 0; i < lines.size(); ++i)
    out << (i == 0 ? "" : ", \\\n     ") << "$line" << i << " using 1:2 " << style << " lw 2 title "
        << gnuplot_text(lines[i].name);
  out << '\n';
}

}  // namespace

std::span<const PictureKind> picture_kinds() { return all_kinds; }

bool can_draw(const Store& store, std::string_view kind, const PictureOptions& options) {
  return !rows_for(store, kind, options).empty() &&
         (kind != "horizons" || !varying(rows_for(store, kind, options)).empty());
}

std::string picture_program(const Store& store, std::string_view kind,
                            const PictureOptions& options) {
  if (std::none_of(all_kinds.begin(), all_kinds.end(),
                   [&](const PictureKind& k) { return k.name == kind; })) {
    std::string names;
    for (const PictureKind& k : all_kinds)
      names += (names.empty() ? "" : ", ") + std::string(k.name);
    throw Error(ErrorCode::bad_value,
                "no picture is called '" + std::string(kind) + "': there are " + names);
  }
  const std::vector<Row> rows = rows_for(store, kind, options);
  if (rows.empty())
    throw Error(ErrorCode::bad_value, store.path() + ": no rows for the picture '" +
                                          std::string(kind) + "'" +
                                          (options.sweep.empty() ? "" : " in " + options.sweep));
  std::string title = options.title;
  if (title.empty())
    for (const SweepRecord& s : store.sweeps())
      if (s.name == rows.front().sweep) title = s.title;

  std::ostringstream out;
  out.precision(12);
  out << terminal(options.format, kind == "heat") << "set encoding utf8\nset title "
      << gnuplot_text(title)
      << " noenhanced\nset key outside below noenhanced\nset grid lc rgb '#d0d0d0'\nset border lw "
         "0.8\n"
         "set linetype 1 lc rgb '#0072b2'\nset linetype 2 lc rgb '#d55e00'\nset linetype 3 lc rgb "
         "'#009e73'\n"
         "set linetype 4 lc rgb '#cc79a7'\nset linetype 5 lc rgb '#56b4e9'\nset linetype 6 lc rgb "
         "'#e69f00'\n"
         "set linetype 7 lc rgb '#000000'\nset linetype 8 lc rgb '#7f7f7f'\nset linetype cycle 8\n";
  if (kind == "lengths" || kind == "steps") {
    out << "set logscale xy\nset format x '%g'\nset format y '10^{%T}'\n"
           "set xlabel 'length n (tokens)'\nset ylabel 'value (where positive)'\n";
    if (options.format != ImageFormat::svg) out << "set format y '%g'\n";
    add_lines(out, lines_of(rows), kind == "steps" ? "with steps" : "with lines", true);
  } else if (kind == "heat") {
    out << "set xlabel 'length n (tokens)'\nset ylabel 'angle (radians)'\nset palette defined (0 "
           "'#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
           "set logscale cb\nset format cb '%g'\nset cblabel 'value'\nset logscale x\nunset key\n"
           "$map << EOD\n";
    std::map<double, std::vector<std::pair<double, double>>> map;
    for (const Row& row : rows)
      map[number(pairs(row.coordinates).at("angle"))].emplace_back(number(row.length),
                                                                   std::max(middle(row), 1e-15));
    for (auto& [angle, points] : map) {
      std::sort(points.begin(), points.end());
      for (const auto& [n, value] : points) out << n << ' ' << angle << ' ' << value << '\n';
      out << '\n';
    }
    out << "EOD\nset pm3d map corners2color c1\nsplot $map using 1:2:3 notitle\n";
  } else if (kind == "bases") {
    out << "set logscale x\nset format x '10^{%T}'\nset xlabel 'base'\nset ylabel 'length n "
           "(tokens)'\n"
           "set key outside below\n";
    if (options.format != ImageFormat::svg) out << "set format x '%g'\n";
    std::map<double, std::vector<std::pair<double, bool>>> bars;
    for (const Row& row : rows)
      bars[number(row.length)].emplace_back(number(pairs(row.coordinates).at("base")),
                                            Json::parse(row.detail).value("admissible", false));
    std::ostringstream good;
    std::ostringstream bad;
    out << "set ytics (";
    std::size_t place = 0;
    for (const auto& [n, list] : bars) {
      out << (place == 0 ? "" : ", ") << "'" << n << "' " << place;
      for (const auto& [base, serves] : list) (serves ? good : bad) << base << ' ' << place << '\n';
      ++place;
    }
    out << ")\nset yrange [-0.7:" << static_cast<double>(place) - 0.3 << "]\n$good << EOD\n"
        << good.str() << "EOD\n$bad << EOD\n"
        << bad.str()
        << "EOD\nplot $good using 1:2 with points pt 5 ps 1 lc rgb '#009e73' title 'serves', "
           "$bad using 1:2 with points pt 4 ps 0.8 lc rgb '#d55e00' title 'a sum is negative'\n";
  } else {
    const std::string axis = varying(rows);
    if (axis.empty())
      throw Error(
          ErrorCode::bad_value,
          "horizons are drawn where the tables differ in one number: name a sweep of that kind");
    std::map<std::string, Line> by_question;
    for (const Row& row : rows) {
      const std::string name = row.quantity + " " + row.parameters + " up to " + row.length;
      Line& line = by_question[name];
      line.name = name;
      line.points.emplace_back(number(pairs(row.coordinates).at(axis)), middle(row));
    }
    std::vector<Line> lines;
    for (auto& [name, line] : by_question) {
      std::sort(line.points.begin(), line.points.end());
      lines.push_back(std::move(line));
    }
    out << "set logscale xy\nset format '%g'\nset xlabel " << gnuplot_text(axis)
        << "\nset ylabel 'horizon (tokens)'\n";
    add_lines(out, lines, "with linespoints", true);
  }
  return out.str();
}

std::string draw(const Store& store, std::string_view kind, const PictureOptions& options) {
  const std::string program = picture_program(store, kind, options);
  std::string pattern =
      (std::filesystem::temp_directory_path() / "ropewalk-picture-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorCode::file, pattern + ": cannot be made");
  const std::filesystem::path folder = pattern;
  const std::string image = (folder / "image").string();
  {
    std::ofstream script(folder / "script.gp");
    script << "set output '" << image << "'\n" << program;
  }
  const pid_t child = fork();
  if (child == 0) {
    // gnuplot's complaints go to a file, to be named if it fails.
    if (std::freopen((folder / "said").c_str(), "w", stderr) == nullptr) _exit(126);
    execlp("gnuplot", "gnuplot", (folder / "script.gp").c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  const int code = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const auto read = [](const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  const std::string bytes = read(image);
  const std::string said = read(folder / "said");
  std::filesystem::remove_all(folder);
  if (code == 127)
    throw Error(ErrorCode::unsupported, "pictures need gnuplot: install gnuplot-nox");
  if (code != 0 || bytes.empty()) {
    const auto start = said.find_first_not_of(" \n\r\t");
    throw Error(
        ErrorCode::file,
        "gnuplot failed" + (start == std::string::npos
                                ? std::string()
                                : ": " + said.substr(start, said.find('\n', start) - start)));
  }
  return bytes;
}

}  // namespace ropewalk::sweeps
