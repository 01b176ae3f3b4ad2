"""``index.html``: every stored run on one page, to be searched, filtered and compared."""
