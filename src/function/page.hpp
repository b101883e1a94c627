// What the pages of compare() and of Function::report() share: no script, no font, nothing from elsewhere.
#pragma once
#include <string>

#include <damo/report.hpp>

namespace damo {

inline constexpr const char* kPageHead = R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --page: #ffffff; --text: #1f2328; --soft: #57606a; --line: #d0d7de; --band: #f6f8fa; --fused: #16a34a; --unfused: #8c959f; --slower: #cf222e; }
@media (prefers-color-scheme: dark) {
:root { --page: #0d1117; --text: #e6edf3; --soft: #9da7b3; --line: #30363d; --band: #161b22; --fused: #3fb950; --unfused: #7d8590; --slower: #f85149; }
}
body { margin: 0 auto; max-width: 1200px; padding: 24px; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; margin: 0; font-weight: 600; }
h2 { font-size: 16px; margin: 32px 0 8px; }
.verdict { font-size: 40px; line-height: 1.2; font-weight: 700; color: var(--text); margin: 8px 0 24px; }
.verdict.faster { color: var(--fused); }
.verdict.slower { color: var(--slower); }
.soft { color: var(--soft); }
.scroll { overflow: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 16px 4px 8px; border-bottom: 1px solid var(--line); text-align: right; font-weight: 400; }
th:first-child, td:first-child { text-align: left; }
thead th { font-weight: 600; background: var(--band); }
.graphs { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.graphs figure { margin: 0; border: 1px solid var(--line); border-radius: 8px; max-width: 100%; overflow: auto; max-height: 1000px; }
.graphs figcaption { padding: 8px 14px; background: var(--band); border-bottom: 1px solid var(--line); font-weight: 600; position: sticky; left: 0; }
.chart text { font: 13px system-ui, sans-serif; fill: var(--text); }
.chart .fused { fill: var(--fused); }
.chart .unfused { fill: var(--unfused); }
.roofline text { font: 13px system-ui, sans-serif; fill: var(--text); }
.roofline .axis, .roofline .roof { stroke: var(--soft); fill: none; }
.roofline .roof { stroke: var(--unfused); stroke-width: 2; }
.roofline circle { fill: var(--fused); fill-opacity: 0.8; }
.kernels td, .kernels th { text-align: left; vertical-align: top; }
.kernels td.number { text-align: right; }
.kernels code { font: 13px ui-monospace, monospace; }
</style>
)";

/// A plot of instructions a second over instructions a byte, both logarithmic, with a point for each timed kernel below the line of the
/// copy's speed; nothing if none was timed.
std::string roofline(const FunctionReport& report);
/// "12 T instructions a second".
std::string instruction_rate(double per_second);
/// Each kernel with its lines, bytes, floor, share of the copy's speed, registers, spills, occupancy and reasons.
std::string kernel_table(const FunctionReport& report);

}  // namespace damo
