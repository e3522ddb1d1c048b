// Package house holds the rules that the whole tree keeps, as tests: which package imports which, what
// is documented, and what the README says of certificates.
package house
