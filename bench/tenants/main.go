package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are what the flags say.
type settings struct {
	store, dsn string
	tenants    []int
	clients    int
	steps      int           // of each client in a turn, at most
	span       time.Duration // of the load for each number of tenants
	rounds     int           // in which they take turns
	verify     int           // tenants whose entries are compared at the end
	seed       uint64
}

func main() {
	s := settings{verify: 500}
	tenants := flag.String("tenants", "2000,20000,200000", "numbers of tenants, ascending")
	flag.StringVar(&s.store, "store", "sqlite", "sqlite or postgres")
	flag.StringVar(&s.dsn, "dsn", "", "a PostgreSQL server to make databases on; without it one is started")
	flag.IntVar(&s.clients, "clients", 4, "clients at once")
	flag.IntVar(&s.steps, "steps", 100_000, "what each client does in a turn, at most")
	flag.DurationVar(&s.span, "for", 30*time.Second, "how long clients work for each number of tenants")
	flag.IntVar(&s.rounds, "rounds", 6, "in how many turns")
	flag.Uint64Var(&s.seed, "seed", 1, "what the load is drawn from")
	file := flag.String("json", "", "write the figures to this file too, as JSON")
	flag.Parse()
	err := errors.New("numbers of tenants are whole and at least 2")
	for _, n := range strings.Split(*tenants, ",") {
		i, wrong := strconv.Atoi(n)
		if wrong != nil || i < 2 {
			break
		}
		s.tenants = append(s.tenants, i)
	}
	if len(s.tenants) == len(strings.Split(*tenants, ",")) {
		err = measure(s, *file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

// measure runs the simulation and prints what came of it.
func measure(s settings, file string) error {
	r, err := simulate(context.Background(), s)
	if err != nil {
		return err
	}
	r.describe()
	r.print(os.Stdout)
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// simulate fills the databases, puts the load on them, and compares.
func simulate(ctx context.Context, s settings) (r *report, err error) {
	start := time.Now()
	server, err := newServer(ctx, s.store, s.dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	var worlds []*world
	defer func() {
		for _, w := range worlds {
			err = errors.Join(err, w.close())
		}
	}()
	for _, n := range s.tenants {
		db, err := server.database(ctx, fmt.Sprint("of", n))
		if err != nil {
			return nil, err
		}
		w, err := newWorld(ctx, db, n, s.seed)
		if err != nil {
			return nil, err
		}
		worlds = append(worlds, w)
	}
	if err := note(ctx, worlds); err != nil {
		return nil, err
	}
	for round := range s.rounds {
		for _, w := range worlds {
			if err := w.work(ctx, s.clients, s.steps, s.span/time.Duration(s.rounds), s.seed+uint64(round)<<32); err != nil {
				return nil, err
			}
		}
	}
	for _, w := range worlds {
		if err := w.relay(ctx, s.seed); err != nil {
			return nil, err
		}
	}
	if err := afterwards(ctx, worlds); err != nil {
		return nil, err
	}
	r = &report{Store: s.store}
	for _, w := range worlds {
		if w.report.Compared, err = w.verify(ctx, s.verify); err != nil {
			return nil, err
		}
		r.Worlds = append(r.Worlds, w.summarise())
	}
	r.Growth, r.Seconds = growth(r.Worlds), time.Since(start).Seconds()
	return r, nil
}
