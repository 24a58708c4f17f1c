"""Invoices, sales and stock: tasks that add, compare and join amounts."""

from agent.tasks.document_qa.draft import (
    AmbiguousDraft,
    Difficulty,
    Money,
    NameAnswer,
    TaskDraft,
    csv_text,
    long_date,
    name_set,
    slugify,
    unique_maximum,
)
from agent.tasks.document_qa.names import NamePool
from agent.tasks.document_qa.rng import Rng


def invoices(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate invoices; with two or more hops, without totals and some cancelled."""
    seller, rival, *buyers = names.sample("company", 4 + difficulty.hops)
    products = names.sample("product", 12)
    files: dict[str, str] = {}
    totals: dict[str, int] = {}
    for at, number in enumerate(rng.sample(range(1000, 9999), 2 * difficulty.files)):
        buyer = buyers[0] if at < 2 else rng.choice(buyers)
        other = difficulty.hops > 1 and at > 1 and not rng.randbelow(3)
        total, lines = 0, []
        for product in rng.sample(products, max(1, min(8, difficulty.rows // 3))):
            count, price = rng.randint(1, 12), rng.randint(100, 9_999)
            total += count * price
            lines.append(f"{count} x {product} at {_format_money(price)}")
        cancelled = difficulty.hops > 1 and not rng.randbelow(4)
        if not cancelled and not other and buyer == buyers[0]:
            totals[str(number)] = total
        head = [f"Invoice {number}", f"From: {rival if other else seller}", f"To: {buyer}"]
        head += [f"Date: {long_date(rng.random_date())}", *(["Status: cancelled"] * cancelled), ""]
        tail = ["", f"Total: {_format_money(total)}"] if difficulty.hops == 1 else []
        text = "\n".join([*head, *lines, *tail, "", *names.filler_sentences(difficulty.rows // 8)])
        files[f"invoices/{number}.txt"] = text.rstrip() + "\n"
    slots = {"company": buyers[0], "seller": seller}
    if rng.randbelow(2) and len(totals) > 1:
        return TaskDraft("largest", slots, files, int(unique_maximum(totals)))
    return TaskDraft("total", slots, files, Money(sum(totals.values())))


def sales(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate monthly sales tables; with two or more hops, also similar sales plans."""
    products, towns = names.sample("product", 4), names.sample("town", 4 + difficulty.hops)
    months = rng.sample([f"{year}-{month:02}" for year in (2024, 2025) for month in range(1, 13)],
                       max(2, difficulty.files))  # fmt: skip
    plans = len(months) // 3 if difficulty.hops > 1 else 0
    sold: list[tuple[str, str, int]] = []
    files = {}
    for at, month in enumerate(months):
        rows = []
        for _ in range(difficulty.rows):
            row = (rng.choice(products), rng.choice(towns), rng.randint(1, 90))
            price = _format_money(rng.randint(100, 9_999))
            rows.append(f"{month}-{rng.randint(1, 28):02},{row[1]},{row[0]},{row[2]},{price}")
            if at >= plans:
                sold.append(row)
        name = f"sales/{'plan' if at < plans else 'sales'}-{month}.csv"
        files[name] = csv_text("date,town,product,units,price", rows)
    product, town = products[0], towns[0]
    return _sales_question(rng, sold, TaskDraft("", {"product": product, "town": town}, files, 0))


def _sales_question(rng: Rng, sold: list[tuple[str, str, int]], draft: TaskDraft) -> TaskDraft:
    product, town, files = draft.slots["product"], draft.slots["town"], draft.files
    question = rng.choice(("units", "mean", "best"))
    here = [units for what, where, units in sold if (what, where) == (product, town)]
    elsewhere = [(where, units) for what, where, units in sold if what == product and where != town]
    if not here or not elsewhere:
        raise AmbiguousDraft
    if question == "units":
        return TaskDraft(question, draft.slots, files, sum(here))
    if question == "mean":
        mean, rest = divmod(sum(units for _, units in elsewhere), len(elsewhere))
        if rest:
            raise AmbiguousDraft
        return TaskDraft(question, draft.slots, files, mean)
    by_town: dict[str, int] = {}
    for where, units in elsewhere:
        by_town[where] = by_town.get(where, 0) + units
    best = unique_maximum(by_town)
    others = tuple(where for where in by_town if where != best)
    if not others:
        raise AmbiguousDraft
    return TaskDraft(question, draft.slots, files, NameAnswer(best, others))


def stock(rng: Rng, difficulty: Difficulty, names: NamePool) -> TaskDraft:
    """Generate stock tables of several towns, and tables of prices, minima, makers."""
    products = names.sample("product", max(4, min(24, difficulty.rows)))
    towns = names.sample("town", max(2, difficulty.files - 2))
    makers = names.sample("company", 3)
    prices = {product: rng.randint(100, 19_999) for product in products}
    minimums = {product: rng.randint(5, 40) for product in products}
    maker = {product: rng.choice(makers) for product in products}
    files = {
        "prices.csv": csv_text(
            "product,price", [f"{p},{_format_money(prices[p])}" for p in products]
        ),
        "minimum.csv": csv_text("product,minimum", [f"{p},{minimums[p]}" for p in products]),
        "makers.csv": csv_text("product,company", [f"{p},{maker[p]}" for p in products]),
    }
    quantities: dict[str, int] = {}
    for town in reversed(towns):
        quantities = {product: rng.randint(0, 60) for product in rng.shuffled(products)}
        rows = [f"{product},{count}" for product, count in quantities.items()]
        files[f"stock/{slugify(town)}.csv"] = csv_text("product,quantity", rows)
    slots = {"town": towns[0], "company": makers[0]}
    question = rng.choice(
        (("short",), ("short", "value"), ("short", "value", "maker"))[difficulty.hops - 1]
    )
    if question == "short":
        short = frozenset(
            product for product in products if quantities[product] < minimums[product]
        )
        others = tuple(product for product in products if product not in short)
        return TaskDraft(question, slots, files, name_set(short, others))
    wanted = [p for p in products if question == "value" or maker[p] == makers[0]]
    return TaskDraft(question, slots, files, Money(sum(prices[p] * quantities[p] for p in wanted)))


def _format_money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"
