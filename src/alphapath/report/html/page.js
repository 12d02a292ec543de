"use strict";
// What a cell of a heat map says, beside the pointer or, with the arrow keys, beside the cell.
(() => {
  const tip = document.getElementById("tip");
  let active = null;
  const show = (cell, x, y) => {
    if (active) active.classList.remove("active");
    active = cell;
    cell.classList.add("active");
    tip.textContent = cell.dataset.text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    const top = y + 14 + box.height > innerHeight ? y - 14 - box.height : y + 14;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  };
  const hide = () => {
    if (active) active.classList.remove("active");
    active = null;
    tip.hidden = true;
  };
  for (const map of document.querySelectorAll("svg.map")) {
    const cellAt = (row, column) =>
      map.querySelector(`.cell[data-row="${row}"][data-column="${column}"]`);
    for (const event of ["pointermove", "pointerdown"]) {
      map.addEventListener(event, (e) => {
        if (e.target.classList.contains("cell")) show(e.target, e.clientX, e.clientY);
      });
    }
    map.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") hide(); });
    map.addEventListener("blur", hide);
    map.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
      if (e.key === "Escape") hide();
      if (!step) return;
      e.preventDefault();
      const inside = active && map.contains(active);
      const row = inside ? Number(active.dataset.row) + step[0] : 0;
      const column = inside ? Number(active.dataset.column) + step[1] : 0;
      const cell = cellAt(row, column) || (inside ? active : map.querySelector(".cell"));
      const box = cell.getBoundingClientRect();
      show(cell, box.right, box.bottom);
    });
  }
})();
