"""What did happen: raw formats, tables, findings. Knows no cluster, fault or judgement."""
