#include "sweeps/report.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>

#include "sweeps/plot.hpp"

namespace ropewalk::sweeps {

namespace {

constexpr const char* style = R"(
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #ffffff; --faint: #6a6a72; --line: #d9d9de;
  --head: #f3f3f6; --link: #00558c; --warn: #9a3b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --paper: #17171b; --faint: #9d9da6;
  --line: #38383f; --head: #222228; --link: #7cc0f0; --warn: #ffb27a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.8rem 0 .4rem; } a { color: var(--link); } .faint { color: var(--faint); font-size: .9rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper);
  max-width: 45vw; overflow: hidden; text-overflow: ellipsis; }
@media (max-width: 40rem) { td:first-child { white-space: normal; min-width: 8rem; } }
thead th, thead th:first-child { background: var(--head); }
thead button { all: unset; cursor: pointer; } thead button:focus-visible { outline: 2px solid var(--link); }
table.summary th { white-space: normal; vertical-align: bottom; min-width: 8rem; }
table.summary .faint { font-weight: normal; }
td.open { color: var(--warn); } figure { margin: 1rem 0; }
figure img { display: block; width: 100%; min-width: 44rem; height: auto; }
@media (prefers-color-scheme: dark) { figure img { filter: invert(0.9) hue-rotate(180deg); } }
pre { overflow-x: auto; padding: .8rem; background: var(--head); border-radius: 6px; font-size: .85rem; }
)";

// Sorts a table by a column: numbers by value, the rest as text.
constexpr const char* script = R"(
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    let up = false;
    button.addEventListener("click", () => {
      up = !up;
      heads.forEach(h => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows];
      rows.sort((x, y) => {
        const a = key(x), b = key(y), d = Number(a) - Number(b);
        const order = a === "" || b === "" || Number.isNaN(d) ? a.localeCompare(b) : d;
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string base64(const std::string& bytes) {
  constexpr const char* letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8U | (k < given ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= given ? letters[group >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

// Whole numbers in full, else six sure digits, or a bracket where fewer are sure.
std::string shown(const Row& row) {
  const Enclosure x = enclosure_of(row);
  const auto whole = [](const theory::Rational& end) { return denominator(end) == 1; };
  if (!x.exact() && whole(x.lo) && whole(x.hi)) return "[" + x.lo.str() + ", " + x.hi.str() + "]";
  if (x.exact() && denominator(x.lo) == 1) return numerator(x.lo).str();
  if (x.exact()) return decimal(x.lo, 6, theory::Round::nearest);
  const std::string low = decimal(x.lo, 6, theory::Round::nearest);
  const std::string high = decimal(x.hi, 6, theory::Round::nearest);
  return low == high ? low : theory::text(x, 6);
}

std::string cell(const Row& row, const ReportOptions& options) {
  if (row.status == "missing") return "<td class=\"faint\">not yet</td>";
  const Json detail = Json::parse(row.detail);
  const std::string note = detail.contains("note") ? detail["note"].get<std::string>() : "";
  if (row.lo.empty())
    return "<td class=\"" + std::string(row.status == "undecided" ? "open" : "faint") +
           "\" title=\"" + escaped(note) + "\" data-value=\"\">" +
           (row.status == "undecided" ? "undecided" : "–") + "</td>";
  std::string title = "[" + row.lo + ", " + row.hi + "], " + row.status + " (" + row.method + ")";
  for (const char* name : {"lag", "index", "retrieval", "rotation", "margin", "note"})
    if (detail.contains(name))
      title += std::string(", ") + name + " " + detail[name].get<std::string>();
  std::string text = escaped(shown(row));
  if (!row.certificate.empty())
    text = "<a href=\"" +
           escaped((options.certificates.empty() ? "" : options.certificates + "/") +
                   row.certificate) +
           "\">" + text + "</a>";
  if (row.status == "undecided") text += " ?";
  return "<td" + std::string(row.status == "undecided" ? " class=\"open\"" : "") +
         " data-value=\"" + escaped(row.lo) + "\" title=\"" + escaped(title) + "\">" + text +
         "</td>";
}

// What is asked with one set of parameters, of every table and at every length.
struct Question {
  std::string quantity;
  std::string parameters;
  std::vector<std::string> tables;  // in their order
  std::set<Lag> lengths;
  std::map<std::string, std::map<Lag, const Row*>> rows;  // by table and length
};

std::vector<Question> questions_of(const std::vector<Row>& rows) {
  std::vector<Question> questions;
  std::map<std::string, std::size_t> at;
  for (const Row& row : rows) {
    const auto [place, fresh] = at.emplace(row.quantity + '\n' + row.parameters, questions.size());
    if (fresh) {
      std::string parameters;
      for (const auto& [name, value] : pairs(row.parameters))
        parameters += (parameters.empty() ? "" : ", ") + name + " " + value;
      questions.push_back({row.quantity, parameters, {}, {}, {}});
    }
    Question& question = questions[place->second];
    auto& line = question.rows[row.table];
    if (line.empty()) question.tables.push_back(row.table);
    const Lag n(row.length);
    question.lengths.insert(n);
    line[n] = &row;
  }
  return questions;
}

std::string heading(const Question& question) {
  return escaped(question.quantity) +
         (question.parameters.empty()
              ? ""
              : " <span class=\"faint\">" + escaped(question.parameters) + "</span>");
}

std::string row_head(const std::string& table) {
  return "<tr><td title=\"" + escaped(table) + "\">" + escaped(table) + "</td>";
}

// A table's answer at the longest length; where a margin is not proven positive there, or a sum not
// proven to serve, the longest length at which it is.
std::string glance(const Question& question, const std::string& table,
                   const ReportOptions& options) {
  const auto found = question.rows.find(table);
  if (found == question.rows.end()) return "<td></td>";
  const bool margin = question.quantity.ends_with("-margin");
  const bool sum = question.quantity == "base-sum";
  const auto holds = [&](const Row& row) {
    if (row.lo.empty()) return false;
    const Enclosure x = enclosure_of(row);
    return margin ? x.lo > 0 : x.lo >= 0;
  };
  const Row& last = *found->second.rbegin()->second;
  if ((!margin && !sum) || holds(last)) return cell(last, options);
  std::string where = "none";
  for (const auto& [n, row] : found->second)
    if (holds(*row)) where = n.str();
  if (last.lo.empty() && where == "none") return cell(last, options);
  return "<td data-value=\"" + escaped(last.lo) + "\">" + (sum ? "serves " : "positive ") +
         (where == "none" ? "" : "last ") + "at " + where + "</td>";
}

void add_summary(std::ostringstream& out, const std::vector<Row>& rows,
                 const ReportOptions& options) {
  const std::vector<Question> questions = questions_of(rows);
  std::vector<std::string> tables;
  for (const Row& row : rows)
    if (std::find(tables.begin(), tables.end(), row.table) == tables.end())
      tables.push_back(row.table);
  out << "<h3>At the longest length</h3>\n<p class=\"faint\">Of each question. Where a margin is "
         "not proven positive there, or the sum "
         "of a base not proven to serve, the longest length asked at which it is.</p>\n"
         "<div class=\"scroll\" tabindex=\"0\"><table class=\"summary\"><thead><tr><th>table</th>";
  for (const Question& question : questions)
    out << "<th>" << heading(question)
        << " <span class=\"faint\">n = " << *question.lengths.rbegin() << "</span></th>";
  out << "</tr></thead><tbody>\n";
  for (const std::string& table : tables) {
    out << row_head(table);
    for (const Question& question : questions) out << glance(question, table, options);
    out << "</tr>\n";
  }
  out << "</tbody></table></div>\n";
}

// A table per question: a line per rotary table, a column per length.
void add_tables(std::ostringstream& out, const std::vector<Row>& rows,
                const ReportOptions& options) {
  for (const Question& question : questions_of(rows)) {
    out << "<h3>" << heading(question) << "</h3>\n";
    for (const Kind& kind : kinds())
      if (kind.name == question.quantity)
        out << "<p class=\"faint\">" << escaped(std::string(kind.means)) << "</p>\n";
    out << "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>table</th>";
    for (const Lag& n : question.lengths) out << "<th>" << n << "</th>";
    out << "</tr></thead><tbody>\n";
    for (const std::string& table : question.tables) {
      out << row_head(table);
      const auto& line = question.rows.at(table);
      for (const Lag& n : question.lengths) {
        const auto found = line.find(n);
        out << (found == line.end() ? "<td></td>" : cell(*found->second, options));
      }
      out << "</tr>\n";
    }
    out << "</tbody></table></div>\n";
  }
}

}  // namespace

std::string report(const Store& store, const ReportOptions& options) {
  std::ostringstream out;
  const auto sweeps = store.sweeps();
  std::string title = sweeps.empty() ? "An empty store" : sweeps.front().title;
  if (sweeps.size() > 1) title += " and " + std::to_string(sweeps.size() - 1) + " more";
  std::map<std::string, std::size_t> counts;
  store.rows("", [&](const Row& row) { ++counts[row.status]; });
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" "
         "href=\"data:,\">\n<title>"
      << escaped(title) << "</title>\n<style>" << style << "</style>\n</head>\n<body>\n<h1>"
      << escaped(title) << "</h1>\n<p>";
  bool some = false;
  for (const auto& [status, count] : counts) {
    out << (some ? ", " : "") << count << " " << (status == "none" ? "without an answer" : status);
    some = true;
  }
  out << ".</p>\n<p class=\"faint\">A number stands for an enclosure, shown when pointed at, and "
         "links to the certificate that "
         "<code>ropewalk-check</code> accepts, where it has one. Lengths are tokens; an input of n "
         "tokens has the lags 0 to n − 1.</p>\n";
  if (sweeps.size() > 1) {
    out << "<ul>\n";
    for (std::size_t i = 0; i < sweeps.size(); ++i)
      out << "<li><a href=\"#sweep-" << i + 1 << "\">" << escaped(sweeps[i].title) << "</a></li>\n";
    out << "</ul>\n";
  }
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const SweepRecord& s = sweeps[i];
    std::vector<Row> rows;
    store.rows(s.name, [&](const Row& row) { rows.push_back(row); });
    out << "<section id=\"sweep-" << i + 1 << "\">\n";
    if (sweeps.size() > 1) out << "<h2>" << escaped(s.title) << "</h2>\n";
    add_summary(out, rows, options);
    if (options.pictures)
      for (const PictureKind& kind : picture_kinds()) {
        PictureOptions picture;
        picture.sweep = s.name;
        picture.title = s.title;
        // A map is a polygon per cell: ten times as many bytes as its pixels.
        const bool pixels = kind.name == "heat";
        if (pixels) picture.format = ImageFormat::png;
        if (kind.name == "steps" || !can_draw(store, kind.name, picture)) continue;
        out << "<figure><div class=\"scroll\" tabindex=\"0\"><img alt=\""
            << escaped(s.title + ": " + std::string(kind.means)) << "\" src=\"data:image/"
            << (pixels ? "png" : "svg+xml") << ";base64," << base64(draw(store, kind.name, picture))
            << "\"></div><figcaption class=\"faint\">" << escaped(std::string(kind.means))
            << "</figcaption></figure>\n";
      }
    add_tables(out, rows, options);
    out << "</section>\n";
  }
  out << "<h2>How this was made</h2>\n";
  for (const SweepRecord& s : sweeps)
    out << "<pre>" << escaped(s.command) << "</pre>\n<details><summary>" << escaped(s.name)
        << "</summary><pre>" << escaped(s.spec) << "</pre></details>\n";
  out << "<pre>ropewalk report " << escaped(std::filesystem::path(store.path()).filename().string())
      << " --out report.html</pre>\n<p class=\"faint\">ropewalk " << escaped(options.version)
      << "</p>\n<script>" << script << "</script>\n</body>\n</html>\n";
  return out.str();
}

}  // namespace ropewalk::sweeps
