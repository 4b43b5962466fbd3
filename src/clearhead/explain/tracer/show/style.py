"""How the page looks. Tints are light versions of the Okabe-Ito palette, told apart by all eyes."""

TINTS = {
    "batch": "#dcdcdc",
    "src_len": "#bfe3f7",
    "seq_len": "#bfe3f7",
    "tgt_len": "#ffd9a0",
    "max_seq_len": "#c5d5ee",
    "d_model": "#b5e6d3",
    "h": "#f3cfe2",
    "d_k": "#f6efa0",
    "d_ff": "#f7c9b2",
    "vocab": "#d9cff0",
}
OTHER = "#eeeeee"

STYLE = """
.ch-trace{font:14px/1.45 system-ui,sans-serif;color:#1a1a1a;background:#fff;padding:8px 12px;
  border-radius:6px;max-width:1500px;overflow-x:auto}
.ch-trace h3{margin:2px 0 4px;font-size:16px}
.ch-trace .legend{margin:0 0 8px;color:#444;font-size:13px}
.ch-trace .grid{min-width:980px}
.ch-trace .row{display:grid;grid-template-columns:minmax(260px,29%) 1fr 62px 62px 62px 180px;
  gap:0 10px;padding:2px 4px;align-items:baseline;border-bottom:1px solid #eee}
.ch-trace .head{font-weight:600;color:#444;border-bottom:1px solid #999}
.ch-trace summary{cursor:pointer;list-style:none}
.ch-trace summary::-webkit-details-marker{display:none}
.ch-trace summary:hover{background:#f4f6f8}
.ch-trace summary:focus-visible{outline:2px solid #0072b2;outline-offset:-2px}
.ch-trace .what::before{content:"";display:inline-block;width:14px}
.ch-trace summary>.what::before{content:"▸";color:#666}
.ch-trace details[open]>summary>.what::before{content:"▾"}
.ch-trace .block>summary .what{font-weight:600}
.ch-trace .num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.ch-trace .where{font-size:12px;color:#555;white-space:nowrap;overflow:hidden;
  text-overflow:ellipsis}
.ch-trace .where a{color:#005a8f}
.ch-trace .ax{display:inline-block;border-radius:4px;padding:0 4px;margin:1px;color:#111;
  white-space:nowrap;font-weight:400}
.ch-trace .ax i{font-style:normal;font-size:11px;color:#333;margin-left:4px}
.ch-trace .shape{white-space:nowrap;display:inline-block}
.ch-trace .sep{color:#555;margin:0 3px}
.ch-trace .more{margin:2px 0 6px 60px;padding:4px 10px;border-left:3px solid #ccc;
  background:#fafafa;font-size:13px}
.ch-trace .more code,.ch-trace .broken code{font:12.5px ui-monospace,Consolas,monospace}
.ch-trace .more table,.ch-trace .broken table{border-collapse:collapse;margin:4px 0;
  background:none}
.ch-trace .more td,.ch-trace .broken td,.ch-trace .broken th{padding:1px 10px 1px 0;
  text-align:left;vertical-align:baseline;border:0}
.ch-trace .broken th{font-weight:600;white-space:nowrap}
.ch-trace .doubt{color:#8a4b00;font-weight:600}
.ch-trace .broken{border:2px solid #c0392b;border-radius:6px;padding:8px 14px;margin:6px 0 12px;
  background:#fff6f4}
.ch-trace .broken h4{margin:0 0 4px;font-size:15px;color:#8e1f12}
.ch-trace .clash{outline:3px solid #c0392b}
.ch-trace .failed>summary .what,.ch-trace .failed .what{color:#a3281a}
.ch-trace button{font:inherit;font-size:13px;padding:2px 10px;margin-right:6px}
"""
