// Text of the article whose contrast with its background is below WCAG's AA: 4.5, or 3 for large
// letters. Boxes with a picture behind them are left out, for their colour is not known.
() => {
  const rgba = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    return numbers.length < 4 ? [...numbers, 1] : numbers;
  };
  const linear = (value) =>
    value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const over = (top, below) =>
    [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);

  // The colour behind an element: all the layers up to the page, or null where there is a picture.
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.backgroundImage !== "none") return null;
      layers.push(rgba(style.backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };

  const poor = new Set();
  const article = document.querySelector(".bd-article");
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || element.closest("script, style, mjx-assistive-mml, .headerlink")) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const style = getComputedStyle(element);
    const paint = element.closest("svg") ? style.fill : style.color;
    const ground = behind(element);
    if (!ground || !paint.startsWith("rgb")) continue;
    const [dim, bright] = [luminance(over(rgba(paint), ground)), luminance(ground)].sort(
      (a, b) => a - b
    );
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    const ratio = (bright + 0.05) / (dim + 0.05);
    if (ratio < (large ? 3 : 4.5)) {
      poor.add(`${ratio.toFixed(2)}: ${paint} on ${ground.slice(0, 3)}: ${text.slice(0, 40)}`);
    }
  }
  return [...poor];
}
