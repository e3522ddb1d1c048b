// Command tenants puts a load of many tenants on a store, through the bank, and reports
// what each operation takes and whether that depends on how many tenants there are.
//
// It fills one database for each number of tenants in -tenants, and then lets clients work
// on them in turn, round by round, so that a slow moment of the machine hits all of them.
// Which tenant a client works for is drawn from a Zipf distribution. Beside the clients
// the commitment engine ticks and the bank maintains memory. At the end the clock jumps beyond the horizon,
// rounds of maintenance are timed, and what the store holds is compared with what was
// written. README.md of bench says how to read the tables.
package main
