#include "sweeps/plot.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

namespace ropewalk::sweeps {

namespace {

using Rows = std::vector<Row>;

// ------------------------------------------------------------------------------- numbers and names

double middle(const Row& row) { return enclosure_of(row).middle().convert_to<double>(); }
double number(const std::string& text) { return theory::Formula::parse(text).as<double>(); }

// An enclosure whose middle would be no fair value: it is drawn as a bar from end to end.
bool wide(const Row& row) {
  const Enclosure x = enclosure_of(row);
  return (x.hi - x.lo) * 50 > abs(x.hi);
}

std::string text_of(const auto& value) {
  std::ostringstream out;
  out.precision(12);
  out << value;
  return out.str();
}

// What gnuplot takes for a text between single quotes.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    if (c != '\n' && c != '\r') out += c;
  }
  return out + "'";
}

std::string listed(const Parameters& parameters, const std::string& without = {}) {
  std::string text;
  for (const auto& [name, value] : parameters)
    if (name != without) text += (text.empty() ? "" : ", ") + name + " " + value;
  return text;
}

// "base 10000, 64 planes" and "base 50000, 64 planes" are told apart by their bases: what all names
// have is left out, unless nothing would be left or two would be called the same.
std::map<std::string, std::string> short_names(const Rows& rows) {
  std::map<std::string, std::vector<std::string>> parts;
  for (const Row& row : rows) {
    std::vector<std::string>& list = parts[row.table];
    if (!list.empty()) continue;
    std::size_t start = 0;
    for (auto end = row.table.find(", "); end != std::string::npos;
         start = end + 2, end = row.table.find(", ", start))
      list.push_back(row.table.substr(start, end - start));
    list.push_back(row.table.substr(start));
  }
  const auto everywhere = [&](const std::string& part) {
    return std::all_of(parts.begin(), parts.end(), [&](const auto& other) {
      return std::find(other.second.begin(), other.second.end(), part) != other.second.end();
    });
  };
  std::map<std::string, std::string> names;
  for (const auto& [table, list] : parts) {
    std::string& name = names[table];
    for (const std::string& part : list)
      if (!everywhere(part)) name += (name.empty() ? "" : ", ") + part;
    if (name.empty()) name = table;
  }
  std::set<std::string> distinct;
  for (const auto& [table, name] : names) distinct.insert(name);
  if (distinct.size() < names.size())
    for (auto& [table, name] : names) name = table;
  return names;
}

// --------------------------------------------------------------------------------- panels of lines

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;
  std::vector<std::array<double, 3>> open;  // x, and an enclosure too wide for a point
  std::vector<double> gaps;                 // where the line is broken: a value no axis holds
};

struct Panel {
  std::string title;
  std::vector<Line> lines;
  // Stretches where a margin is above the bound that was published for it: length, bound, margin.
  std::vector<std::vector<std::array<double, 3>>> above;
};

struct Axes {
  std::string x;
  std::string y;
  std::string style = "linespoints";
  bool logarithmic = true;  // where the values reach further than a factor of 8
  bool sorted = true;       // points by x; else in the order of the rows
};

// A gnuplot program without the terminal, and how high the picture is in pixels.
struct Drawing {
  int height = 600;
  std::string program;
};

constexpr int width = 960;

// What an axis spans. Whole decades where it is logarithmic.
class Span {
 public:
  void include(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  [[nodiscard]] std::string lengthwise(bool logarithmic) const {
    const double room = high_ > low_ ? 0 : low_ / 2;
    return set('x', logarithmic && reaches_far(), low_ - room, high_ + room);
  }
  [[nodiscard]] std::string upwards(bool logarithmic) const {
    if (logarithmic && reaches_far())
      return set('y', true, bottom(), std::pow(10, std::ceil(std::log10(high_))));
    const double room = high_ > low_ ? 0.06 * (high_ - low_) : std::abs(low_) / 2 + 1e-300;
    return set('y', false, low_ - room, high_ + room);
  }
  // Of a logarithmic axis upwards.
  [[nodiscard]] double bottom() const { return std::pow(10, std::floor(std::log10(low_))); }

 private:
  [[nodiscard]] bool reaches_far() const { return low_ > 0 && high_ > 8 * low_; }
  static std::string set(char axis, bool logarithmic, double low, double high) {
    const std::string name(1, axis);
    return (logarithmic ? "set logscale " : "unset logscale ") + name + "\nset " + name +
           "range [" + text_of(low) + ":" + text_of(high) + "]\n";
  }
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

// One panel's ranges, data and plot command; `keyed`: names the lines below it.
void add_panel(std::ostringstream& out, const Panel& panel, const std::string& id, const Axes& axes,
               bool keyed, const std::map<std::string, std::size_t>& looks) {
  Span x_span;
  Span y_span;
  std::size_t points = 0;
  for (const Line& line : panel.lines) {
    points += line.points.size();
    for (const auto& [x, y] : line.points) {
      x_span.include(x);
      y_span.include(y);
    }
    for (const auto& [x, low, high] : line.open) {
      x_span.include(x);
      y_span.include(high);
      if (!axes.logarithmic) y_span.include(low);
    }
  }
  out << "set title " << quoted(panel.title) << " noenhanced\n"
      << x_span.lengthwise(axes.logarithmic) << y_span.upwards(axes.logarithmic);

  std::string plots;
  const auto plot = [&](const std::string& data, const std::string& how) {
    plots += (plots.empty() ? "plot " : ", \\\n     ") + data + " using " + how;
  };
  const std::string above = "$above" + id;
  if (!panel.above.empty()) {
    out << above << " << EOD\n";
    for (const auto& stretch : panel.above) {
      for (const auto& [x, bound, margin] : stretch)
        out << x << ' ' << bound << ' ' << margin << '\n';
      out << '\n';
    }
    out << "EOD\n";
    plot(above, "1:2:3 with filledcurves fc rgb '#d55e00' fs transparent solid 0.3 notitle");
  }
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const Line& line = panel.lines[i];
    const std::string place = id + "_" + std::to_string(i);
    const std::size_t look = looks.at(line.name);
    const std::string colour = " lt " + std::to_string(look % 8 + 1);
    // A line does not run over a gap; what is alone between two of them needs a point to be seen.
    std::string data;
    double before = -std::numeric_limits<double>::infinity();
    std::size_t stretch = 0;
    bool alone = false;
    for (const auto& point : line.points) {
      if (std::any_of(line.gaps.begin(), line.gaps.end(),
                      [&](double gap) { return gap > before && gap < point.first; })) {
        alone = alone || stretch == 1;
        stretch = 0;
        data += '\n';
      }
      ++stretch;
      data += text_of(point.first) + ' ' + text_of(point.second) + '\n';
      if (axes.sorted) before = point.first;
    }
    out << "$line" << place << " << EOD\n" << data << "EOD\n";
    const bool plain = axes.style == "linespoints" && points > 80 && !alone && stretch > 1;
    plot("$line" + place, "1:2 with " + (plain ? "lines" : axes.style) + colour + " dt " +
                              std::to_string(look / 8 + 1) + " lw 2" +
                              (axes.style == "linespoints" && !plain ? " pt 7 ps 0.4" : "") +
                              (keyed ? " title " + quoted(line.name) : " notitle"));
    if (line.open.empty()) continue;
    out << "$open" << place << " << EOD\n";
    for (const auto& [x, low, high] : line.open)
      out << x << ' ' << high << ' ' << (axes.logarithmic ? std::max(low, y_span.bottom()) : low)
          << ' ' << high << '\n';
    out << "EOD\n";
    plot("$open" + place, "1:2:3:4 with yerrorbars" + colour + " pt 0 lw 1 notitle");
  }
  if (!panel.above.empty())
    plot(above,
         "1:3 with points pt 7 ps 0.4 lc rgb '#d55e00' title 'margin above the published bound'");
  out << plots << '\n';
}

// Panels one below the other; a key only where the next panel has other lines.
std::optional<Drawing> draw_panels(std::vector<Panel> panels, const Axes& axes,
                                   const std::string& title) {
  for (Panel& panel : panels) {
    for (Line& line : panel.lines) {
      for (const auto& [x, y] : line.points)
        if (axes.logarithmic && (x <= 0 || y <= 0)) line.gaps.push_back(x);
      for (const auto& bar : line.open) line.gaps.push_back(bar[0]);
      if (axes.logarithmic) {
        std::erase_if(line.points,
                      [](const auto& point) { return point.first <= 0 || point.second <= 0; });
        std::erase_if(line.open, [](const auto& bar) { return bar[0] <= 0 || bar[2] <= 0; });
      }
      if (axes.sorted) std::sort(line.points.begin(), line.points.end());
    }
    std::erase_if(panel.lines,
                  [](const Line& line) { return line.points.empty() && line.open.empty(); });
  }
  std::erase_if(panels, [](const Panel& panel) { return panel.lines.empty(); });
  if (panels.empty()) return std::nullopt;

  // A name has one colour and dash in all panels.
  std::map<std::string, std::size_t> looks;
  for (const Panel& panel : panels)
    for (const Line& line : panel.lines) looks.emplace(line.name, looks.size());
  const auto names = [](const Panel& panel) {
    std::set<std::string> set;
    for (const Line& line : panel.lines) set.insert(line.name);
    return set;
  };

  std::vector<int> heights;
  std::vector<int> key_rows;  // 0: no key
  for (std::size_t p = 0; p < panels.size(); ++p) {
    const bool marked = !panels[p].above.empty();
    std::size_t longest = marked ? 35 : 0;
    for (const Line& line : panels[p].lines) longest = std::max(longest, line.name.size());
    const int columns = std::clamp(width / (60 + 8 * static_cast<int>(longest)), 1, 6);
    const int entries = static_cast<int>(panels[p].lines.size()) + (marked ? 1 : 0);
    const bool keyed = marked || p + 1 == panels.size() || names(panels[p]) != names(panels[p + 1]);
    key_rows.push_back(keyed ? (entries + columns - 1) / columns : 0);
    heights.push_back((panels.size() == 1 ? 440 : 300) + 22 * key_rows.back());
  }
  constexpr int heading = 40;
  Drawing drawing;
  drawing.height = heading;
  for (const int h : heights) drawing.height += h;

  std::ostringstream out;
  out.precision(8);
  const auto share = [&](int pixels) { return static_cast<double>(pixels) / drawing.height; };
  out << "set multiplot title " << quoted(title) << " noenhanced\n"
      << "set lmargin 12\nset rmargin 4\nset xlabel " << quoted(axes.x)
      << " offset 0,0.4\nset ylabel " << quoted(axes.y)
      << "\nset format x '%.0s%c'\nset format y '%g'\n";
  if (!axes.logarithmic) out << "set format x '%g'\n";
  int top = drawing.height - heading;
  for (std::size_t p = 0; p < panels.size(); ++p) {
    top -= heights[p];
    out << "set size 1," << share(heights[p]) << "\nset origin 0," << share(top) << '\n';
    if (key_rows[p] > 0)
      out << "set key outside below vertical Left reverse noenhanced samplen 2 maxrows "
          << key_rows[p] << '\n';
    add_panel(out, panels[p], std::to_string(p), axes, key_rows[p] > 0, looks);
  }
  out << "unset multiplot\n";
  drawing.program = out.str();
  return drawing;
}

// --------------------------------------------------------------------------- values against length

// index of index-margin, and of the bounds that were published for it.
std::string aspect(const Row& row) {
  if (row.quantity == "published-bound") return pairs(row.parameters).at("of");
  return row.quantity.substr(0, row.quantity.find('-'));
}

// Where a margin is proven to be above a published bound of the same table, length and head. Read
// as the largest gap over offsets the bound speaks of every offset; read as the least, of `end`
// only.
void mark_above(Panel& panel, const Rows& group, const Rows& all) {
  const auto key = [](const Row& row) {
    return aspect(row) + '\n' + row.table + '\n' + row.length;
  };
  std::map<std::string, std::vector<const Row*>> bounds;
  for (const Row& row : all)
    if (row.quantity == "published-bound" && pairs(row.parameters).at("form") == "published")
      bounds[key(row)].push_back(&row);
  std::map<std::string, std::map<theory::Integer, const Row*>> margins;
  for (const Row& row : group)
    if (row.quantity.ends_with("-margin"))
      margins[row.table + '\n' + row.parameters][theory::Integer(row.length)] = &row;
  const auto below = [&](const Row& margin) -> const Row* {
    const Parameters of_margin = pairs(margin.parameters);
    for (const Row* bound : bounds[key(margin)]) {
      const Parameters of_bound = pairs(bound->parameters);
      const bool same = aspect(margin) == "index"
                            ? of_bound.at("reading") == "max" || of_margin.at("offset") == "end"
                            : of_bound.at("alphabet") == of_margin.at("alphabet") &&
                                  of_margin.at("head") == "plain";
      if (same && enclosure_of(margin).lo > enclosure_of(*bound).hi) return bound;
    }
    return nullptr;
  };
  for (const auto& [question, by_length] : margins) {
    bool open = false;
    for (const auto& [n, margin] : by_length) {
      const Row* bound = below(*margin);
      if (bound != nullptr) {
        if (!open) panel.above.emplace_back();
        panel.above.back().push_back({number(margin->length), middle(*bound), middle(*margin)});
      }
      open = bound != nullptr;
    }
  }
}

// Rows of one table, quantity and set of parameters are a line. What speaks of one table stands in
// one panel, with its bounds; where there are several tables, each question has a panel with a line
// per table.
std::optional<Drawing> draw_against_length(const Rows& rows, const std::string& title,
                                           const std::string& style, const std::string& value) {
  std::map<std::string, std::set<std::string>> tables;
  for (const Row& row : rows) tables[aspect(row)].insert(row.table);
  const auto names = short_names(rows);
  std::vector<std::string> order;
  std::map<std::string, Rows> groups;
  for (const Row& row : rows) {
    const std::string key =
        tables[aspect(row)].size() == 1 ? aspect(row) : row.quantity + '\n' + row.parameters;
    if (groups[key].empty()) order.push_back(key);
    groups[key].push_back(row);
  }
  std::vector<Panel> panels;
  for (const std::string& key : order) {
    const Rows& group = groups[key];
    const bool one_table = tables[aspect(group.front())].size() == 1;
    std::set<std::string> quantities;
    std::map<std::string, std::set<std::string>> values;
    for (const Row& row : group) {
      quantities.insert(row.quantity);
      for (const auto& [name, v] : pairs(row.parameters)) values[name].insert(v);
    }
    const std::string parameters = listed(pairs(group.front().parameters));
    Panel panel;
    panel.title = one_table            ? names.at(group.front().table)
                  : parameters.empty() ? group.front().quantity
                                       : group.front().quantity + ": " + parameters;
    std::map<std::string, std::size_t> at;
    for (const Row& row : group) {
      std::string name;
      const auto add = [&](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
      if (!one_table) add(names.at(row.table));
      if (one_table && quantities.size() > 1) add(row.quantity);
      for (const auto& [parameter, v] : pairs(row.parameters))
        if (values[parameter].size() > 1) add(v);
      if (name.empty()) name = row.quantity;
      const auto [place, fresh] = at.emplace(name, panel.lines.size());
      if (fresh) panel.lines.push_back({name, {}, {}, {}});
      Line& line = panel.lines[place->second];
      if (wide(row))
        line.open.push_back({number(row.length), number(row.lo), number(row.hi)});
      else
        line.points.emplace_back(number(row.length), middle(row));
    }
    if (style == "linespoints") mark_above(panel, group, rows);
    panels.push_back(std::move(panel));
  }
  return draw_panels(std::move(panels), {"length n (tokens)", value, style, true, true}, title);
}

bool is_margin_or_bound(const Row& row) {
  return row.quantity.ends_with("-margin") || row.quantity.ends_with("-bound");
}

std::optional<Drawing> draw_lengths(const Rows& rows, const std::string& title) {
  return draw_against_length(rows, title, "linespoints", "value (where positive)");
}

std::optional<Drawing> draw_steps(const Rows& rows, const std::string& title) {
  return draw_against_length(rows, title, "steps", "value (where positive)");
}

// --------------------------------------------------------------------------------------- precision

bool is_rounding_error(const Row& row) { return row.quantity == "rounding-error"; }

std::optional<Drawing> draw_precision(const Rows& rows, const std::string& title) {
  return draw_against_length(rows, title, "linespoints", "largest |cos error|");
}

// ------------------------------------------------------------------------------------------- front

bool is_trade_off(const Row& row) {
  const Json detail = Json::parse(row.detail);
  return row.quantity == "trade-off" && detail.contains("index") && detail.contains("retrieval");
}

// What both margins of a head can be, from the best Index head to the best Retrieval head.
std::optional<Drawing> draw_front(const Rows& rows, const std::string& title) {
  std::set<std::string> tables;
  std::map<std::string, std::map<std::string, std::vector<const Row*>>>
      panels_of;  // question, line
  for (const Row& row : rows) tables.insert(row.table);
  const auto names = short_names(rows);
  std::vector<std::string> order;
  for (const Row& row : rows) {
    // Several tables: a panel per length. One table: a line per length.
    const std::string question = listed(pairs(row.parameters), "weight");
    const std::string length = "length " + row.length;
    const std::string panel =
        tables.size() > 1 ? length + (question.empty() ? "" : ", " + question) : question;
    if (!panels_of.contains(panel)) order.push_back(panel);
    panels_of[panel][tables.size() > 1 ? names.at(row.table) : length].push_back(&row);
  }
  std::vector<Panel> panels;
  for (const std::string& key : order) {
    Panel panel;
    panel.title = key;
    for (auto& [name, list] : panels_of[key]) {
      std::stable_sort(list.begin(), list.end(), [](const Row* a, const Row* b) {
        return number(pairs(a->parameters).at("weight")) <
               number(pairs(b->parameters).at("weight"));
      });
      Line line{name, {}, {}, {}};
      for (const Row* row : list) {
        const Json detail = Json::parse(row->detail);
        line.points.emplace_back(number(detail["index"].get<std::string>()),
                                 number(detail["retrieval"].get<std::string>()));
      }
      panel.lines.push_back(std::move(line));
    }
    panels.push_back(std::move(panel));
  }
  return draw_panels(std::move(panels),
                     {"Index margin", "Retrieval margin", "linespoints", false, false}, title);
}

// ---------------------------------------------------------------------------------------- horizons

bool is_horizon(const Row& row) { return row.quantity.ends_with("-horizon"); }

// The one coordinate in which tables differ and that is a number; nothing where there are several.
std::string varying(const Rows& rows) {
  std::map<std::string, std::set<std::string>> values;
  for (const Row& row : rows)
    for (const auto& [name, value] : pairs(row.coordinates)) values[name].insert(value);
  std::string found;
  for (auto& [name, set] : values) {
    for (const Row& row : rows)
      if (!pairs(row.coordinates).contains(name)) set.insert("none");
    if (set.size() < 2) continue;
    if (!found.empty() || name == "config" || name == "scheme" || set.contains("none")) return {};
    found = name;
  }
  return found;
}

// The answer for the longest input holds the others: they are the same, cut at their length.
// Against the number that the tables differ in; where there is no such number, a row per table.
std::optional<Drawing> draw_horizons(const Rows& rows, const std::string& title) {
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, const Row*>> longest;  // question, table
  for (const Row& row : rows) {
    const std::string question = row.quantity + ": " + listed(pairs(row.parameters));
    if (!longest.contains(question)) order.push_back(question);
    const Row*& kept = longest[question][row.table];
    if (kept == nullptr || theory::Integer(kept->length) < theory::Integer(row.length)) kept = &row;
  }
  const auto name_of = [&](const std::string& question) {
    return question + ", up to " + longest[question].begin()->second->length;
  };
  if (const std::string axis = varying(rows); !axis.empty()) {
    Panel panel;
    for (const std::string& question : order) {
      Line line{name_of(question), {}, {}, {}};
      for (const auto& [table, row] : longest[question])
        if (const double x = number(pairs(row->coordinates).at(axis)); wide(*row))
          line.open.push_back({x, number(row->lo), number(row->hi)});
        else
          line.points.emplace_back(x, middle(*row));
      panel.lines.push_back(std::move(line));
    }
    return draw_panels({panel}, {axis, "horizon (tokens)"}, title);
  }
  const auto names = short_names(rows);
  std::vector<std::string> tables;
  for (const Row& row : rows)
    if (std::find(tables.begin(), tables.end(), row.table) == tables.end())
      tables.push_back(row.table);
  if (tables.size() < 2) return std::nullopt;
  std::ostringstream data;
  data.precision(12);
  double least = std::numeric_limits<double>::infinity();
  double most = 1;
  const auto questions = static_cast<double>(order.size());
  for (std::size_t q = 0; q < order.size(); ++q) {
    data << "$question" << q << " << EOD\n";
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const auto found = longest[order[q]].find(tables[t]);
      if (found == longest[order[q]].end()) continue;
      // No length at all stands at the left end, as 0. Questions stand one below the other.
      const Row& row = *found->second;
      const double height =
          static_cast<double>(t) + (static_cast<double>(q) - (questions - 1) / 2) / (questions + 1);
      const double low = std::max(wide(row) ? number(row.lo) : middle(row), 1.0);
      const double high = std::max(wide(row) ? number(row.hi) : middle(row), 1.0);
      least = std::min(least, low);
      most = std::max(most, high);
      data << low << ' ' << height << ' ' << high << " \""
           << (wide(row) ? row.lo + " to " + row.hi : text_of(middle(row))) << "\"\n";
    }
    data << "EOD\n";
  }
  std::ostringstream out;
  out << data.str() << "set title " << quoted(title) << " noenhanced\nset ytics (";
  for (std::size_t t = 0; t < tables.size(); ++t)
    out << (t == 0 ? "" : ", ") << quoted(names.at(tables[t])) << ' ' << t;
  out << ") noenhanced\nset yrange [" << static_cast<double>(tables.size()) - 0.5
      << ":-0.5]\nset logscale x\nset xrange [" << least / 1.3 << ':'
      << most * std::pow(most / least, 0.2) * 1.3
      << "]\nset format x '%.0s%c'\nset xlabel 'horizon (tokens)' offset 0,0.4\n"
         "set key outside below vertical Left reverse noenhanced maxcols 1\n";
  std::string separator = "plot ";
  for (std::size_t q = 0; q < order.size(); ++q) {
    const std::string name = "$question" + std::to_string(q);
    const std::string look = std::to_string(q % 8 + 1);
    out << separator << name << " using 1:2 with points pt 7 ps 0.7 lt " << look << " title "
        << quoted(name_of(order[q])) << ", \\\n     " << name
        << " using 1:2:($3-$1):(0) with vectors nohead lw 3 lt " << look << " notitle, \\\n     "
        << name << " using 3:2:4 with labels left offset char 0.8,0 font ',11' tc lt " << look
        << " notitle";
    separator = ", \\\n     ";
  }
  out << '\n';
  return Drawing{120 +
                     (20 + 16 * static_cast<int>(order.size())) * static_cast<int>(tables.size()) +
                     22 * static_cast<int>(order.size()),
                 out.str()};
}

// -------------------------------------------------------------------------------------------- heat

bool is_one_plane(const Row& row) {
  return Json::parse(row.coordinates).contains("angle") && row.quantity != "aliasing-free";
}

// A heat map shows one question: the first that has several angles and several lengths.
std::optional<Drawing> draw_heat(const Rows& rows, const std::string& title) {
  std::vector<std::string> order;
  std::map<std::string, std::map<double, std::map<double, double>>>
      maps;  // question, angle, length
  for (const Row& row : rows) {
    const std::string parameters = listed(pairs(row.parameters));
    const std::string question = row.quantity + (parameters.empty() ? "" : ": " + parameters);
    if (!maps.contains(question)) order.push_back(question);
    maps[question][number(pairs(row.coordinates).at("angle"))][number(row.length)] =
        std::max(middle(row), 1e-15);
  }
  const auto enough = [&](const std::string& question) {
    const auto& map = maps[question];
    return map.size() > 1 &&
           std::any_of(map.begin(), map.end(), [](const auto& m) { return m.second.size() > 1; });
  };
  const auto chosen = std::find_if(order.begin(), order.end(), enough);
  if (chosen == order.end()) return std::nullopt;
  std::ostringstream out;
  out.precision(8);
  out << "set title " << quoted(title + " (" + *chosen + ")") << " noenhanced\n"
      << "set xlabel 'length n (tokens)'\nset ylabel 'angle (radians)'\nset palette defined (0 "
         "'#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
         "set logscale cb\nset format cb '%g'\nset cblabel 'value'\nset logscale x\nset format x "
         "'%.0s%c'\n"
         "set autoscale xfix\nset autoscale yfix\nunset key\n$map << EOD\n";
  for (const auto& [angle, points] : maps[*chosen]) {
    for (const auto& [n, value] : points) out << n << ' ' << angle << ' ' << value << '\n';
    out << '\n';
  }
  out << "EOD\nset pm3d map corners2color c1\nsplot $map using 1:2:3 notitle\n";
  return Drawing{720, out.str()};
}

// ------------------------------------------------------------------------------------------- bases

bool is_sum_of_base(const Row& row) {
  return row.quantity == "base-sum" && Json::parse(row.coordinates).contains("base");
}

// A row per length. A mark is a base that was asked, and proven; a bar joins marks that are
// neighbours in the grid and both serve, and proves nothing between them.
std::optional<Drawing> draw_bases(const Rows& rows, const std::string& title) {
  enum class Serves { yes, no, open };
  // Tables that differ in more than the base are another picture: the first kind with several
  // bases.
  std::map<std::string, std::set<std::string>> kinds;
  const auto kind_of_table = [](const Row& row) { return listed(pairs(row.coordinates), "base"); };
  for (const Row& row : rows) kinds[kind_of_table(row)].insert(pairs(row.coordinates).at("base"));
  const auto chosen = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return kinds[kind_of_table(row)].size() > 1;
  });
  if (chosen == rows.end()) return std::nullopt;
  std::map<theory::Integer, std::map<double, Serves>> lengths;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const Row& row : rows) {
    if (kind_of_table(row) != kind_of_table(*chosen)) continue;
    const Json detail = Json::parse(row.detail);
    const double base = number(pairs(row.coordinates).at("base"));
    lengths[theory::Integer(row.length)].try_emplace(
        base, !detail.contains("admissible")     ? Serves::open
              : detail["admissible"].get<bool>() ? Serves::yes
                                                 : Serves::no);
    least = std::min(least, base);
    most = std::max(most, base);
  }
  std::array<std::ostringstream, 3> marks;
  std::ostringstream bars;
  std::ostringstream ticks;
  std::size_t place = 0;
  for (const auto& [n, bases] : lengths) {
    ticks << (place == 0 ? "" : ", ") << "'" << n << "' " << place;
    std::optional<std::pair<double, double>> bar;
    const auto end_bar = [&] {
      if (bar && bar->second > bar->first)
        bars << bar->first << ' ' << place << ' ' << bar->first << ' ' << bar->second << ' '
             << static_cast<double>(place) - 0.28 << ' ' << static_cast<double>(place) + 0.28
             << '\n';
      bar.reset();
    };
    for (const auto& [base, serves] : bases) {
      marks[static_cast<std::size_t>(serves)] << text_of(base) << ' ' << place << '\n';
      if (serves != Serves::yes)
        end_bar();
      else
        bar = {bar ? bar->first : base, base};
    }
    end_bar();
    ++place;
  }
  std::ostringstream out;
  out << "set title " << quoted(title)
      << " noenhanced\nset logscale x\nset format x '%.0s%c'\nset xrange [" << least / 1.2 << ':'
      << most * 1.2
      << "]\nset xlabel 'base (proven at the marks; between two marks nothing is)' offset 0,0.4\n"
         "set ylabel 'length n (tokens)'\nset key outside below horizontal Left reverse "
         "noenhanced\nset ytics ("
      << ticks.str() << ")\nset yrange [-0.7:" << static_cast<double>(place) - 0.3
      << "]\nset style fill solid 0.45 noborder\n";
  const std::array<std::string, 3> looks{"pt 7 ps 0.5 lc rgb '#00583f' title 'serves'",
                                         "pt 2 ps 0.5 lc rgb '#d55e00' title 'a sum is negative'",
                                         "pt 6 ps 0.6 lc rgb '#7f7f7f' title 'undecided'"};
  std::string plots;
  const auto add = [&](const std::string& name, const std::string& data, const std::string& how) {
    if (data.empty()) return;
    out << name << " << EOD\n" << data << "EOD\n";
    plots += (plots.empty() ? "plot " : ", \\\n     ") + name + " using " + how;
  };
  add("$bars", bars.str(),
      "1:2:3:4:5:6 with boxxyerror lc rgb '#009e73' title 'neighbours that both serve'");
  add("$yes", marks[0].str(), "1:2 with points " + looks[0]);
  add("$no", marks[1].str(), "1:2 with points " + looks[1]);
  add("$open", marks[2].str(), "1:2 with points " + looks[2]);
  out << plots << '\n';
  return Drawing{150 + 34 * static_cast<int>(place), out.str()};
}

// --------------------------------------------------------------------------------------- the kinds

struct Picture {
  PictureKind kind;
  bool (*shows)(const Row&);  // rows that have a value
  std::optional<Drawing> (*draw)(const Rows&,
                                 const std::string& title);  // nothing: not enough rows
};

constexpr std::array<Picture, 7> pictures{{
    {{"lengths",
      "values against length, a line per table and question; marked where a margin is above a "
      "published bound"},
     is_margin_or_bound,
     draw_lengths},
    {{"steps", "the same as steps: the staircase of records"}, is_margin_or_bound, draw_steps},
    {{"precision", "rounding errors against length, a line per pipeline and table"},
     is_rounding_error,
     draw_precision},
    {{"front",
      "what Retrieval margin goes with what Index margin (trade-off), a line per table and length"},
     is_trade_off,
     draw_front},
    {{"horizons", "horizons against the number that the tables differ in, or a row per table"},
     is_horizon,
     draw_horizons},
    {{"bases", "where each base serves (base-sum): a row of bars per length, proven at the marks"},
     is_sum_of_base,
     draw_bases},
    {{"heat", "one-plane tables: angle against length, the value as colour"},
     is_one_plane,
     draw_heat},
}};

const Picture& picture_of(std::string_view name) {
  std::string names;
  for (const Picture& picture : pictures) {
    if (picture.kind.name == name) return picture;
    names += (names.empty() ? "" : ", ") + std::string(picture.kind.name);
  }
  throw Error(ErrorCode::bad_value,
              "no picture is called '" + std::string(name) + "': there are " + names);
}

std::optional<Drawing> drawing_of(const Store& store, std::string_view kind,
                                  const PictureOptions& options) {
  const Picture& picture = picture_of(kind);
  Rows rows;
  store.rows(options.sweep, [&](const Row& row) {
    if ((options.quantity.empty() || row.quantity == options.quantity) && !row.lo.empty() &&
        picture.shows(row))
      rows.push_back(row);
  });
  if (rows.empty()) return std::nullopt;
  std::string title = options.title;
  if (title.empty())
    for (const SweepRecord& s : store.sweeps())
      if (s.name == rows.front().sweep) title = s.title;
  return picture.draw(rows, title);
}

std::string terminal(ImageFormat format, int height) {
  const std::string size = std::to_string(width) + "," + std::to_string(height);
  switch (format) {
    case ImageFormat::svg:
      return "set terminal svg noenhanced size " + size +
             " font 'sans,14' background '#ffffff' dynamic\n";
    case ImageFormat::png:
      return "set terminal pngcairo noenhanced size " + size + " font 'sans,11'\n";
    case ImageFormat::pdf:
      return "set terminal pdfcairo noenhanced size 8in," + text_of(height / 120.0) +
             "in font 'sans,10'\n";
  }
  return {};
}

}  // namespace

std::vector<PictureKind> picture_kinds() {
  std::vector<PictureKind> kinds;
  for (const Picture& picture : pictures) kinds.push_back(picture.kind);
  return kinds;
}

bool can_draw(const Store& store, std::string_view kind, const PictureOptions& options) {
  return drawing_of(store, kind, options).has_value();
}

namespace {

std::string_view means_of(std::string_view kind) {
  for (const PictureKind& k : picture_kinds())
    if (k.name == kind) return k.means;
  return {};
}

}  // namespace

std::string picture_program(const Store& store, std::string_view kind,
                            const PictureOptions& options) {
  const auto drawing = drawing_of(store, kind, options);
  if (!drawing)
    throw Error(ErrorCode::bad_value,
                store.path() + ": no rows that '" + std::string(kind) + "' could draw" +
                    (options.sweep.empty() ? "" : " in " + options.sweep) +
                    (options.quantity.empty() ? "" : " of " + options.quantity) + "; it shows " +
                    std::string(means_of(kind)));
  // Colours that colour-blind readers tell apart (Okabe and Ito).
  return terminal(options.format, drawing->height) +
         "set encoding utf8\nset grid lc rgb '#d0d0d0'\nset border lw 0.8\n"
         "set linetype 1 lc rgb '#0072b2'\nset linetype 2 lc rgb '#d55e00'\nset linetype 3 lc rgb "
         "'#009e73'\n"
         "set linetype 4 lc rgb '#cc79a7'\nset linetype 5 lc rgb '#56b4e9'\nset linetype 6 lc rgb "
         "'#e69f00'\n"
         "set linetype 7 lc rgb '#000000'\nset linetype 8 lc rgb '#7f7f7f'\nset linetype cycle "
         "8\n" +
         drawing->program;
}

namespace {

// A third of what gnuplot writes is groups with nothing in them.
void drop_empty_groups(std::string& svg) {
  std::string kept;
  std::istringstream in(svg);
  std::string open;
  for (std::string line; std::getline(in, line);) {
    if (line == "</g>" && !open.empty()) {
      open.clear();
      continue;
    }
    kept += open;
    open.clear();
    (line.starts_with("<g ") && line.ends_with('>') ? open : kept) += line + "\n";
  }
  svg = kept + open;
}

}  // namespace

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
  std::string bytes = read(image);
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
  if (options.format == ImageFormat::svg) drop_empty_groups(bytes);
  return bytes;
}

}  // namespace ropewalk::sweeps
