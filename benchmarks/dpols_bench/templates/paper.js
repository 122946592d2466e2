(() => {
  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const keyed = [...document.querySelectorAll("[data-key]")];
  const cards = [...document.querySelectorAll(".card")];
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of keyed) {
      item.classList.toggle("hidden", !words.every((word) => item.dataset.key.includes(word)));
    }
    const shown = cards.filter((card) => !card.classList.contains("hidden")).length;
    count.textContent = `${shown} of ${cards.length} data sets`;
  };
  const choose = () => {
    const chosen = document.querySelector("input[name=accounting]:checked");
    for (const part of document.querySelectorAll(".of")) {
      part.classList.toggle("hidden", chosen !== null && part.dataset.accounting !== chosen.value);
    }
  };
  search.addEventListener("input", filter);
  for (const button of document.querySelectorAll("input[name=accounting]")) button.addEventListener("change", choose);
  filter();
  choose();
})();
