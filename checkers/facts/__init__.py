"""What several properties read out of the evidence: lives of bookies, promises, answers, losses."""
