// Where Next? — the page of the search: which page comes first, and what is shown of it.
"use strict";

if (typeof Search !== "undefined") {
  // Words that say nothing of what is looked for; Sphinx leaves out "a", "the" and the like by itself.
  const EMPTY = new Set(["i", "how", "what", "which", "do", "does", "can", "use", "using", "have"]);
  const stemmer = new Stemmer();
  const plain = (text) => text.toLowerCase().replace(/^\d+\. /, "").replace(/^(the|an?) /, "").trim();

  // The stems of a text; what is the reader's own is "your" in the book.
  function stems(text) {
    return splitQuery(text.toLowerCase())
      .filter((word) => !EMPTY.has(word) && !stopwords.includes(word))
      .map((word) => stemmer.stemWord(word.replace(/^(my|mine|our)$/, "your")));
  }

  const query = new URLSearchParams(window.location.search).get("q") || "";
  const wanted = [...new Set(stems(query))];
  // Which part of the words that are looked for is in a text.
  function share(text) {
    const there = stems(text);
    return wanted.filter((stem) => there.includes(stem)).length / (wanted.length || 1);
  }

  // A page counts by its title, then by the best of its sections; a chapter is before other pages.
  Scorer.score = (result) => {
    const [page, title, anchor, description, score] = result; // as Sphinx's searchtools.js has it
    if (description) return score - 30; // a name of the package, after what explains it
    if (anchor) return score + 20 * share(title) - 30; // a section, after its page
    const number = Search._index.docnames.indexOf(page), own = Search._index.titles[number];
    let best = { name: "", id: null, share: 0 };
    for (const [name, places] of Object.entries(Search._index.alltitles)) {
      const at = places.find(([file, id]) => file === number && id);
      if (at && share(name) > best.share) best = { name, id: at[1], share: share(name) };
    }
    // Most of what is looked for has a section: there it leads.
    if (best.share > Math.max(0.5, share(own))) {
      result[1] = `${own} > ${best.name}`;
      result[2] = `#${best.id}`;
    }
    const chapter = /\/\d\d_/.test(page);
    const exact = plain(own) === plain(query);
    return score + 10 * chapter + 30 * share(own) + 25 * best.share + 60 * exact;
  };

  // A snippet is of the text, not of the buttons around it, and its formulas are without commands.
  Search.htmlToText = (markup, anchor) => {
    const page = new DOMParser().parseFromString(markup, "text/html");
    const article = page.querySelector("article.bd-article") || page.querySelector("[role=main]");
    const place = anchor && article?.querySelector(`[id="${CSS.escape(anchor.slice(1))}"]`);
    const shown = place || article;
    if (!shown) return "";
    shown.querySelectorAll(".headerlink, script, style, svg, summary").forEach((tag) => tag.remove());
    return shown.textContent
      .replace(/\\tag\{[^}]*\}/g, "")
      .replace(/\\(?:text|mathrm|mathcal|operatorname)\{([^{}]*)\}/g, "$1")
      .replace(/\\[()[\]]/g, " ")
      .replace(/\s+/g, " ");
  };
}
