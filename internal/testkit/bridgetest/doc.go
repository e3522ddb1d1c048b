// Package bridgetest proves the laws that every bridge to memory keeps, through the bridge itself: tenants share
// nothing (M1, CTI-1), secrets are taken out (M3, SR-1), entries end at their instant (M4), a session has one view (M6),
// a repeated call writes once and a killed process loses nothing (M8), no edit of six processes that was acknowledged is
// lost (B), and what is forgotten is gone (M10).
//
// The test of a bridge gives [Run] a function that opens a session of it and a store that outlives a process. [Host] is
// the bank below, with a clock that the test moves; tests of what only one bridge does use it too.
package bridgetest
