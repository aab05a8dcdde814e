"""The style sheet of the page: one column on a phone, side by side where there is room, light and dark."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --paper: #ffffff; --card: #f6f8fa;
  --line: #d1d9e0; --link: #0a58ca; --mark: #fff3b0; --good: #1a7f37; --precision: #1f5fd0; --recall: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #9aa4af; --paper: #0d1117; --card: #161b22; --line: #30363d; --link: #79b8ff;
    --mark: #5c4a00; --good: #56d364; --precision: #7aa8ff; --recall: #f0a95b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p { margin: .5rem 0; max-width: 70ch; }
a { color: var(--link); }
nav a { margin-right: 1rem; }
.dim, small { color: var(--dim); }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
td { min-width: 4rem; }
td:last-child { min-width: 14rem; }
td bdi { display: inline-block; max-width: 36rem; }
.words { display: inline-block; min-width: 11rem; }
details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem;
  margin: .5rem 0; }
summary { cursor: pointer; }
.pair { display: grid; grid-template-columns: 1fr; gap: .75rem; margin: .5rem 0; }
.pair > section { background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .75rem;
  min-width: 0; }
.pair h4 { margin: 0; font-size: .95rem; }
.pair pre { margin: .5rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: .85rem/1.45 ui-monospace, monospace; max-height: 20rem; overflow-y: auto; }
mark { background: var(--mark); color: inherit; border-radius: .15rem; }
.stays { color: var(--good); font-weight: 600; }
.plots { display: grid; grid-template-columns: 1fr; gap: 1rem; }
figure { margin: 0; }
figcaption { font-size: .85rem; color: var(--dim); text-align: center; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--dim); font: 13px system-ui, sans-serif; }
.grid { stroke: var(--line); stroke-width: 1; }
.curve { fill: none; stroke-width: 2; }
.curve.precision { stroke: var(--precision); }
.curve.recall { stroke: var(--recall); stroke-dasharray: 5 4; }
.band { stroke: none; opacity: .15; }
.band.precision, circle.precision { fill: var(--precision); }
.band.recall, circle.recall { fill: var(--recall); }
.key::before { content: ""; display: inline-block; width: 1.5em; margin-right: .3em; vertical-align: .25em;
  border-top: 3px solid; }
.key.precision::before { border-color: var(--precision); }
.key.recall::before { border-color: var(--recall); border-top-style: dashed; }
@media (min-width: 45rem) { .pair, .plots { grid-template-columns: 1fr 1fr; } body { padding: 1.5rem 2rem; } }
@media (min-width: 70rem) { .plots { grid-template-columns: repeat(4, 1fr); } }
@media print { details { break-inside: avoid; } }
"""
