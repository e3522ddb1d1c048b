package consolidate

import (
	"slices"
	"strings"
)

// phrases of several words that one or two stand for, by their first word, the
// longest first.
var phrases = func() map[string][]expression {
	m := map[string][]expression{}
	for line := range strings.Lines(`
		has to = must
		have to = must
		has got to = must
		needs to = must
		need to = must
		is required to = must
		are required to = must
		is obliged to = must
		are obliged to = must
		is able to = can
		are able to = can
		is allowed to = can
		are allowed to = can
		is permitted to = can
		are permitted to = can
		would like = want
		in order to = to
		so as to = to
		due to = because of
		owing to = because of
		as well as = and
		prior to = before
		subsequent to = after
		every day = daily
		each day = daily
		every week = weekly
		each week = weekly
		every month = monthly
		each month = monthly
		every year = yearly
		each year = yearly
		every night = nightly
		each night = nightly
		every hour = hourly
		each hour = hourly
		once a day = daily
		once a week = weekly
		once a month = monthly
		a few = several
		a couple of = several
		a number of = several
		a lot of = many
		lots of = many
		at the moment = currently
		at present = currently
		right now = currently
		for example = e.g
		for instance = e.g
		in spite of = despite
		with regard to = regarding
		with respect to = regarding
		in case = if
		provided that = if
		time zone = timezone
		time zones = timezones
		e mail = email
		per cent = percent
		web site = website
		has got = has
		have got = have
		by means of = via
		by way of = via
		as soon as = once
		in addition = also
		is located in = is in
		are located in = are in
		is situated in = is in
		is called = is named
		are called = are named
		makes use of = uses
		make use of = use
		takes place = happens
		take place = happen
		gets in touch with = contacts
		get in touch with = contact
		bank account = bankaccount`) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		words := strings.Fields(from)
		m[words[0]] = append(m[words[0]], expression{words, to})
	}
	for _, list := range m {
		slices.SortStableFunc(list, func(a, b expression) int { return len(b.words) - len(a.words) })
	}
	return m
}()

type expression struct {
	words []string
	to    string
}
