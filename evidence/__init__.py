"""What happened in a run: raw formats, tables, findings. Independent of clusters, faults and judging."""
