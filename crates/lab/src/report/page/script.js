"use strict";
(() => {
    const all = (selector, root = document) => [...root.querySelectorAll(selector)];
    const one = (selector, root = document) => root.querySelector(selector);
    const root = document.documentElement;
    root.classList.add("js");

    // The theme follows the system until the button is pressed.
    const theme = one("#theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
    // A page that was opened from a file may have no storage.
    try { root.dataset.theme = localStorage.getItem("isthmus-theme") || ""; } catch { root.dataset.theme = ""; }
    theme.addEventListener("click", () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        try { localStorage.setItem("isthmus-theme", root.dataset.theme); } catch { /* not stored */ }
        showTheme();
    });
    system.addEventListener("change", showTheme);
    showTheme();

    // The cards of mechanisms follow the answers to the advice's questions. Without an answer to all, the order is the run's.
    const choice = one(".choice");
    if (choice) {
        const orders = choice.dataset.orders.split(" ");
        const questions = all(".switches fieldset").map((field) => all("button", field));
        const arrange = () => {
            const answers = questions.map((buttons) => buttons.findIndex((button) => button.matches('[aria-pressed="true"]')));
            const cards = all("[data-card]", choice);
            cards.sort((a, b) => a.dataset.card - b.dataset.card);
            cards.forEach((card) => card.classList.remove("unfit", "first"));
            if (answers.some((answer) => answer >= 0)) {
                // A question without an answer has its first one.
                const place = answers.reduce((sum, answer, which) => sum * questions[which].length + Math.max(answer, 0), 0);
                const [fit, unfit] = orders[place].split("|").map((part) => part.split(",").filter(Boolean).map(Number));
                const rank = (card) => {
                    const number = Number(card.dataset.card);
                    if (fit.includes(number)) return fit.indexOf(number);
                    return unfit.includes(number) ? 200 + unfit.indexOf(number) : 100 + number;
                };
                cards.sort((a, b) => rank(a) - rank(b));
                cards.forEach((card) => card.classList.toggle("unfit", unfit.includes(Number(card.dataset.card))));
                if (fit.length) cards[0].classList.add("first");
            }
            choice.append(...cards);
        };
        questions.forEach((buttons) => buttons.forEach((button) => button.addEventListener("click", () => {
            const press = !button.matches('[aria-pressed="true"]');
            buttons.forEach((other) => other.setAttribute("aria-pressed", String(press && other === button)));
            arrange();
        })));
    }

    // The comparison can be sorted by any column, and filtered by words and choices.
    const table = one("#compare");
    if (table) {
        const body = table.tBodies[0];
        const rows = [...body.rows];
        const key = (row, column) => {
            const cell = row.cells[column];
            if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
            return cell.matches(".n") ? null : cell.textContent.trim();
        };
        const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en"));
        const heads = [...table.tHead.rows[0].cells];
        heads.forEach((head, column) => one("button", head).addEventListener("click", () => {
            const up = head.getAttribute("aria-sort") !== "ascending";
            heads.forEach((other) => other.setAttribute("aria-sort", "none"));
            head.setAttribute("aria-sort", up ? "ascending" : "descending");
            // Missing values are last in both orders.
            body.append(...[...rows].sort((first, second) => {
                const [a, b] = [key(first, column), key(second, column)];
                if (a === null || b === null) return (a === null) - (b === null);
                return up ? order(a, b) : order(b, a);
            }));
        }));
        const [find, mechanism, engine] = ["#find", "#mechanism", "#engine"].map((id) => one(id));
        const text = (row) => [...row.cells].slice(0, 4).map((cell) => cell.textContent).join(" ").toLowerCase();
        const filter = () => {
            const words = find.value.toLowerCase().split(/\s+/);
            let shown = 0;
            for (const row of rows) {
                const wanted = words.every((word) => text(row).includes(word))
                    && (!mechanism.value || row.dataset.mechanism === mechanism.value)
                    && (!engine.value || row.dataset.engine === engine.value);
                row.hidden = !wanted;
                shown += wanted;
            }
            one("#count").textContent = `${shown} of ${rows.length} subjects`;
        };
        [find, mechanism, engine].forEach((input) => input.addEventListener("input", filter));
        filter();
        for (const select of all("[data-choice]")) {
            select.addEventListener("change", () => {
                for (const option of select.options) {
                    if (!option.value) continue;
                    const cells = all(`[data-column="${option.value}"]`, table);
                    cells.forEach((cell) => { cell.hidden = option.value !== select.value; });
                }
            });
        }
    }

    // Figures show one series at a time, hide or highlight subjects, and show the values under the pointer.
    const tip = one("#tip");
    let marked = null;
    const forget = () => {
        if (marked) marked.classList.remove("at");
        marked = null;
        tip.hidden = true;
    };
    const show = (point, card) => {
        if (point === marked) return;
        forget();
        marked = point;
        point.classList.add("at");
        const line = point.closest(".line");
        const who = one(`.legend [data-key="${line.dataset.key}"]`, card) || one(".who", line);
        const d = point.dataset;
        const times = d.times === "1" ? "one repetition" : `median of ${d.times}`;
        tip.textContent = [
            who.textContent.trim() + (d.at ? `, ${d.at}` : ""),
            `${d.value} (${times})`,
            d.spread && `p1 to p99: ${d.spread}`,
            d.range && `from ${d.range}`,
            d.bound && `bound: ${d.bound}` + (d.efficiency ? `, reached to ${d.efficiency}` : ""),
            "limited" in d && "limited by the tester",
        ].filter(Boolean).join("\n");
        tip.hidden = false;
        putTip();
    };
    const putTip = () => {
        if (!marked) return;
        const place = marked.getBoundingClientRect();
        const left = Math.min(Math.max(place.x + place.width / 2 - tip.offsetWidth / 2, 8), innerWidth - tip.offsetWidth - 8);
        const above = place.y - tip.offsetHeight - 12;
        tip.style.left = `${left}px`;
        tip.style.top = `${above > 8 ? above : place.bottom + 12}px`;
    };
    const visible = (box) => all("[data-value]", box).filter((point) => !point.closest(".gone"));

    for (const card of all(".card")) {
        for (const tab of all(".tabs button", card)) {
            tab.addEventListener("click", () => {
                forget();
                all(".tabs button", card).forEach((other) => other.setAttribute("aria-pressed", String(other === tab)));
                all(".panel", card).forEach((panel) => panel.classList.toggle("away", panel.id !== tab.dataset.panel));
            });
        }
        const isOf = (element, key) => (element.dataset.key ?? element.dataset.keys).split(" ").includes(key);
        const parts = () => all(".plot .line, .plot .bound[data-keys]", card);
        for (const button of all(".legend button", card)) {
            const key = button.dataset.key;
            const emphasise = (on) => {
                all(".plot", card).forEach((svg) => svg.classList.toggle("dim", on));
                parts().forEach((part) => part.classList.toggle("hot", on && isOf(part, key)));
            };
            button.addEventListener("pointerenter", () => emphasise(true));
            button.addEventListener("pointerleave", () => emphasise(false));
            button.addEventListener("focus", () => emphasise(button.matches(":focus-visible")));
            button.addEventListener("blur", () => emphasise(false));
            button.addEventListener("click", () => {
                forget();
                button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
                const shown = new Set(all('.legend [aria-pressed="true"]', card).map((other) => other.dataset.key));
                parts().forEach((part) => {
                    const keys = (part.dataset.key ?? part.dataset.keys).split(" ");
                    part.classList.toggle("gone", !keys.some((other) => shown.has(other)));
                });
            });
        }
        for (const box of all(".scroll", card)) {
            box.addEventListener("pointermove", (event) => {
                const svg = event.target.closest("svg");
                const place = svg?.getScreenCTM();
                let nearest = null;
                let least = 28;
                for (const point of svg ? visible(svg) : []) {
                    const [x, y] = point.dataset.p.split(" ").map(Number);
                    const isBar = point.matches(".bar");
                    // Native forwarding is behind what it is compared with.
                    const behind = point.matches(".native > *") ? 6 : 0;
                    const away = behind + Math.hypot(
                        isBar ? 0 : x * place.a + place.e - event.clientX,
                        y * place.d + place.f - event.clientY,
                    );
                    if (away < least) [nearest, least] = [point, away];
                }
                if (nearest) show(nearest, card); else forget();
            });
            box.addEventListener("pointerleave", forget);
            box.addEventListener("blur", forget);
            box.addEventListener("focus", () => {
                const first = visible(box)[0];
                if (first && box.matches(":focus-visible")) show(first, card);
            });
            box.addEventListener("keydown", (event) => {
                const points = visible(box);
                const now = points.indexOf(marked);
                const lines = [...new Set(points.map((point) => point.closest(".line")))];
                const inLine = (line) => points.filter((point) => line.contains(point));
                const beside = (step) => {
                    const line = now < 0 ? 0 : lines.indexOf(marked.closest(".line"));
                    const place = now < 0 ? 0 : inLine(lines[line]).indexOf(marked);
                    const next = inLine(lines[Math.min(Math.max(line + step, 0), lines.length - 1)]);
                    return next[Math.min(place, next.length - 1)];
                };
                const to = {
                    ArrowRight: () => points[Math.min(now + 1, points.length - 1)],
                    ArrowLeft: () => points[Math.max(now - 1, 0)],
                    ArrowDown: () => beside(1),
                    ArrowUp: () => beside(-1),
                    Home: () => points[0],
                    End: () => points[points.length - 1],
                }[event.key];
                if (event.key === "Escape") forget();
                if (!to || !points.length) return;
                event.preventDefault();
                show(to(), card);
            });
        }
    }
    addEventListener("scroll", putTip, { passive: true, capture: true });

})();
