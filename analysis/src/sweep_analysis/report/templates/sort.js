// Sorts a table by the column whose heading is clicked: numbers by value, text by letter, missing values last.
"use strict";
const asNumber = (text) => {
  const plain = text.replace("−", "-").replace("±", "").replaceAll("\u00a0", "").replace(/%$/, "");
  return plain === "" ? NaN : Number(plain);
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("th button");
  if (!button) return;
  const head = button.parentElement, body = head.closest("table").tBodies[0], column = head.cellIndex;
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const key = (row) => row.cells[column].textContent.trim();
  body.append(...[...body.rows].sort((one, two) => {
    const a = key(one), b = key(two), x = asNumber(a), y = asNumber(b);
    if (a === "" || b === "") return (a === "") - (b === "");
    return sign * (isNaN(x) || isNaN(y) ? a.localeCompare(b) : x - y);
  }));
});
