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
thead th, thead th:first-child { background: var(--head); }
thead button { all: unset; cursor: pointer; } thead button:focus-visible { outline: 2px solid var(--link); }
td.open { color: var(--warn); } figure { margin: 1rem 0; }
figure img { width: 100%; height: auto; background: #ffffff; border-radius: 6px; border: 1px solid var(--line); }
pre { overflow-x: auto; padding: .8rem; background: var(--head); border-radius: 6px; font-size: .85rem; }
)";

// Sorts a table by a column: numbers by value, the rest as text.
constexpr const char* script = R"(
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
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

// Six sure digits, or a bracket where fewer are sure.
std::string shown(const Row& row) {
  const Enclosure x = enclosure_of(row);
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
  if (detail.contains("lag")) title += ", lag " + detail["lag"].get<std::string>();
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

void add_tables(std::ostringstream& out, const std::vector<Row>& rows,
                const ReportOptions& options) {
  // A table per quantity and parameters: a line per rotary table, a column per length.
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Row*>> groups;
  for (const Row& row : rows) {
    const std::string key = row.quantity + '\n' + row.parameters;
    if (groups[key].empty()) order.push_back(key);
    groups[key].push_back(&row);
  }
  for (const std::string& key : order) {
    const auto& group = groups[key];
    const Row& first = *group.front();
    out << "<h3>" << escaped(first.quantity);
    std::string parameters;
    for (const auto& [name, value] : pairs(first.parameters))
      parameters += (parameters.empty() ? "" : ", ") + name + " " + value;
    if (!parameters.empty()) out << " <span class=\"faint\">" << escaped(parameters) << "</span>";
    out << "</h3>\n";
    for (const Kind& kind : kinds())
      if (kind.name == first.quantity)
        out << "<p class=\"faint\">" << escaped(std::string(kind.means)) << "</p>\n";
    std::vector<std::string> names;
    std::set<Lag> lengths;
    std::map<std::string, std::map<Lag, const Row*>> cells;
    for (const Row* row : group) {
      if (cells[row->table].empty()) names.push_back(row->table);
      const Lag n(row->length);
      lengths.insert(n);
      cells[row->table][n] = row;
    }
    out << "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>table</th>";
    for (const Lag& n : lengths) out << "<th>" << n << "</th>";
    out << "</tr></thead><tbody>\n";
    for (const std::string& name : names) {
      out << "<tr><td title=\"" << escaped(name) << "\">" << escaped(name) << "</td>";
      for (const Lag& n : lengths) {
        const auto found = cells[name].find(n);
        out << (found == cells[name].end() ? "<td></td>" : cell(*found->second, options));
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
  const std::string title = sweeps.size() == 1 ? sweeps.front().title : "ropewalk report";
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
         "links to "
         "the certificate that <code>ropewalk-check</code> accepts. Lengths are tokens; an input "
         "of n "
         "tokens has the lags 0 to n − 1.</p>\n";
  for (const SweepRecord& s : sweeps) {
    std::vector<Row> rows;
    store.rows(s.name, [&](const Row& row) { rows.push_back(row); });
    out << "<h2>" << escaped(s.title) << "</h2>\n";
    if (options.pictures)
      for (const PictureKind& kind : picture_kinds()) {
        PictureOptions picture;
        picture.sweep = s.name;
        picture.title = s.title;
        if (kind.name == "steps" || !can_draw(store, kind.name, picture)) continue;
        out << "<figure><img alt=\"" << escaped(s.title + ": " + std::string(kind.means))
            << "\" src=\"data:image/svg+xml;base64," << base64(draw(store, kind.name, picture))
            << "\"><figcaption class=\"faint\">" << escaped(std::string(kind.means))
            << "</figcaption></figure>\n";
      }
    add_tables(out, rows, options);
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
