package redact_test

import (
	"fmt"

	"github.com/openwop/agentmemory/redact"
)

func Example() {
	// One registry for each run, filled with the secrets that the run resolved.
	secrets := redact.New(redact.Config{})
	defer secrets.Close() // after the run's last write

	if err := secrets.Register("openai-key", []byte("correct-horse-battery")); err != nil {
		fmt.Println(err) // a value that is not covered: do not start the run
		return
	}

	text, err := secrets.Redact(`The key is correct-horse-battery, in hex 636f72726563742d686f7273652d62617474657279.`)
	fmt.Println(text, err)

	// A text made by a model or by a merge also loses what merely looks like a secret.
	text, err = secrets.RedactDerived("Notes say [BYOK:openai-key], db at postgres://app:hunter2@db/app")
	fmt.Println(text, err)

	// On request, so does every other text.
	careful := redact.New(redact.Config{Shapes: true})
	defer careful.Close()
	text, err = careful.Redact("db at postgres://app:hunter2@db/app")
	fmt.Println(text, err)
	// Output:
	// The key is [REDACTED:openai-key], in hex [REDACTED:openai-key]. <nil>
	// Notes say [REDACTED:openai-key], db at postgres://app:[REDACTED:shape.urlpass]@db/app <nil>
	// db at postgres://app:[REDACTED:shape.urlpass]@db/app <nil>
}
