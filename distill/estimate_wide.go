package distill

// first is a byte that begins a character beyond ASCII.
func (st state) first(lead byte, add func(int, int32)) state {
	other := func(piece int, skip uint8) state {
		add(piece, 1)
		return state{kind: elsewhere, mode: st.mode, skip: skip}
	}
	var next state
	switch lead {
	case 0xc0:
		return other(wideMark, 1)
	case 0xc3:
		if st.kind == inWord { // the word is another one than it seemed
			add(int(st.base)+int(st.n), -1)
			st.n = min(st.n+1, maxWord)
			add(accented+int(st.n), 1)
			return state{kind: inWord, base: accented, n: st.n, mode: european, skip: 1}
		}
		add(accented+1, 1)
		return state{kind: inWord, base: accented, n: 1, mode: european, skip: 1}
	case 0xcb, 0xd4, 0xdc:
		return other(other2, 1)
	case 0xd0:
		next = st.run(cyrillic, add)
		next.skip = 1
	case 0xd9:
		next = st.run(arabic, add)
		next.skip = 1
	case 0xeb:
		next = st.run(hangul, add)
		next.skip = 2
	case 0xe4:
		next = st.ideograph(han, add)
		next.skip = 2
	case 0xe2:
		return other(wideMark, 2)
	case 0xe0, 0xee:
		return other(other3, 2)
	case 0xf0:
		return other(other4, 3)
	default: // 0xd8, 0xe3, 0xea, 0xed, 0xef: the next byte decides
		next = state{kind: elsewhere, mode: st.mode}
		if st.kind == inHan && lead == 0xe3 ||
			st.kind == inRun && (st.base == arabic && lead == 0xd8 || st.base == hangul && (lead == 0xea || lead == 0xed)) {
			next = st // whose run may go on
		}
		next.lead = lead
	}
	return next
}

// tail is a later byte of a character, of the range r of tails.
func (st state) tail(r uint8, add func(int, int32)) state {
	lead, middle := st.lead, st.middle
	st.lead, st.middle = 0, false
	if lead == 0 {
		if st.skip > 0 {
			st.skip--
		}
		return st
	}
	second := tails[r]
	other := func(piece int, skip uint8) state {
		add(piece, 1)
		return state{kind: elsewhere, mode: st.mode, skip: skip}
	}
	next := st
	switch {
	case lead == 0xd8 && (second == 0x8c || second == 0x9b || second == 0x9f):
		return other(wideMark, 0) // the comma, the semicolon, the question mark
	case lead == 0xd8:
		return st.run(arabic, add)
	case lead == 0xe3 && middle && second < 0xa0:
		return st.ideograph(hiragana, add)
	case lead == 0xe3 && middle:
		return st.ideograph(katakana, add)
	case lead == 0xe3 && second == 0x80, lead == 0xef && second == 0xbc:
		return other(wideMark, 1)
	case lead == 0xe3 && second == 0x82:
		next.lead, next.middle = lead, true
		return next
	case lead == 0xe3 && second == 0x81:
		next = st.ideograph(hiragana, add)
	case lead == 0xe3 && second == 0x83:
		next = st.ideograph(katakana, add)
	case lead == 0xe3:
		next = st.ideograph(han, add)
	case lead == 0xea && second >= 0xb0, lead == 0xed && second < 0x9f:
		next = st.run(hangul, add)
	default:
		return other(other3, 1)
	}
	next.skip = 1
	return next
}

// ideograph is a character of Han or kana. Where there is kana, it is Japanese.
func (st state) ideograph(piece int, add func(int, int32)) state {
	next := state{kind: inHan, mode: st.mode}
	if piece != han {
		next.mode = japanese
	} else if st.mode == european {
		next.mode = plain
	}
	if next.mode == japanese {
		if st.kind != inHan {
			add(kanaRun, 1)
		}
		if piece == han {
			piece = kanaHan
		}
	} else if st.kind != inHan {
		add(hanRun, 1)
	}
	add(piece, 1)
	return next
}
