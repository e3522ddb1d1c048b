// Package timer finds, among many things that are due some time, those that are due
// now, in order. It is the index of the in-memory commitment store.
//
// An [Index] is a hierarchical timing wheel with a small heap in front. The wheel
// sorts by the highest binary digits in which an instant differs from the wheel's
// own, so that setting and clearing cost the same however many are set. Only the
// earliest slot is ever sorted, by the heap. What is due is exact to the unit of the
// keys, and a clock that steps back costs speed at worst, never order.
//
// An item takes 32 bytes, and what the slices that hold them have grown ahead. What is
// removed lets go of its value at once, and takes room until it is more than half of
// its slot: memory is bounded by twice what was set, and a removal is two writes.
package timer
