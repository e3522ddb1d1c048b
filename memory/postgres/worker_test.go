package postgres

func worker() {}
