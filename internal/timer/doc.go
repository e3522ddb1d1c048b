// Package timer finds, among many things that are due some time, those that are due
// now, in order. It is the index of the in-memory commitment store.
//
// An [Index] is a hierarchical timing wheel with a small heap in front. The wheel
// sorts by the highest binary digits in which an instant differs from the wheel's
// own, so that setting and clearing cost the same however many are set. Only the
// earliest slot is ever sorted, by the heap. What is due is exact to the unit of the
// keys, and a clock that steps back costs speed at worst, never order.
//
// Where an item is can be told from its instant, so a removal is told the instant and
// writes two bits: with a million items, a look at the item itself would cost more than
// all the rest. What is removed takes room, and keeps its value from being collected,
// until it is more than half of its slot and its number is used again. Memory is bounded
// by little more than twice what was set; an item takes 16 bytes and its value, and what
// the slices that hold them have grown ahead.
package timer
