package memory

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// OlderToken writes a token down in the format before, which does not say when the view was
// opened.
func OlderToken(t Token) Token {
	raw, _ := base64.RawURLEncoding.DecodeString(string(t))
	body := raw[tokenSumBytes:]
	at := 1 + 2*len(nameDigest{})
	_, n := binary.Varint(body[at:])
	_, opened := binary.Varint(body[at+n:])
	old := append([]byte{2}, body[1:at+n]...)
	old = append(old, body[at+n+opened:]...)
	sum := sha256.Sum256(old)
	return Token(base64.RawURLEncoding.EncodeToString(append(sum[:tokenSumBytes], old...)))
}
