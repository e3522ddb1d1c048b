package redact

func stringOf(b []byte) string { return string(b) }
