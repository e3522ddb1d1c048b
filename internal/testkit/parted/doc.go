// Package parted has the tests of hosts and servers whose network parts: three host processes
// over a PostgreSQL primary with a synchronous standby, each in a network namespace of its own,
// and three over one SQLite file. They need Linux and root.
package parted
