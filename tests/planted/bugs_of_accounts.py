"""Mistakes in what is charged: budgets, certificates, ledgers, files and what they say."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "absolute tolerance 1e-12",
        "calibration",
        Edit(
            "privacy/search.py",
            "target = math.log(budget.delta) - _ROUNDING",
            "target = math.log(budget.delta + 1e-12)",
        ),
    ),
    Bug(
        "a release beside the method left out of the account",
        "what was recorded",
        Edit(
            "side_releases/alongside.py",
            "return epsilon_of((*sides, *fit.releases), budget.delta, relation=relation)",
            "return epsilon_of(fit.releases, budget.delta, relation=relation)",
        ),
    ),
    Bug(
        "a release beside the method left out of the account",
        "the plan",
        Edit(
            "side_releases/alongside.py",
            "return log_delta_of((*sides, *plan_at(noise).releases), budget.epsilon)",
            "return log_delta_of(plan_at(noise).releases, budget.epsilon)",
        ),
    ),
    Bug(
        "a release beside the method left out of the account",
        "the charge of a ledger",
        Edit(
            "fitting/running.py",
            "ledger, [prepared.releases], what=what",
            "ledger, [prepared.plan.releases], what=what",
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "how a fit ended",
        Edit(
            "ledger/holding.py",
            "        if released:\n",
            "        if False:\n",
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "a witness that sees nothing",
        Edit(
            "randomness.py",
            "        self.witness.released = True  # before",
            "        pass  # before",
        ),
        Edit(
            "randomness.py",
            "            stream.witness.released = True\n",
            "            pass\n",
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "fits that still run",
        Edit(
            "ledger/records.py",
            'if entry.status == "void" else _plus',
            'if entry.status != "spent" else _plus',
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "a fit that was taken for dead",
        Edit(
            "ledger/budget_ledger.py",
            '            if found[0].status != "open":\n',
            '            if found[0].status == "spent":\n',
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "a search without a witness",
        Edit(
            "private_search/candidates.py",
            "candidate._fit(X, y, sample_weight=weights, witness=witness)",
            "candidate._fit(X, y, sample_weight=weights)",
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "a sketch without a witness",
        Edit(
            "sketching/releasing.py",
            "bits = witness.watch(streams(random_state, 1))",
            "bits = streams(random_state, 1)",
        ),
    ),
    Bug(
        "sums of a ledger that are wrong after a raised cap",
        "leak",
        Edit(
            "ledger/records.py",
            "Fraction(before.leak) / Fraction(now.leak) if now.leak",
            "(Fraction(before.leak) / Fraction(now.leak)) ** 2 if now.leak",
        ),
    ),
    Bug(
        "sums of a ledger that are wrong after a raised cap",
        "shares of entries",
        Edit(
            "ledger/records.py",
            "then = next(cap.caps for cap in reversed(self.history) if cap.number < entry.number)",
            "then = self.caps",
        ),
    ),
    Bug(
        "replace-one as one step",
        "budget",
        Edit(
            "privacy/budget.py",
            "self.delta * math.exp(-half) / (1.0 + math.exp(-half))",
            "0.5 * self.delta",
        ),
    ),
    Bug(
        "replace-one as one step",
        "certificate",
        Edit(
            "privacy/certificate.py",
            "delta *= 1 + _ball(at).exp()",
            "delta *= 2",
        ),
    ),
    Bug(
        "replace-one as one step",
        "what is recomputed of a fit",
        Edit(
            "privacy/accountant.py",
            "    return _log_delta_of_two_steps(total.log_delta, epsilon / 2.0)\n",
            "    return total.log_delta(epsilon / 2.0) + math.log(2.0)\n",
        ),
    ),
    Bug(
        "a search that ends on the wrong side",
        "calibration",
        Edit(
            "privacy/search.py",
            "    while root < high:\n",
            "    return math.exp(root - 1e-6)\n    while root < high:\n",
        ),
    ),
    Bug(
        "the cheaper of two groups charged",
        "filter",
        Edit(
            "privacy/filter.py",
            "gaussian=max((charge.gaussian for charge in charges), default=0.0)",
            "gaussian=min((charge.gaussian for charge in charges), default=0.0)",
        ),
    ),
    Bug(
        "charges rounded to the nearest number",
        "filter",
        Edit(
            "privacy/filter.py",
            "    return nearest if nearest >= value else math.nextafter(nearest, math.inf)\n",
            "    return nearest\n",
        ),
    ),
    Bug(
        "a history that can be changed",
        "rows that do not know of those before",
        Edit(
            "ledger/store.py",
            'f"{number}\\n{before}\\n{text}"',
            'f"{number}\\n{text}"',
        ),
    ),
    Bug(
        "a history that can be changed",
        "rows cut off the end",
        Edit(
            "ledger/store.py",
            '        if not rows or connection.execute("SELECT number, sha256 FROM head").fetchall() != [\n'
            "            (rows[-1].number, rows[-1].sha256)\n"
            "        ]:\n",
            "        if not rows:\n",
        ),
    ),
    Bug(
        "two writers that decide from the same state",
        "ledger",
        Edit(
            "ledger/store.py",
            'connection.execute("BEGIN IMMEDIATE")',
            'connection.execute("BEGIN")',
        ),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "model",
        Edit(
            "storage/model_file.py",
            'return content, document["sha256"] == _checksum(data, document["sha256"])',
            "return content, True",
        ),
    ),
    Bug(
        "a file that was changed passes for what was written",
        "a void entry",
        Edit(
            "verification/charges.py",
            '    if found.status == "void":\n',
            "    if False:\n",
        ),
    ),
    Bug(
        "a seeded result that passes for private",
        "alarm",
        Edit(
            "report/alarm.py",
            "        return self.alarm is None\n",
            "        return True\n",
        ),
    ),
    Bug(
        "a ledger that allows too much",
        "an entry that takes all beside others",
        Edit(
            "ledger/charging.py",
            "    if state.counted or state.allows(charge):\n",
            "    if state.allows(charge):\n",
        ),
    ),
    Bug(
        "a ledger that allows too much",
        "another table by its ranges",
        Edit(
            "ledger/about.py",
            "found[0] > declared[1] or found[1] < declared[0]",
            "found[0] > declared[1] and found[1] < declared[0]",
        ),
    ),
)
