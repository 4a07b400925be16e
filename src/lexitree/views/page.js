"use strict";
for (const tree of document.querySelectorAll(".lt-icicle")) {
  const boxes = [...tree.children];
  const parent = (box) => boxes[+box.dataset.parent];
  const children = (box) => boxes.filter((other) => other.dataset.parent === box.dataset.node);
  const sibling = (box, step) => {
    const all = boxes.filter((other) => other.getAttribute("aria-level") === box.getAttribute("aria-level"));
    return all[all.indexOf(box) + step];
  };
  const across = tree.classList.contains("lt-across");
  const ways = {
    [across ? "ArrowUp" : "ArrowLeft"]: parent,
    [across ? "ArrowDown" : "ArrowRight"]: (box) => children(box)[0],
    [across ? "ArrowLeft" : "ArrowUp"]: (box) => sibling(box, -1),
    [across ? "ArrowRight" : "ArrowDown"]: (box) => sibling(box, 1),
    Home: () => boxes[0],
  };
  tree.addEventListener("keydown", (event) => {
    const box = event.target.closest(".lt-box");
    const next = box && ways[event.key] && ways[event.key](box);
    if (!next) return;
    event.preventDefault();
    box.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}
