package redact

import "io"

func (r *SecretRegistry) NewWriter(w io.Writer) io.WriteCloser { panic("todo") }
