// Maps of folium: Leaflet is loaded once, when the first map of a page comes into sight.
(() => {
  const vendor = new URL("vendor/", document.currentScript.src);
  const loaded = new Map();

  function load(name) {
    if (!loaded.has(name)) {
      loaded.set(name, new Promise((done, failed) => {
        const style = name.endsWith(".css");
        const tag = document.createElement(style ? "link" : "script");
        tag.onload = done;
        tag.onerror = failed;
        if (style) tag.rel = "stylesheet";
        tag[style ? "href" : "src"] = new URL(name, vendor).href;
        // Before the styles of the book, which change Leaflet's colours.
        document.head.prepend(tag);
      }));
    }
    return loaded.get(name);
  }

  async function draw(figure) {
    const source = figure.querySelector('script[type="text/x-map"]');
    if (!source || source.dataset.drawn) return;
    source.dataset.drawn = "yes";
    await Promise.all([load("leaflet/leaflet.css"), load("leaflet/leaflet.js")]);
    if ("timeline" in source.dataset) await load("leaflet.timeline/leaflet.timeline.js");
    figure.querySelector(".folium-map").replaceChildren();
    const script = document.createElement("script");
    script.textContent = source.textContent;
    figure.append(script);
  }

  const figures = document.querySelectorAll("figure.folium-figure");
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) {
        sight.unobserve(target);
        draw(target);
      }
    }
  }, { rootMargin: "300px" });
  for (const figure of figures) sight.observe(figure);
})();
