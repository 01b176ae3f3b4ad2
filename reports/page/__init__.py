"""``report.html``: one run as a page that works offline. Shows what was judged and judges nothing."""
