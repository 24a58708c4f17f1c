"""Invoices, sales and stock: tasks that add, compare and join amounts."""

from agent.tasks.document_qa.draft import (
    Again,
    Draft,
    Money,
    Name,
    NameSet,
    Shape,
    long_date,
    only_most,
    slug,
    table,
)
from agent.tasks.document_qa.names import Names
from agent.tasks.document_qa.rng import Dice


def invoices(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate invoices; with two or more hops, without totals and some cancelled."""
    seller, rival, *buyers = names.some("company", 4 + shape.hops)
    products = names.some("product", 12)
    files: dict[str, str] = {}
    of: dict[str, int] = {}
    for at, number in enumerate(dice.some(range(1000, 9999), 2 * shape.files)):
        buyer = buyers[0] if at < 2 else dice.pick(buyers)
        other = shape.hops > 1 and at > 1 and not dice.below(3)
        total, lines = 0, []
        for product in dice.some(products, max(1, min(8, shape.rows // 3))):
            count, price = dice.between(1, 12), dice.between(100, 9_999)
            total += count * price
            lines.append(f"{count} x {product} at {_money(price)}")
        cancelled = shape.hops > 1 and not dice.below(4)
        if not cancelled and not other and buyer == buyers[0]:
            of[str(number)] = total
        head = [f"Invoice {number}", f"From: {rival if other else seller}", f"To: {buyer}"]
        head += [f"Date: {long_date(dice.day())}", *(["Status: cancelled"] * cancelled), ""]
        tail = ["", f"Total: {_money(total)}"] if shape.hops == 1 else []
        text = "\n".join([*head, *lines, *tail, "", *names.sentences(shape.rows // 8)])
        files[f"invoices/{number}.txt"] = text.rstrip() + "\n"
    slots = {"company": buyers[0], "seller": seller}
    if dice.below(2) and len(of) > 1:
        return Draft("largest", slots, files, int(only_most(of)))
    return Draft("total", slots, files, Money(sum(of.values())))


def sales(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate monthly sales tables; with two or more hops, also similar sales plans."""
    products, towns = names.some("product", 4), names.some("town", 4 + shape.hops)
    months = dice.some([f"{year}-{month:02}" for year in (2024, 2025) for month in range(1, 13)],
                       max(2, shape.files))  # fmt: skip
    plans = len(months) // 3 if shape.hops > 1 else 0
    sold: list[tuple[str, str, int]] = []
    files = {}
    for at, month in enumerate(months):
        rows = []
        for _ in range(shape.rows):
            row = (dice.pick(products), dice.pick(towns), dice.between(1, 90))
            price = _money(dice.between(100, 9_999))
            rows.append(f"{month}-{dice.between(1, 28):02},{row[1]},{row[0]},{row[2]},{price}")
            if at >= plans:
                sold.append(row)
        name = f"sales/{'plan' if at < plans else 'sales'}-{month}.csv"
        files[name] = table("date,town,product,units,price", rows)
    product, town = products[0], towns[0]
    return _asked_of_sales(dice, sold, Draft("", {"product": product, "town": town}, files, 0))


def _asked_of_sales(dice: Dice, sold: list[tuple[str, str, int]], draft: Draft) -> Draft:
    product, town, files = draft.slots["product"], draft.slots["town"], draft.files
    asked = dice.pick(("units", "mean", "best"))
    here = [units for what, where, units in sold if (what, where) == (product, town)]
    elsewhere = [(where, units) for what, where, units in sold if what == product and where != town]
    if not here or not elsewhere:
        raise Again
    if asked == "units":
        return Draft(asked, draft.slots, files, sum(here))
    if asked == "mean":
        mean, rest = divmod(sum(units for _, units in elsewhere), len(elsewhere))
        if rest:
            raise Again
        return Draft(asked, draft.slots, files, mean)
    by_town: dict[str, int] = {}
    for where, units in elsewhere:
        by_town[where] = by_town.get(where, 0) + units
    best = only_most(by_town)
    others = tuple(where for where in by_town if where != best)
    if not others:
        raise Again
    return Draft(asked, draft.slots, files, Name(best, others))


def stock(dice: Dice, shape: Shape, names: Names) -> Draft:
    """Generate stock tables of several towns, and tables of prices, minima, makers."""
    products = names.some("product", max(4, min(24, shape.rows)))
    towns = names.some("town", max(2, shape.files - 2))
    makers = names.some("company", 3)
    prices = {product: dice.between(100, 19_999) for product in products}
    least = {product: dice.between(5, 40) for product in products}
    maker = {product: dice.pick(makers) for product in products}
    files = {
        "prices.csv": table("product,price", [f"{p},{_money(prices[p])}" for p in products]),
        "minimum.csv": table("product,minimum", [f"{p},{least[p]}" for p in products]),
        "makers.csv": table("product,company", [f"{p},{maker[p]}" for p in products]),
    }
    held: dict[str, int] = {}
    for town in reversed(towns):
        held = {product: dice.between(0, 60) for product in dice.shuffled(products)}
        rows = [f"{product},{count}" for product, count in held.items()]
        files[f"stock/{slug(town)}.csv"] = table("product,quantity", rows)
    slots = {"town": towns[0], "company": makers[0]}
    asked = dice.pick((("short",), ("short", "value"), ("short", "value", "maker"))[shape.hops - 1])
    if asked == "short":
        short = frozenset(product for product in products if held[product] < least[product])
        others = tuple(product for product in products if product not in short)
        return Draft(asked, slots, files, _some(short, others))
    wanted = [p for p in products if asked == "value" or maker[p] == makers[0]]
    return Draft(asked, slots, files, Money(sum(prices[p] * held[p] for p in wanted)))


def _some(names: frozenset[str], others: tuple[str, ...]) -> NameSet:
    if not names or not others:
        raise Again
    return NameSet(names, others)


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"
