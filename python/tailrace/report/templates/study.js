"use strict";
// Draws the plots with the page's own colours, and again when dark and light change.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function dressed(layout) {
    const ink = colour("--ink"), line = colour("--line"), soft = colour("--soft");
    const made = structuredClone(layout);
    made.font = { ...made.font, color: ink };
    made.hoverlabel = { bgcolor: colour("--card"), bordercolor: soft, font: { color: ink, family: made.font.family } };
    for (const key of Object.keys(made)) {
      if (/^[xy]axis\d*$/.test(key)) {
        Object.assign(made[key], { gridcolor: line, zerolinecolor: soft, linecolor: line, tickcolor: line });
      }
    }
    return made;
  }

  const plots = [...document.querySelectorAll("script[data-plot]")].map((source) => {
    const figure = JSON.parse(source.textContent);
    return { node: document.getElementById(source.dataset.plot), data: figure.data, layout: figure.layout };
  });
  const options = { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false };
  const draw = (plot) => Plotly.react(plot.node, plot.data, dressed(plot.layout), options);
  const drawAll = () => Promise.all(plots.map(draw));

  for (const button of document.querySelectorAll("button[data-norm]")) {
    button.addEventListener("click", () => {
      const plot = plots.find((candidate) => candidate.node.id === "plot-phases");
      const shares = button.dataset.norm === "percent";
      plot.layout.barnorm = button.dataset.norm;
      for (const key of Object.keys(plot.layout)) {
        if (/^xaxis\d*$/.test(key) && plot.layout[key].title?.text) {
          plot.layout[key].title.text = shares ? "share of the time in phases, %" : "seconds";
        }
      }
      for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
      draw(plot);
    });
  }
  dark.addEventListener("change", drawAll);
  drawAll().then(() => document.documentElement.setAttribute("data-drawn", String(plots.length)));
})();
