// Growth measures how the cost of each operation of a bank grows with the entries of a ref and with
// the tenants beside it, on each store, and draws it.
package main
