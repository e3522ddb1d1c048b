package events

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// check collects the first broken rule of an event. It allocates only for the
// error, so that a valid event costs nothing on its way to a sink.
type check struct {
	typ   Type
	path  string
	index int // of the array item, or -1
	rule  string
}

func (c *check) fail(path string, index int, rule string) {
	if c.rule == "" {
		c.path, c.index, c.rule = path, index, rule
	}
}

func (c *check) err() error {
	if c.rule == "" {
		return nil
	}
	path := c.path
	if c.index >= 0 {
		path += "/" + strconv.Itoa(c.index)
	}
	return &InvalidError{Type: c.typ, Path: path, Rule: c.rule}
}

const (
	ruleEmpty = "is missing or empty"
	ruleUTF8  = "is not valid UTF-8"
	ruleID    = "has a wrong length or is not UTF-8"
	ruleEnum  = "is none of the values that the protocol names"
	ruleRange = "is out of range"
)

func (c *check) required(path, s string) {
	if s == "" {
		c.fail(path, -1, ruleEmpty)
	}
	c.text(path, s)
}

func (c *check) text(path, s string) {
	if !utf8.ValidString(s) {
		c.fail(path, -1, ruleUTF8)
	}
}

func (c *check) texts(path string, list []string, minLen int) {
	for i, s := range list {
		if len(s) < minLen {
			c.fail(path, i, ruleEmpty)
		}
		if !utf8.ValidString(s) {
			c.fail(path, i, ruleUTF8)
		}
	}
}

func (c *check) integer(path string, n, least int64) {
	if n < least || n > MaxInteger {
		c.fail(path, -1, ruleRange)
	}
}

func (c *check) enum(path string, ok bool) {
	if !ok {
		c.fail(path, -1, ruleEnum)
	}
}

func (c *check) id(path, s string, least int) {
	if len(s) < least || len(s) > maxIDBytes || !utf8.ValidString(s) {
		c.fail(path, -1, ruleID)
	}
}

func (c *check) timestamp(path string, t time.Time) {
	u := t.UTC()
	if t.IsZero() || u.Year() < 1 || u.Year() > 9999 || u.Nanosecond()%int(time.Millisecond) != 0 {
		c.fail(path, -1, "is zero, beyond years 1 to 9999, or not in whole milliseconds")
	}
}
