"""The spine: run a plan, judge its evidence, report."""
