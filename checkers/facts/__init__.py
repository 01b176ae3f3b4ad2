"""What several properties read out of the evidence: boots of bookies, promises, answers, losses."""
